package legacy

import (
	"context"
	"encoding/json"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// initializeParams is how a client opens a session.
type initializeParams struct {
	ProtocolVersion mcp.Revision           `json:"protocolVersion"`
	Capabilities    mcp.ClientCapabilities `json:"capabilities"`
	ClientInfo      mcp.Implementation     `json:"clientInfo"`
}

// initializeResult is how a server answers.
type initializeResult struct {
	ProtocolVersion mcp.Revision           `json:"protocolVersion"`
	Capabilities    mcp.ServerCapabilities `json:"capabilities"`
	ServerInfo      mcp.Implementation     `json:"serverInfo"`
	Instructions    string                 `json:"instructions,omitzero"`
}

// decode reads what a client says. Each part is read by itself, which is quick
// where it says nothing unusual; what is wrong with the whole is found by
// reading it again.
func (in *initializeParams) decode(params json.RawMessage) error {
	if in.readParts(params) {
		return nil
	}
	*in = initializeParams{}
	return mcp.Unmarshal(params, in)
}

func (in *initializeParams) readParts(params json.RawMessage) bool {
	ok := rawjson.IsObject(params)
	for m := rawjson.Object(params); ok && m.Next(); {
		switch string(m.Name) {
		case "protocolVersion":
			var name string
			name, ok = rawjson.String(m.Value)
			in.ProtocolVersion = mcp.Revision(name)
		case "capabilities":
			ok = mcp.Unmarshal(m.Value, &in.Capabilities) == nil
		case "clientInfo":
			ok = mcp.Unmarshal(m.Value, &in.ClientInfo) == nil
		}
	}
	return ok
}

// encode writes the answer from its parts, for the same reason.
func (r *initializeResult) encode() (json.RawMessage, error) {
	capabilities, err := mcp.Marshal(&r.Capabilities)
	server, errServer := mcp.Marshal(&r.ServerInfo)
	if err != nil || errServer != nil {
		return mcp.Marshal(r) // which says where
	}
	body := make([]byte, 0, 128+len(capabilities)+len(server)+len(r.Instructions))
	body = rawjson.AppendString(append(body, `{"protocolVersion":`...), string(r.ProtocolVersion))
	body = append(append(body, `,"capabilities":`...), capabilities...)
	body = append(append(body, `,"serverInfo":`...), server...)
	if r.Instructions != "" {
		body = rawjson.AppendString(append(body, `,"instructions":`...), r.Instructions)
	}
	return append(body, '}'), nil
}

// initialize opens the session: who asks is remembered, and what the server
// offers is what it says to server/discover.
func (s *Session) initialize(ctx context.Context, params json.RawMessage, p *mcp.Principal) (json.RawMessage, error) {
	defer s.opened()
	var in initializeParams
	if err := in.decode(params); err != nil {
		return nil, mcp.InvalidParams("initialize: %v", err)
	}
	if in.ProtocolVersion == "" {
		return nil, mcp.InvalidParams("initialize: protocolVersion is missing")
	}
	rev := find(in.ProtocolVersion)
	if rev == nil {
		rev = latest()
	}
	rev.restrict(&in.Capabilities)
	caller := mcp.Caller{
		Revision:     rev.name,
		Client:       &in.ClientInfo,
		Capabilities: &in.Capabilities,
		LogLevel:     mcp.LogInfo, // until the client says otherwise
		Principal:    p,
	}
	res, err := s.h.Serve(ctx, &mcp.Call{Method: mcp.MethodDiscover, Caller: caller})
	if err != nil {
		return nil, err
	}
	found, err := mcp.DecodeDiscovery(res)
	if err != nil {
		return nil, err
	}
	if s.stateless {
		restrictStateless(&found.Capabilities)
	}
	if found.Capabilities.Logging == nil {
		caller.LogLevel = "" // what is not offered is not sent
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rev != nil {
		return nil, mcp.Errorf(mcp.CodeInvalidRequest, "this session was initialized before: open another one")
	}
	s.rev, s.caller, s.offers = rev, caller, offersOf(&found.Capabilities)
	return rev.greeting(found).encode()
}

// greeting is what this revision can say of what a server offers.
func (rev *revision) greeting(found *mcp.Discovery) *initializeResult {
	out := &initializeResult{
		ProtocolVersion: rev.name,
		Capabilities:    found.Capabilities,
		ServerInfo:      mcp.Implementation{Name: "unknown", Version: "unknown"},
		Instructions:    found.Instructions,
	}
	if !rev.completions {
		out.Capabilities.Completions = nil
	}
	if found.Server != nil {
		out.ServerInfo = *found.Server
		if !rev.icons {
			out.ServerInfo.Icons = nil
		}
	}
	return out
}

// Begins reports whether a request is an initialize.
func Begins(m *jsonrpc.Message) bool { return m.Method == methodInitialize }

// Arrived hears of an initialize before it is served. What comes after it waits
// for it, so that a client can send all it has in one go.
func (s *Session) Arrived() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rev == nil && s.opening == nil {
		s.opening = make(chan struct{})
	}
}

// opened ends what Arrived began. A client that has said early that it is ready
// is subscribed before its next request is served.
func (s *Session) opened() {
	s.mu.Lock()
	early := s.early && s.rev != nil
	s.ready = s.ready || early
	s.mu.Unlock()
	if early {
		s.listenAll()
	}
	s.mu.Lock()
	opening := s.opening
	s.opening, s.early = nil, false
	s.mu.Unlock()
	if opening != nil {
		close(opening)
	}
}

// background runs f in a goroutine that Close waits for, unless the session is
// closed.
func (s *Session) background(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.waiting.Go(f)
	}
}

// opener is what initialize came to; nil if there was none. One that came before
// this request is waited for.
func (s *Session) opener(ctx context.Context) (*revision, mcp.Caller) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if opening := s.opening; opening != nil {
		s.mu.Unlock()
		select {
		case <-opening:
		case <-ctx.Done():
		}
		s.mu.Lock()
	}
	return s.rev, s.caller
}
