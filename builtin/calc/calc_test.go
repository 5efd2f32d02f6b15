package calc_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/builtin/calc"
	"github.com/tenon-mcp/tenon/internal/leaktest"
	"github.com/tenon-mcp/tenon/mcp"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func TestCalc(t *testing.T) {
	s, err := calc.New(calc.Config{})
	if err != nil {
		t.Fatal(err)
	}
	call := func(name, args string) string { return fmt.Sprintf(`{"name":%q,"arguments":%s}`, name, args) }
	rows := []struct{ method, params, want string }{
		{mcp.MethodToolsCall, call("add", `{"a":1,"b":2}`), `{"structuredContent":{"result":3},"content":[{"type":"text","text":"3"}]}`},
		{mcp.MethodToolsCall, call("add", `{"a":0.1,"b":0.2}`), `{"structuredContent":{"result":0.3},"content":[{"type":"text","text":"0.3"}]}`},
		{mcp.MethodToolsCall, call("add", `{"a":9007199254740993,"b":9007199254740993}`), `"text":"18014398509481986"`},
		{mcp.MethodToolsCall, call("subtract", `{"a":9007199254740993,"b":1e-3}`), `"exact":"9007199254740992.999"`},
		{mcp.MethodToolsCall, call("multiply", `{"a":12345678901234567890,"b":12345678901234567890}`), `"text":"152415787532388367501905199875019052100"`},
		{mcp.MethodToolsCall, call("divide", `{"a":1,"b":3}`), `{"structuredContent":{"result":0.3333333333333333,"exact":"1/3"},"content":[{"type":"text","text":"0.3333333333333333 (exactly 1/3)"}]}`},
		{mcp.MethodToolsCall, call("multiply", `{"a":1.10,"b":1.10}`), `"text":"1.21"`},
		{mcp.MethodToolsCall, call("add", `{"a":1e-999999999,"b":1}`), `"isError":true`},
		{mcp.MethodToolsCall, call("add", `{"a":1e-401,"b":1}`), `"isError":true`},
		{mcp.MethodToolsCall, call("add", `{"a":0.`+strings.Repeat("1", 2000)+`,"b":1}`), `more than 1000 digits`},
		{mcp.MethodToolsCall, `{"_meta":{"x":1},"name":"add","arguments":{"b":1,"a":2}}`, `"result":3`},
		{mcp.MethodToolsCall, call("subtract", `{"a":1,"b":2}`), `"text":"-1"`},
		{mcp.MethodToolsCall, call("multiply", `{"a":3,"b":-2}`), `"text":"-6"`},
		{mcp.MethodToolsCall, call("divide", `{"a":1,"b":4}`), `"text":"0.25"`},
		{mcp.MethodToolsCall, call("divide", `{"a":1,"b":0}`), `{"content":[{"type":"text","text":"division by zero: choose another b"}],"isError":true}`},
		{mcp.MethodToolsCall, call("divide", `{"a":1,"b":-0.0}`), `division by zero`},
		{mcp.MethodToolsCall, call("multiply", `{"a":1e308,"b":10}`), `the result is too large`},
		{mcp.MethodToolsCall, call("divide", `{"a":1e308,"b":1e-10}`), `the result is too large`},
		{mcp.MethodToolsCall, call("add", `{"a":"one"}`), `"isError":true`},
		{mcp.MethodToolsCall, call("average", `{}`), `elicitation`},
		{mcp.MethodToolsCall, call("root", `{}`), `unknown tool "root"`},
		{mcp.MethodResourcesRead, `{"uri":"welcome://Ada%20L"}`, `{"contents":[{"uri":"welcome://Ada%20L","mimeType":"text/plain","text":"Welcome, Ada L!"}]}`},
		{mcp.MethodResourcesRead, `{"uri":"farewell://Ada"}`, `no resource has the URI`},
		{mcp.MethodPromptsGet, call("explain", `{"calculation":"17 * 23"}`), `work out 17 * 23, then`},
		{mcp.MethodPromptsGet, call("explain", `{}`), `calculation: `},
		{mcp.MethodDiscover, ``, `"instructions":"Use add, `},
	}
	for _, row := range rows {
		res, err := s.Serve(t.Context(), &mcp.Call{Method: row.method, Params: json.RawMessage(row.params)})
		got := string(res.Body)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, row.want) {
			t.Errorf("%s: %s, want …%s…", row.params, got, row.want)
		}
	}
}

func TestFromQuery(t *testing.T) {
	if _, err := calc.FromQuery(nil); err != nil {
		t.Error(err)
	}
	if _, err := calc.FromQuery(url.Values{"digits": {"5"}}); err == nil || !strings.Contains(err.Error(), `unknown setting "digits"; calc has none`) {
		t.Error(err)
	}
}

func TestAverageAsksThePerson(t *testing.T) {
	s, err := calc.New(calc.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for answer, want := range map[string]string{
		`{"action":"accept","content":{"a":1,"b":4}}`:         `"text":"2.5"`,
		`{"action":"accept","content":{"a":1e308,"b":1e308}}`: `"text":"1e+308"`,
		`{"action":"decline"}`:                                `The user declined`,
	} {
		h := mcp.HandleInput(s, func(context.Context, *mcp.Call, string, mcp.InputRequest) (json.RawMessage, error) {
			return json.RawMessage(answer), nil
		}, 0)
		c := &mcp.Call{Method: mcp.MethodToolsCall, Params: json.RawMessage(`{"name":"average"}`)}
		c.Caller.Capabilities = &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapability{}}
		res, err := h.Serve(t.Context(), c)
		if err != nil || !strings.Contains(string(res.Body), want) {
			t.Errorf("%s: %s, %v; want …%s…", answer, res.Body, err, want)
		}
	}
}
