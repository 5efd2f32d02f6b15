package server_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

type byValue struct{ N int }

func (v byValue) MCPText() string { return fmt.Sprintf("value %d", v.N) }

type byPointer struct{ N int }

func (v *byPointer) MCPText() string { return fmt.Sprintf("pointer %d", v.N) }

// returns adds a tool that takes nothing and comes to v.
func returns[Out any](v Out) func(*server.Server) {
	return func(s *server.Server) {
		server.AddTool(s, "t", "", func(context.Context, *mcp.Call, nothing) (Out, error) { return v, nil }, nil)
	}
}

func TestToolOutputs(t *testing.T) {
	type node struct {
		Next *node `json:"next,omitempty"`
	}
	loop := &node{}
	loop.Next = loop
	rows := []struct {
		name string
		add  func(*server.Server)
		want string
	}{
		{"struct", returns(sum{3}), `{"structuredContent":{"sum":3},"content":[{"type":"text","text":"{\"sum\":3}"}]}`},
		{"pointer", returns(&sum{3}), `{"structuredContent":{"sum":3},"content":[{"type":"text","text":"{\"sum\":3}"}]}`},
		{"string", returns("a \"b\"\n"), `{"content":[{"type":"text","text":"a \"b\"\n"}]}`},
		{"text that is not UTF-8", returns("a\xffb"), `{"content":[{"type":"text","text":"a` + "\ufffd" + `b"}]}`},
		{"contents", returns(mcp.Contents{mcp.Text("a"), mcp.Text("b")}), `{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`},
		{"no contents", returns(mcp.Contents(nil)), `{"content":[]}`},
		{"result", returns(mcp.ToolError("no")), `{"content":[{"type":"text","text":"no"}],"isError":true}`},
		{"slice", returns([]int{1, 2}), `{"structuredContent":[1,2],"content":[{"type":"text","text":"[1,2]"}]}`},
		{"nil slice", returns([]int(nil)), `{"structuredContent":[],"content":[{"type":"text","text":"[]"}]}`},
		{"map", returns(map[string]bool{"b": true, "a": false}), `{"structuredContent":{"a":false,"b":true},"content":[{"type":"text","text":"{\"a\":false,\"b\":true}"}]}`},
		{"int", returns(7), `{"structuredContent":7,"content":[{"type":"text","text":"7"}]}`},
		{"bool", returns(true), `{"structuredContent":true,"content":[{"type":"text","text":"true"}]}`},
		{"texter", returns(byValue{1}), `{"structuredContent":{"N":1},"content":[{"type":"text","text":"value 1"}]}`},
		{"pointer to a texter", returns(&byValue{1}), `{"structuredContent":{"N":1},"content":[{"type":"text","text":"value 1"}]}`},
		{"texter by its pointer", returns(byPointer{1}), `{"structuredContent":{"N":1},"content":[{"type":"text","text":"pointer 1"}]}`},

		// What cannot be sent is a fault of the server, not of the arguments.
		{"nil result", returns[*mcp.CallToolResult](nil), `…-32603 encode the output of tool "t": `},
		{"nil pointer", returns[*sum](nil), `…-32603 encode the output of tool "t": `},
		{"nil texter", returns[*byPointer](nil), `…-32603 encode the output of tool "t": `},
		{"NaN", returns(struct{ F float64 }{math.NaN()}), `…-32603 encode the output of tool "t": schema: the value has no JSON form: F: `},
		{"infinite", returns(math.Inf(1)), `…-32603 `},
		{"a loop", returns(loop), `…-32603 `},
		{"nil block", returns(mcp.Contents{nil}), `…-32603 `},
		{"broken structured content", returns(&mcp.CallToolResult{StructuredContent: []byte(`{`)}), `…-32603 `},
	}
	for _, row := range rows {
		s, log := newServer(server.Options{})
		row.add(s)
		got := callTool(t, s, "t", "")
		expect(t, row.name, got, row.want)
		if failed := strings.HasPrefix(got, "-32603"); failed != strings.Contains(log.String(), "tool=t") {
			t.Errorf("%s: the operator reads %q", row.name, log)
		}
	}
}

func TestToolArguments(t *testing.T) {
	type in struct {
		Name string   `json:"name" schema:"minLength=2"`
		N    int      `json:"n" schema:"minimum=1,default=5"`
		Tags []string `json:"tags,omitempty"`
		Sub  *struct {
			X float64 `json:"x"`
		} `json:"sub,omitempty"`
	}
	s, _ := newServer(server.Options{})
	ran := 0
	server.AddTool(s, "t", "", func(_ context.Context, _ *mcp.Call, v in) (string, error) {
		ran++
		return fmt.Sprintf("%+v", v), nil
	}, nil)
	addText(s, "none", func(context.Context, *mcp.Call) (string, error) { return "ran", nil })
	server.AddTool(s, "map", "", func(_ context.Context, _ *mcp.Call, v map[string]int) (string, error) { return fmt.Sprint(v), nil }, nil)
	server.AddTool(s, "pointer", "", func(_ context.Context, _ *mcp.Call, v *pair) (string, error) { return fmt.Sprint(*v), nil }, nil)

	bad := "Invalid arguments for t:"
	rows := []struct {
		tool, args, want string
		runs             int
	}{
		{"t", `{"name":"ab"}`, `…{Name:ab N:5 Tags:[] Sub:<nil>}`, 1},
		{"t", `{"name":"ab","n":2,"tags":["x"],"sub":null}`, `…{Name:ab N:2 Tags:[x] Sub:<nil>}`, 1},
		{"t", `{"name":1,"n":0,"tags":"x","sub":{},"nmae":2}`, `…"isError":true`, 0},
		{"t", ``, `…` + bad, 0},
		{"t", `null`, `…` + bad, 0},
		{"t", `{}`, `…` + bad, 0},
		{"t", `[]`, `-32602 arguments: expected an object`, 0},
		{"t", `"x"`, `-32602 arguments: expected an object`, 0},
		{"none", ``, `…ran`, 0},
		{"none", `null`, `…ran`, 0},
		{"none", `{}`, `…ran`, 0},
		{"none", `{"x":1}`, `…"isError":true`, 0},
		{"map", `{"x":1}`, `…map[x:1]`, 0},
		{"map", `{"x":"1"}`, `…"isError":true`, 0},
		{"pointer", `{"a":1,"b":2}`, `…{1 2}`, 0},
		{"pointer", ``, `…"isError":true`, 0},
		{"other", `{}`, `-32602 unknown tool "other"`, 0},
		{"", `{}`, `-32602 unknown tool ""`, 0},
	}
	for _, row := range rows {
		ran = 0
		expect(t, row.tool+" "+row.args, callTool(t, s, row.tool, row.args), row.want)
		if ran != row.runs {
			t.Errorf("%s %s: the tool ran %d times", row.tool, row.args, ran)
		}
	}

	all := callTool(t, s, "t", `{"name":1,"n":0,"tags":"x","sub":{},"nmae":2}`)
	for _, part := range []string{`name: `, `n: `, `tags: `, `sub.x: `, `nmae`} {
		if !strings.Contains(all, part) {
			t.Errorf("not all problems are told at once: %s lacks %q", all, part)
		}
	}
	for params, want := range map[string]string{
		``:           `-32602 name: missing`,
		`{}`:         `-32602 name: missing`,
		`{"name":1}`: `-32602 name: expected a string, the name of a tool`,
	} {
		expect(t, params, ask(t, s, mcp.MethodToolsCall, params), want)
	}
}

// A handler that wraps the error that asks with %v has lost the question: the
// mistake is told to the developer, and not to the model as a failure of the
// tool.
func TestAskWrappedAsText(t *testing.T) {
	s, log := newServer(server.Options{})
	lost := func(c *mcp.Call) error {
		_, err := c.Ask("q", mcp.RootsRequest())
		return fmt.Errorf("cannot go on: %v", err)
	}
	addText(s, "t", func(_ context.Context, c *mcp.Call) (string, error) { return "", lost(c) })
	server.AddPrompt(s, "p", "", func(_ context.Context, c *mcp.Call, _ nothing) (string, error) { return "", lost(c) }, nil)
	roots := func(c *mcp.Call) { c.Caller.Capabilities = &mcp.ClientCapabilities{Roots: &mcp.RootsCapability{}} }
	const want = `: input request lost: the handler wrapped the error with %v instead of %w`
	expect(t, "tool", callTool(t, s, "t", "", roots), `-32603 tool "t"`+want)
	expect(t, "prompt", ask(t, s, mcp.MethodPromptsGet, `{"name":"p"}`, roots), "…"+want)
	if got := strings.Count(log.String(), "input request lost"); got != 2 {
		t.Errorf("the operator is told %d times: %s", got, log)
	}
}

// Middleware sees the error of a tool that panics, never the panic.
func TestPanicBelowMiddleware(t *testing.T) {
	var seen error
	passed := false
	watch := func(next mcp.Handler) mcp.Handler {
		return mcp.HandlerFunc(func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
			res, err := next.Serve(ctx, c)
			seen, passed = err, true
			return res, err
		})
	}
	s, log := newServer(server.Options{Middleware: []mcp.Middleware{watch}})
	addText(s, "t", func(context.Context, *mcp.Call) (string, error) { panic("CANARY") })
	expect(t, "panic", callTool(t, s, "t", ""), "-32603 internal error while serving tools/call")
	if !passed || seen == nil || strings.Contains(seen.Error(), "CANARY") {
		t.Errorf("the middleware saw %v", seen)
	}
	if strings.Count(log.String(), "CANARY") == 0 {
		t.Error("the operator is not told")
	}
}

func TestToolErrors(t *testing.T) {
	s, log := newServer(server.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	own := mcp.Errorf(42, "mine").With(1)
	rows := []struct {
		name string
		err  error
		want string
	}{
		{"plain", errors.New("no such file"), `{"content":[{"type":"text","text":"no such file"}],"isError":true}`},
		{"coded", own, `42 mine 1`},
		{"wrapped", fmt.Errorf("while at it: %w", own), `42 mine 1`},
		{"asks", &mcp.InputRequired{}, `…no code: input required`},
		{"wrapped ask", fmt.Errorf("deep: %w", &mcp.InputRequired{}), `…no code: deep: input required`},
		{"own deadline", context.DeadlineExceeded, `…"isError":true`},
		{"declined", &server.Declined{Action: mcp.ActionDecline, Message: "Sure?"}, `{"content":[{"type":"text","text":"The user declined: \"Sure?\""}],"isError":true}`},
	}
	for _, row := range rows {
		addText(s, "t", func(context.Context, *mcp.Call) (string, error) { return "", row.err })
		expect(t, row.name, callTool(t, s, "t", ""), row.want)
	}

	addText(s, "cancelled", func(ctx context.Context, _ *mcp.Call) (string, error) {
		cancel()
		return "", ctx.Err()
	})
	_, err := s.Serve(ctx, &mcp.Call{Method: mcp.MethodToolsCall, Params: []byte(`{"name":"cancelled"}`)})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a call that was cancelled came to %v", err)
	}
	if log.String() != "" {
		t.Errorf("the operator is bothered with %s", log)
	}
}

// A panic costs one call and tells the caller nothing.
func TestPanic(t *testing.T) {
	s, log := newServer(server.Options{})
	addText(s, "boom", func(context.Context, *mcp.Call) (string, error) { panic("the password is 1234") })
	res, err := s.Serve(t.Context(), &mcp.Call{Method: mcp.MethodToolsCall, Params: []byte(`{"name":"boom"}`)})
	e, _ := errors.AsType[*mcp.Error](err)
	if e == nil || e.Code != mcp.CodeInternal || strings.Contains(e.Message, "1234") || e.Data != nil {
		t.Errorf("got %v", err)
	}
	if res.Server == nil {
		t.Error("nobody answered")
	}
	for _, part := range []string{"the password is 1234", "tools/call", "tool_test.go"} {
		if !strings.Contains(log.String(), part) {
			t.Errorf("the operator does not learn of %q: %s", part, log)
		}
	}
	expect(t, "after it", callTool(t, s, "other", ""), `-32602 unknown tool "other"`)
}

// A typed tool is listed as the vocabulary would write it.
func TestToolLine(t *testing.T) {
	for _, o := range []server.ToolOptions{
		{},
		{Title: "A \"title\""},
		{Title: "T", Annotations: server.ReadOnly(), Icons: []mcp.Icon{{Src: "https://example.com/i.png"}}, Meta: mcp.Meta{"example.com/x": []byte(`1`)}},
	} {
		s, _ := newServer(server.Options{})
		server.AddTool(s, "add", "Add\ttwo", func(_ context.Context, _ *mcp.Call, in pair) (sum, error) { return sum{in.A + in.B}, nil }, &o)
		got := ask(t, s, mcp.MethodToolsList, "")
		var page mcp.ListToolsResult
		if err := mcp.Unmarshal([]byte(got), &page); err != nil {
			t.Fatal(err)
		}
		want, err := mcp.Marshal(page)
		if err != nil {
			t.Fatal(err)
		}
		expect(t, "list", got, string(want))
		expect(t, "description", page.Tools[0].Description, "Add\ttwo")
		expect(t, "title", page.Tools[0].Title, o.Title)
		if o.Annotations.ReadOnly() != page.Tools[0].Annotations.ReadOnly() || len(o.Meta) != len(page.Tools[0].Meta) {
			t.Errorf("%+v became %s", o, got)
		}
	}
}
