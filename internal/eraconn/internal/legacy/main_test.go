package legacy

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/tenon-mcp/tenon/internal/eraconn/internal/clientcall"
	"github.com/tenon-mcp/tenon/internal/leaktest"
	"github.com/tenon-mcp/tenon/internal/spectest"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func raw(s string) json.RawMessage { return json.RawMessage(s) }

func bubble(t *testing.T, f func(t *testing.T)) { t.Helper(); synctest.Test(t, f) }

func message(t testing.TB, line string) *jsonrpc.Message {
	t.Helper()
	m, err := jsonrpc.Decode([]byte(line))
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return &m
}

func wantCode(t *testing.T, err error, code int) {
	t.Helper()
	e, ok := errors.AsType[*mcp.Error](err)
	if !ok || e.Code != code {
		t.Errorf("got the error %v, want code %d", err, code)
	}
}

const everything = `{"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"logging":{},"completions":{}}`

// offering is a Handler that offers what capabilities says.
func offering(capabilities string, h mcp.HandlerFunc) mcp.Handler {
	return mcp.HandlerFunc(func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
		if c.Method == mcp.MethodDiscover {
			return mcp.Result{
				Body:   raw(`{"capabilities":` + capabilities + `,"instructions":"be kind"}`),
				Server: &mcp.Implementation{Name: "s", Version: "1", Icons: []mcp.Icon{{Src: "https://example.com/i.png"}}},
			}, nil
		}
		return h(ctx, c)
	})
}

// A client is the far end of a Session, one request at a time. Everything that
// reaches it is held against the schema of its revision.
type client struct {
	t       testing.TB
	spec    *spectest.Spec
	session *Session
	rev     mcp.Revision

	mu     sync.Mutex
	pushed []string
	told   []string
	answer func(method string, params []byte) jsonrpc.Message
}

func newClient(t testing.TB, spec *spectest.Spec, h mcp.Handler) *client {
	c := &client{t: t, spec: spec}
	c.session = NewSession(h, nil, &pushes{c})
	return c
}

// pushes receives the messages that belong to no request.
type pushes struct{ *client }

func (p *pushes) Notify(n clientcall.Notification) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pushed = append(p.pushed, string(n.Value(nil)))
	p.check("a push", p.pushed[len(p.pushed)-1], "")
}

func (c *client) check(what, frame, method string) {
	c.t.Helper()
	if c.spec == nil || c.rev == "" {
		return
	}
	if err := c.spec.Validate(c.rev, spectest.FromServer, []byte(frame), method); err != nil {
		c.t.Errorf("%s is not valid in %s: %s\n%v", what, c.rev, frame, err)
	}
}

const ableClient = `{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{}},"roots":{}}`

func (c *client) initialize(rev mcp.Revision, capabilities string) *jsonrpc.Message {
	c.t.Helper()
	c.rev = rev
	return c.request(mcp.MethodInitialize, `{"protocolVersion":"`+string(rev)+`","capabilities":`+capabilities+`,"clientInfo":{"name":"c","version":"1"}}`)
}

func (c *client) request(method, params string) *jsonrpc.Message {
	c.t.Helper()
	m := &jsonrpc.Message{ID: jsonrpc.IntID(1), Method: method, Params: raw(params)}
	if params == "" {
		m.Params = nil
	}
	out := string(c.session.Respond(c.t.Context(), m, nil, c).Append(nil))
	answer := message(c.t, out)
	if answer.Error == nil {
		c.check("the answer to "+method, out, method)
	}
	return answer
}

func (c *client) wantError(method, params string, code int, part string) {
	c.t.Helper()
	m := c.request(method, params)
	if m.Error == nil || m.Error.Code != code || !strings.Contains(m.Error.Message, part) {
		c.t.Errorf("%s %s: got %+v %s, want code %d", method, params, m.Error, m.Result, code)
	}
}

// schemas returns the published schemas, or nil where they are absent.
func schemas(t *testing.T) (s *spectest.Spec) {
	t.Run("with the published schemas", func(t *testing.T) { s = spectest.Load(t) })
	return s
}

func (c *client) Notify(n clientcall.Notification) {
	line := string(n.Value(nil))
	c.check("a note", line, "")
	c.mu.Lock()
	defer c.mu.Unlock()
	c.told = append(c.told, line)
}

func (c *client) Ask(_ context.Context, method string, params []byte) (jsonrpc.Message, error) {
	c.check("a question", string(jsonrpc.AppendRequest(nil, jsonrpc.IntID(1), method, params)), "")
	return c.answer(method, params), nil
}

func (c *client) Release() {}
