package modern

import (
	"encoding/json"
	"maps"
	"strings"

	"github.com/tenon-mcp/tenon/internal/eraconn/internal/clientcall"
	"github.com/tenon-mcp/tenon/internal/protocol"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// A request is a call with what its response needs.
type request struct {
	call  mcp.Call
	id    jsonrpc.ID
	token []byte // progressToken; nil without one
	res   mcp.Result
}

// envelope holds the members of a request's envelope as raw JSON.
type envelope struct {
	meta, inputResponses, state                    []byte
	version, client, capabilities, level, progress []byte
}

// lift removes the envelope of a request and puts its contents into the call. It
// overwrites the params of m.
func (s *Server) lift(m *jsonrpc.Message, p *mcp.Principal) (*request, error) {
	var e envelope
	r := &request{id: m.ID}
	r.call.Method = m.Method
	core := protocol.IsCore(m.Method) // the parameters of an extension may have the same names
	r.call.Params = rawjson.CutOwn(m.Params, func(name, value []byte) bool {
		switch {
		case string(name) == keyMeta:
			e.meta = value
		case core && string(name) == keyInputResponses:
			e.inputResponses = value
		case core && string(name) == keyState:
			e.state = value
		default:
			return false
		}
		return true
	})
	if err := e.readMeta(&r.call); err != nil {
		return nil, err
	}
	if err := s.introduce(&e, r); err != nil {
		return nil, err
	}
	r.call.Caller.Principal = p
	return r, s.recall(&e, &r.call)
}

// readMeta reads _meta: envelope keys into e, others into the call.
func (e *envelope) readMeta(c *mcp.Call) error {
	if e.meta == nil {
		return mcp.InvalidParams("params._meta is missing: each request of this revision names its protocol version and the client's capabilities there")
	}
	if !rawjson.IsObject(e.meta) {
		return mcp.InvalidParams("params._meta must be an object")
	}
	for o := rawjson.Object(e.meta); o.Next(); {
		switch string(o.Name) {
		case mcp.MetaProtocolVersion:
			e.version = o.Value
		case mcp.MetaClientInfo:
			e.client = o.Value
		case mcp.MetaClientCapabilities:
			e.capabilities = o.Value
		case mcp.MetaLogLevel:
			e.level = o.Value
		case keyProgressToken:
			e.progress = o.Value
		case mcp.MetaServerInfo, mcp.MetaSubscriptionID: // of results and notifications
		default:
			if c.Meta == nil {
				c.Meta = mcp.Meta{}
			}
			c.Meta[string(o.Name)] = json.RawMessage(o.Value)
		}
	}
	return nil
}

// introduce fills in the caller.
func (s *Server) introduce(e *envelope, r *request) error {
	switch {
	case !rawjson.IsString(e.version):
		return mcp.InvalidParams("params._meta[%q] is missing or not a string", mcp.MetaProtocolVersion)
	case !rawjson.IsObject(e.capabilities):
		return mcp.InvalidParams("params._meta[%q] is missing or not an object: a client without capabilities sends {}", mcp.MetaClientCapabilities)
	case !rawjson.EqualString(e.version, string(Revision)):
		version, _ := rawjson.String(e.version)
		return unsupported(version)
	}
	caller := &r.call.Caller
	caller.Revision = Revision
	in, err := s.introduction(e.client, e.capabilities)
	if err != nil {
		return err
	}
	caller.Client, caller.Capabilities = in.Client, in.Capabilities
	if e.level != nil {
		level, ok := rawjson.String(e.level)
		if !ok {
			return mcp.InvalidParams("params._meta[%q] must be a string", mcp.MetaLogLevel)
		}
		if caller.LogLevel, err = mcp.ParseLogLevel(level); err != nil {
			return err
		}
	}
	if e.progress != nil {
		if !clientcall.IsToken(e.progress) {
			return mcp.InvalidParams("params._meta.progressToken must be a string or an integer")
		}
		r.token, r.call.Progress = e.progress, true
	}
	return nil
}

// recall restores the state and input responses of earlier rounds.
func (s *Server) recall(e *envelope, c *mcp.Call) error {
	if !protocol.MayRequireInput(c.Method) {
		return nil
	}
	if e.state != nil {
		sealed, ok := rawjson.String(e.state)
		if !ok {
			return mcp.InvalidParams("params.requestState must be a string")
		}
		state, kept, err := s.keys.open(sealed, c)
		if err != nil {
			return err
		}
		c.State, c.InputResponses = state, kept
	}
	if e.inputResponses == nil {
		return nil
	}
	if !rawjson.IsObject(e.inputResponses) {
		return mcp.InvalidParams("params.inputResponses must be an object")
	}
	c.InputResponses = maps.Clone(c.InputResponses)
	for o := rawjson.Object(e.inputResponses); o.Next(); {
		if !rawjson.IsObject(o.Value) {
			return mcp.InvalidParams("params.inputResponses[%q] must be an object", o.Name)
		}
		if mcp.IsOwnKey(string(o.Name)) {
			continue // reserved for the handler
		}
		if c.InputResponses == nil {
			c.InputResponses = map[string]json.RawMessage{}
		}
		c.InputResponses[string(o.Name)] = json.RawMessage(o.Value)
	}
	return nil
}

func unsupported(version string) error {
	version = strings.ToValidUTF8(version[:min(len(version), 100)], "") // it may be of any length
	return mcp.Errorf(mcp.CodeUnsupportedVersion, "protocol version %q is not supported", version).
		With(map[string]any{"supported": []mcp.Revision{Revision}, "requested": version})
}

// introduction returns the decoded clientInfo and capabilities. Each request repeats
// them in the same bytes, and decoding them would cost more than the call.
func (s *Server) introduction(client, capabilities []byte) (clientcall.Introduction, error) {
	var buf [1024]byte
	said := append(append(append(buf[:0], client...), 0), capabilities...)
	in, ok := s.known.Get(said)
	if ok {
		return in, nil
	}
	in.Capabilities = new(mcp.ClientCapabilities)
	if err := mcp.Unmarshal(capabilities, in.Capabilities); err != nil {
		return in, mcp.InvalidParams("params._meta[%q]: %v", mcp.MetaClientCapabilities, err)
	}
	if client != nil {
		in.Client = new(mcp.Implementation)
		if err := mcp.Unmarshal(client, in.Client); err != nil {
			return in, mcp.InvalidParams("params._meta[%q]: %v", mcp.MetaClientInfo, err)
		}
	}
	s.known.Put(said, in)
	return in, nil
}
