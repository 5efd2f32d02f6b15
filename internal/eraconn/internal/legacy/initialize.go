package legacy

import (
	"context"
	"encoding/json"

	"github.com/tenon-mcp/tenon/internal/eraconn/internal/clientcall"
	"github.com/tenon-mcp/tenon/internal/protocol"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// initializeParams is the params of initialize.
type initializeParams struct {
	ProtocolVersion mcp.Revision           `json:"protocolVersion"`
	Capabilities    mcp.ClientCapabilities `json:"capabilities"`
	ClientInfo      mcp.Implementation     `json:"clientInfo"`
}

// initializeResult is the result of initialize.
type initializeResult struct {
	ProtocolVersion mcp.Revision           `json:"protocolVersion"`
	Capabilities    mcp.ServerCapabilities `json:"capabilities"`
	ServerInfo      mcp.Implementation     `json:"serverInfo"`
	Instructions    string                 `json:"instructions,omitzero"`
}

// decode decodes params. It decodes each member separately, which is fast. Only
// if that fails does it decode the whole, for the error.
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

// encode encodes the result member by member, for the same reason.
func (r *initializeResult) encode() (json.RawMessage, error) {
	capabilities, err := mcp.Marshal(&r.Capabilities)
	server, errServer := mcp.Marshal(&r.ServerInfo)
	if err != nil || errServer != nil {
		return mcp.Marshal(r) // for the error
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

// initialize opens the session: it remembers the caller and returns the
// capabilities that the Handler returns for server/discover.
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
	known := shared(clientcall.Introduction{Client: &in.ClientInfo, Capabilities: &in.Capabilities})
	caller := mcp.Caller{
		Revision:     rev.name,
		Client:       known.Client,
		Capabilities: known.Capabilities,
		LogLevel:     mcp.LogInfo, // until logging/setLevel
		Principal:    p,
		Session:      s.session,
	}
	res, err := s.h.Serve(ctx, &mcp.Call{Method: mcp.MethodDiscover, Caller: caller})
	if err != nil {
		return nil, err
	}
	found, err := protocol.DecodeDiscovery(res)
	if err != nil {
		return nil, err
	}
	extends, end, err := s.extended(ctx, &caller, found)
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
	if end != nil && (s.rev != nil || s.closed) {
		end()
	}
	if s.rev != nil {
		return nil, mcp.Errorf(mcp.CodeInvalidRequest, "this session is already initialized: open another one")
	}
	s.extends, s.end = extends, end
	s.rev, s.caller, s.offers = rev, caller, offersOf(&found.Capabilities)
	return rev.greeting(found).encode()
}

// introductions are those of the sessions of this process. Clients are many and of
// few kinds: sessions of one kind share theirs, and what others keep of a caller they
// keep once.
var introductions clientcall.Introductions

// shared returns the introduction of the sessions that have said the same.
func shared(in clientcall.Introduction) clientcall.Introduction {
	said, err := mcp.Marshal(in)
	if err != nil {
		return in
	}
	if known, ok := introductions.Get(said); ok {
		return known
	}
	introductions.Put(said, in)
	return in
}

// greeting returns the initialize result in this revision's form.
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
func Begins(m *jsonrpc.Message) bool { return m.Method == mcp.MethodInitialize }

// Arrived is called when initialize arrives, before it is served. Later requests
// wait for it, so that a client need not wait for the response.
func (s *Session) Arrived() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rev == nil && s.opening == nil {
		s.opening = make(chan struct{})
	}
}

// opened ends the wait that Arrived began. If notifications/initialized arrived
// in between, opened subscribes the client before its next request is served.
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

// opener returns the revision and the caller of the session; nil before
// initialize. It waits for an initialize that arrived before this request.
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
