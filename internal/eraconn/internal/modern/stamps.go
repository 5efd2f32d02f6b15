package modern

import (
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/tenon-mcp/tenon/internal/protocol"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// stamps put the envelope on the calls of one client.
type stamps struct {
	client       []byte // clientInfo of the profile
	capabilities []byte // what it can do

	mu      sync.RWMutex
	callers map[callerKey]encodedCaller // that named themselves lately
}

// A callerKey identifies a caller that named itself. What its pointers lead to
// never changes.
type callerKey struct {
	client       *mcp.Implementation
	capabilities *mcp.ClientCapabilities
}

// An encodedCaller is what the envelope says of a caller.
type encodedCaller struct{ client, capabilities []byte }

// maxCallers bounds how many callers are kept encoded.
const maxCallers = 1024

func (s *stamps) prepare(p *mcp.ClientProfile) (err error) {
	if s.client, err = mcp.Marshal(p.Client); err != nil {
		return err
	}
	s.capabilities, err = mcp.Marshal(declared(&p.Capabilities))
	return err
}

// declared returns capabilities as this revision declares them: changed roots
// are not announced.
func declared(c *mcp.ClientCapabilities) *mcp.ClientCapabilities {
	if c.Roots == nil || !c.Roots.ListChanged {
		return c
	}
	own := *c
	own.Roots = &mcp.RootsCapability{}
	return &own
}

// request returns the params of a call with its envelope on.
func (s *stamps) request(c *mcp.Call, id int64) ([]byte, error) {
	client, capabilities, err := s.introduce(&c.Caller)
	if err != nil {
		return nil, err
	}
	dst := append(make([]byte, 0, len(c.Params)+len(client)+len(capabilities)+len(c.State)+256), '{')
	if in := rawjson.Inside(c.Params); len(in) > 0 {
		dst = append(jsonrpc.AppendRaw(dst, in), ',')
	}
	if protocol.MayRequireInput(c.Method) {
		dst = appendInputResponses(dst, c)
	}
	m := metaWriter{dst: append(dst, `"`+keyMeta+`":`...)}
	m.raw(mcp.MetaProtocolVersion, []byte(`"`+string(Revision)+`"`))
	m.raw(mcp.MetaClientInfo, client)
	m.raw(mcp.MetaClientCapabilities, capabilities)
	if c.Caller.LogLevel != "" {
		m.name(mcp.MetaLogLevel)
		m.dst = rawjson.AppendString(m.dst, string(c.Caller.LogLevel))
	}
	if c.Progress && c.OnNotification != nil {
		m.name(keyProgressToken)
		m.dst = strconv.AppendInt(m.dst, id, 10)
	}
	m.rest(c.Meta)
	return append(m.end(""), '}'), nil
}

// introduce returns who asks: the caller where the call names one, and the
// profile of the connection where it does not.
func (s *stamps) introduce(c *mcp.Caller) (client, capabilities []byte, err error) {
	if c.Client == nil && c.Capabilities == nil {
		return s.client, s.capabilities, nil
	}
	key := callerKey{c.Client, c.Capabilities}
	s.mu.RLock()
	in, known := s.callers[key]
	s.mu.RUnlock()
	if known {
		return in.client, in.capabilities, nil
	}
	in = encodedCaller{s.client, s.capabilities}
	if c.Client != nil {
		if in.client, err = mcp.Marshal(c.Client); err != nil {
			return nil, nil, err
		}
	}
	if c.Capabilities != nil {
		if in.capabilities, err = mcp.Marshal(declared(c.Capabilities)); err != nil {
			return nil, nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.callers == nil || len(s.callers) >= maxCallers {
		s.callers = map[callerKey]encodedCaller{}
	}
	s.callers[key] = in
	return in.client, in.capabilities, nil
}

// appendInputResponses appends the input responses and state, followed by a comma.
func appendInputResponses(dst []byte, c *mcp.Call) []byte {
	if c.InputResponses != nil {
		dst = append(dst, `"`+keyInputResponses+`":{`...)
		first := true
		for _, key := range slices.Sorted(maps.Keys(c.InputResponses)) {
			if mcp.IsOwnKey(key) {
				continue // of a handler on this side
			}
			if !first {
				dst = append(dst, ',')
			}
			first = false
			dst = append(rawjson.AppendString(dst, key), ':')
			dst = jsonrpc.AppendRaw(dst, c.InputResponses[key])
		}
		dst = append(dst, '}', ',')
	}
	if c.State != "" {
		dst = append(rawjson.AppendString(append(dst, `"`+keyState+`":`...), c.State), ',')
	}
	return dst
}
