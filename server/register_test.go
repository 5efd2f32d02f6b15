package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

func addIn[In any](name string) func(*server.Server) {
	return func(s *server.Server) {
		server.AddTool(s, name, "", func(context.Context, *mcp.Call, In) (string, error) { return "", nil }, nil)
	}
}

func addOut[Out any](s *server.Server) {
	server.AddTool(s, "t", "", func(context.Context, *mcp.Call, nothing) (out Out, err error) { return out, nil }, nil)
}

func addToolWith(o server.ToolOptions) func(*server.Server) {
	return func(s *server.Server) {
		server.AddTool(s, "t", "", func(context.Context, *mcp.Call, nothing) (string, error) { return "", nil }, &o)
	}
}

func addPrompt[In, Out any](name string, o ...server.PromptOptions) func(*server.Server) {
	return func(s *server.Server) {
		var po *server.PromptOptions
		if len(o) > 0 {
			po = &o[0]
		}
		server.AddPrompt(s, name, "", func(context.Context, *mcp.Call, In) (out Out, err error) { return out, nil }, po)
	}
}

// must makes a panic of an error, so that one table holds all that must fail.
func must(f func(*server.Server) error) func(*server.Server) {
	return func(s *server.Server) {
		if err := f(s); err != nil {
			panic(err.Error())
		}
	}
}

func resource(spec mcp.Resource, read server.ReadFunc) func(*server.Server) {
	return must(func(s *server.Server) error { return s.AddResource(spec, read, nil) })
}

func template(spec mcp.ResourceTemplate, read server.ReadFunc) func(*server.Server) {
	return must(func(s *server.Server) error { return s.AddTemplate(spec, read, nil) })
}

func raw(spec mcp.Tool, run server.RawToolFunc) func(*server.Server) {
	return must(func(s *server.Server) error { return s.AddRawTool(spec, run) })
}

// What cannot be used is refused when it is added, in words that say which
// feature it was and why, and leaves no trace.
func TestBadRegistrations(t *testing.T) {
	read := say("x")
	run := func(context.Context, *mcp.Call, json.RawMessage) (*mcp.CallToolResult, error) { return nil, nil }
	object := json.RawMessage(`{"type":"object"}`)
	badIcon := []mcp.Icon{{Src: "http://example.com/i.png"}}
	badMeta := mcp.Meta{"k": json.RawMessage(`{`)}
	complete := func(context.Context, *mcp.Call, string, map[string]string) ([]string, error) { return nil, nil }
	type badTag struct {
		N string `json:"n" schema:"minimum=1"`
	}
	type twice struct {
		A string `json:"a" schema:"header=Region"`
		B string `json:"b" schema:"header=region"`
	}
	type nested struct {
		A pair `json:"a"`
	}
	rows := []struct {
		name string
		add  func(*server.Server)
		want string
	}{
		{"empty tool name", addIn[nothing](""), `tool "": a name must have`},
		{"tool name with a space", addIn[nothing]("a b"), `tool "a b": a name must have`},
		{"long tool name", addIn[nothing](strings.Repeat("a", 129)), `a name must have 1 to 128`},
		{"tag that does not fit", addIn[badTag]("t"), `tool "t": arguments: `},
		{"channel", addIn[struct{ C chan int }]("t"), `tool "t": arguments: `},
		{"arguments that are no object", addIn[int]("t"), `tool "t": inputSchema: expected "type":"object"`},
		{"arguments that are anything", addIn[any]("t"), `tool "t": inputSchema: expected "type":"object"`},
		{"headers twice", addIn[twice]("t"), `x-mcp-header of b: region also names the property a`},
		{"output without a form", addOut[func()], `tool "t": output: `},
		{"result by value", addOut[mcp.CallToolResult], `tool "t": output: use *mcp.CallToolResult`},
		{"one block", addOut[mcp.Content], `tool "t": output: use mcp.Contents`},
		{"tool icon", addToolWith(server.ToolOptions{Icons: badIcon}), `tool "t": icon `},
		{"tool meta", addToolWith(server.ToolOptions{Meta: badMeta}), `tool "t": `},
		{"tool without func", func(s *server.Server) { server.AddTool[nothing, string](s, "t", "", nil, nil) }, `tool "t": the function is nil`},

		{"raw tool without schema", raw(mcp.Tool{Name: "t"}, run), `tool "t": inputSchema: missing`},
		{"raw tool with a list", raw(mcp.Tool{Name: "t", InputSchema: json.RawMessage(`[]`)}, run), `tool "t": inputSchema: expected an object`},
		{"raw tool of another type", raw(mcp.Tool{Name: "t", InputSchema: json.RawMessage(`{"type":"string"}`)}, run), `tool "t": inputSchema: `},
		{"raw tool with broken schema", raw(mcp.Tool{Name: "t", InputSchema: json.RawMessage(`{"type":"object",}`)}, run), `tool "t": input schema: `},
		{"raw tool with bad output schema", raw(mcp.Tool{Name: "t", InputSchema: object, OutputSchema: json.RawMessage(`{"type":7}`)}, run), `tool "t": output schema: `},
		{"raw tool name with a line break", raw(mcp.Tool{Name: "a\nb", InputSchema: object}, run), `tool "a\nb": the name has control characters`},
		{"raw tool name that is not UTF-8", raw(mcp.Tool{Name: "a\xff", InputSchema: object}, run), `tool "a\xff": the name is not valid UTF-8`},
		{"long raw tool name", raw(mcp.Tool{Name: strings.Repeat("a", 1025), InputSchema: object}, run), `the name has 1025 bytes; at most 1024`},
		{"raw tool without name", raw(mcp.Tool{InputSchema: object}, run), `name: missing`},
		{"raw tool header", raw(mcp.Tool{Name: "t", InputSchema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"a b"}}}`)}, run), `tool "t": x-mcp-header of a: `},
		{"raw tool escaped header", raw(mcp.Tool{Name: "t", InputSchema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string","x-mcp\u002dheader":"a b"}}}`)}, run), `tool "t": x-mcp-header of a: `},
		{"raw tool text", raw(mcp.Tool{Name: "t", Description: "\xff", InputSchema: object}, run), `tool "t": `},
		{"raw tool without func", raw(mcp.Tool{Name: "t", InputSchema: object}, nil), `tool "t": the function is nil`},

		{"resource without URI", resource(mcp.Resource{Name: "r"}, read), `resource "": the URI has no scheme`},
		{"resource with a path", resource(mcp.Resource{URI: "/etc/passwd", Name: "r"}, read), `resource "/etc/passwd": the URI has no scheme`},
		{"resource without name", resource(mcp.Resource{URI: "a:b"}, read), `resource "a:b" has no name`},
		{"resource icon", resource(mcp.Resource{URI: "a:b", Name: "r", Icons: badIcon}, read), `resource "a:b": icon `},
		{"resource meta", resource(mcp.Resource{URI: "a:b", Name: "r", Meta: badMeta}, read), `resource "a:b": `},
		{"resource without func", resource(mcp.Resource{URI: "a:b", Name: "r"}, nil), `resource "a:b": the function is nil`},

		{"template that does not end", template(mcp.ResourceTemplate{URITemplate: "a:{b", Name: "r"}, read), `resource template "a:{b": `},
		{"template that fits twice", template(mcp.ResourceTemplate{URITemplate: "a:{b}{c}", Name: "r"}, read), `resource template "a:{b}{c}": `},
		{"template without name", template(mcp.ResourceTemplate{URITemplate: "a:{b}"}, read), `resource template "a:{b}" has no name`},
		{"template icon", template(mcp.ResourceTemplate{URITemplate: "a:{b}", Name: "r", Icons: badIcon}, read), `resource template "a:{b}": icon `},
		{"template without func", template(mcp.ResourceTemplate{URITemplate: "a:{b}", Name: "r"}, nil), `resource template "a:{b}": the function is nil`},

		{"prompt without name", addPrompt[nothing, string](""), `prompt "": a prompt needs a name`},
		{"prompt tag", addPrompt[badTag, string]("p"), `prompt "p": arguments: `},
		{"prompt with a nested argument", addPrompt[nested, string]("p"), `prompt "p": argument "a" must be a string, a number or a boolean`},
		{"prompt of anything", addPrompt[struct{ A any }, string]("p"), `prompt "p": argument "A" `},
		{"prompt of a map", addPrompt[map[string]string, string]("p"), `prompt "p": arguments must be a struct`},
		{"prompt of an int", addPrompt[int, string]("p"), `prompt "p": arguments must be a struct`},
		{"prompt output", addPrompt[nothing, int]("p"), `prompt "p": output must be a string`},
		{"prompt icon", addPrompt[nothing, string]("p", server.PromptOptions{Icons: badIcon}), `prompt "p": icon `},
		{"prompt without func", func(s *server.Server) { server.AddPrompt[nothing, string](s, "p", "", nil, nil) }, `prompt "p": the function is nil`},

		{"completion of no prompt", must(func(s *server.Server) error { return s.CompletePrompt("p", "a", complete) }), `complete prompt "p": no such prompt`},
		{"completion of no template", must(func(s *server.Server) error { return s.CompleteTemplate("a:{b}", "b", complete) }), `complete resource template "a:{b}": no such template`},
	}
	for _, row := range rows {
		s, _ := newServer(server.Options{})
		got := func() (said string) {
			defer func() { said = fmt.Sprint(recover()) }()
			row.add(s)
			return
		}()
		if !strings.Contains(got, row.want) {
			t.Errorf("%s: %s, want …%s…", row.name, got, row.want)
		}
		expect(t, row.name+": what is left", ask(t, s, mcp.MethodDiscover, ""), `{"capabilities":{"logging":{}}}`)
	}
}

func TestBadCompleters(t *testing.T) {
	s, _ := newServer(server.Options{})
	addPrompt[struct{ A string }, string]("p")(s)
	template(mcp.ResourceTemplate{URITemplate: "a:{b}", Name: "r"}, say(""))(s)
	complete := func(context.Context, *mcp.Call, string, map[string]string) ([]string, error) { return nil, nil }
	for _, row := range []struct {
		err  error
		want string
	}{
		{s.CompletePrompt("p", "B", complete), `prompt "p" has no argument "B"`},
		{s.CompletePrompt("p", "A", nil), `prompt "p": the CompleteFunc of "A" is nil`},
		{s.CompleteTemplate("a:{b}", "c", complete), `resource template "a:{b}" has no argument "c"`},
		{s.CompleteTemplate("a:{b}", "b", nil), `resource template "a:{b}": the CompleteFunc of "b" is nil`},
	} {
		expect(t, "completer", fmt.Sprint(row.err), row.want)
	}
}
