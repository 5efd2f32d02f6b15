package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/leaktest"
	"github.com/tenon-mcp/tenon/internal/logtest"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

type nothing struct{}

type pair struct {
	A int `json:"a" doc:"the first number"`
	B int `json:"b" doc:"the second number"`
}

type sum struct {
	Sum int `json:"sum"`
}

// newServer returns a server that logs into the buffer.
func newServer(o server.Options) (*server.Server, *logBuffer) {
	log := new(logBuffer)
	o.Log = slog.New(slog.NewTextHandler(log, nil))
	return server.New(mcp.Implementation{Name: "test", Version: "1.0"}, &o), log
}

// A logBuffer is what an operator would read.
type logBuffer = logtest.Buffer

// addText adds a tool that takes nothing and does what f does.
func addText(s *server.Server, name string, f func(ctx context.Context, c *mcp.Call) (string, error)) {
	server.AddTool(s, name, "", func(ctx context.Context, c *mcp.Call, _ nothing) (string, error) { return f(ctx, c) }, nil)
}

// say makes a reader of a resource that is one text.
func say(text string) server.ReadFunc {
	return func(context.Context, *mcp.Call, string, map[string]string) ([]mcp.ResourceContents, error) {
		return server.TextResource("", text), nil
	}
}

// ask serves a call and returns the body, or the code, message and data of the
// error.
func ask(t testing.TB, h mcp.Handler, method, params string, change ...func(*mcp.Call)) string {
	t.Helper()
	c := &mcp.Call{Method: method}
	if params != "" {
		c.Params = json.RawMessage(params)
	}
	for _, f := range change {
		f(c)
	}
	res, err := h.Serve(t.Context(), c)
	if err == nil {
		return string(res.Body)
	}
	e, ok := errors.AsType[*mcp.Error](err)
	if !ok {
		return "no code: " + err.Error()
	}
	return strings.TrimSpace(fmt.Sprintf("%d %s %s", e.Code, e.Message, e.Data))
}

func callTool(t testing.TB, h mcp.Handler, name, args string, change ...func(*mcp.Call)) string {
	t.Helper()
	params := fmt.Sprintf(`{"name":%q}`, name)
	if args != "" {
		params = fmt.Sprintf(`{"name":%q,"arguments":%s}`, name, args)
	}
	return ask(t, h, mcp.MethodToolsCall, params, change...)
}

// expect compares exactly, or by a part if want begins with an ellipsis.
func expect(t testing.TB, what, got, want string) {
	t.Helper()
	part, some := strings.CutPrefix(want, "…")
	if some && strings.Contains(got, part) || got == want {
		return
	}
	t.Errorf("%s:\n got %s\nwant %s", what, got, want)
}

// as makes a call by somebody.
func as(id string) func(*mcp.Call) {
	return func(c *mcp.Call) { c.Caller.Principal = &mcp.Principal{ID: id} }
}
