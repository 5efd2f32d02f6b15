package modern

import (
	"maps"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/tenon-mcp/tenon/internal/protocol"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// stamps put the envelope on the calls of one client.
type stamps struct {
	client       []byte // clientInfo of the profile
	capabilities []byte // what it can do

	last atomic.Pointer[introducedCaller]
}

// introducedCaller is the last caller that named itself, encoded: most calls
// come from the same one. What its pointers lead to never changes.
type introducedCaller struct {
	client       *mcp.Implementation
	capabilities *mcp.ClientCapabilities

	rawClient, rawCapabilities []byte
}

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
	if in := s.last.Load(); in != nil && in.client == c.Client && in.capabilities == c.Capabilities {
		return in.rawClient, in.rawCapabilities, nil
	}
	in := &introducedCaller{c.Client, c.Capabilities, s.client, s.capabilities}
	if c.Client != nil {
		if in.rawClient, err = mcp.Marshal(c.Client); err != nil {
			return nil, nil, err
		}
	}
	if c.Capabilities != nil {
		if in.rawCapabilities, err = mcp.Marshal(declared(c.Capabilities)); err != nil {
			return nil, nil, err
		}
	}
	s.last.Store(in)
	return in.rawClient, in.rawCapabilities, nil
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
