package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// can makes a caller that can be asked everything, with answers given so far.
func can(answers map[string]string) func(*mcp.Call) {
	return func(c *mcp.Call) {
		c.Caller.Capabilities = &mcp.ClientCapabilities{
			Elicitation: &mcp.ElicitationCapability{Form: mcp.Settings{}, URL: mcp.Settings{}},
			Sampling:    &mcp.SamplingCapability{},
			Roots:       &mcp.RootsCapability{},
		}
		c.InputResponses = map[string]json.RawMessage{}
		for key, a := range answers {
			c.InputResponses[key] = json.RawMessage(a)
		}
	}
}

// questions returns what a call asks.
func questions(t *testing.T, h mcp.Handler, tool string, change func(*mcp.Call)) map[string]mcp.InputRequest {
	t.Helper()
	c := &mcp.Call{Method: mcp.MethodToolsCall, Params: json.RawMessage(`{"name":"` + tool + `"}`)}
	change(c)
	_, err := h.Serve(t.Context(), c)
	need, ok := errors.AsType[*mcp.InputRequired](err)
	if !ok {
		t.Fatalf("nothing was asked: %v", err)
	}
	return need.Requests
}

type details struct {
	Size  string `json:"size" doc:"how big" schema:"enum=small|large"`
	Count int    `json:"count" schema:"minimum=1,maximum=9,default=2"`
	Hot   bool   `json:"hot,omitempty"`
}

func kitchen() *server.Server {
	s, _ := newServer(server.Options{})
	addText(s, "order", func(_ context.Context, c *mcp.Call) (string, error) {
		d, err := server.Elicit[details](c, "details", "Which one?")
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%+v", d), nil
	})
	addText(s, "twice", func(_ context.Context, c *mcp.Call) (string, error) {
		a, err := server.Elicit[pair](c, "a", "First pair?")
		if err != nil {
			return "", err
		}
		b, err := server.Elicit[pair](c, "b", fmt.Sprintf("After %v?", a))
		if err != nil {
			return "", err
		}
		return fmt.Sprint(a, b), nil
	})
	return s
}

func TestElicit(t *testing.T) {
	s := kitchen()
	q := questions(t, s, "order", can(nil))["details"]
	expect(t, "question", q.Method+" "+string(q.Params), `elicitation/create {"message":"Which one?","requestedSchema":{"type":"object","properties":{`+
		`"size":{"type":"string","description":"how big","enum":["small","large"]},`+
		`"count":{"type":"integer","default":2,"minimum":1,"maximum":9},"hot":{"type":"boolean"}},"required":["size"]}}`)

	bad := `…-32602 response to "details" does not fit the form:` + "\n"
	rows := []struct{ answer, want string }{
		{`{"action":"accept","content":{"size":"large","count":3,"hot":true}}`, `…{Size:large Count:3 Hot:true}`},
		{`{"action":"accept","content":{"size":"small"}}`, `…{Size:small Count:2 Hot:false}`},
		{`{"action":"decline"}`, `{"content":[{"type":"text","text":"The user declined: \"Which one?\""}],"isError":true}`},
		{`{"action":"cancel"}`, `{"content":[{"type":"text","text":"The user dismissed the request: \"Which one?\""}],"isError":true}`},
		{`{"action":"accept","content":{"size":"medium"}}`, bad + "size: "},
		{`{"action":"accept","content":{"size":"large","count":"3"}}`, bad + "count: "},
		{`{"action":"accept","content":{"size":"large","count":10}}`, bad + "count: "},
		{`{"action":"accept","content":{"size":1,"zzz":1}}`, bad},
		{`{"action":"accept","content":[]}`, bad},
		{`{"action":"accept"}`, bad + "size: "},
		{`{"action":"accept","content":null}`, bad},
		{`{"action":"maybe"}`, `-32602 response to "details": action is "maybe": expected accept, decline or cancel`},
		{`{}`, `-32602 response to "details": action is "": expected accept, decline or cancel`},
		{`7`, `…-32602 response to "details": `},
	}
	for _, row := range rows {
		expect(t, row.answer, callTool(t, s, "order", "", can(map[string]string{"details": row.answer, "unasked": "{}"})), row.want)
	}
}

// A handler that asks twice is entered three times and keeps its answers.
func TestElicitTwice(t *testing.T) {
	n := 0
	h := mcp.HandleInput(kitchen(), func(_ context.Context, _ *mcp.Call, key string, q mcp.InputRequest) (json.RawMessage, error) {
		n++
		var p mcp.ElicitParams
		if err := mcp.Unmarshal(q.Params, &p); err != nil {
			return nil, err
		}
		expect(t, key, p.Message, map[string]string{"a": "First pair?", "b": "After {1 2}?"}[key])
		return fmt.Appendf(nil, `{"action":"accept","content":{"a":%d,"b":%d}}`, n, n+1), nil
	}, 0)
	expect(t, "answer", callTool(t, h, "twice", "", can(nil)), `…"text":"{1 2} {2 3}"`)
	if n != 2 {
		t.Errorf("asked %d times", n)
	}
}

// M08: who cannot be asked is told what it would have to declare.
func TestElicitNeedsACapability(t *testing.T) {
	s := kitchen()
	expect(t, "nothing declared", callTool(t, s, "order", ""), `…-32021 this call needs the client to ask its user to fill in a form`)
	expect(t, "data", callTool(t, s, "order", ""), `…{"requiredCapabilities":{"elicitation":{}}}`)
	onlyURL := func(c *mcp.Call) {
		c.Caller.Capabilities = &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapability{URL: mcp.Settings{}}}
	}
	expect(t, "only pages", callTool(t, s, "order", "", onlyURL), `…-32021 `)
}

func TestElicitOnlyFlatForms(t *testing.T) {
	s, _ := newServer(server.Options{})
	elicit := func(name string, f func(c *mcp.Call) error) {
		addText(s, name, func(_ context.Context, c *mcp.Call) (string, error) { return "", f(c) })
	}
	elicit("nested", func(c *mcp.Call) error {
		_, err := server.Elicit[struct{ P pair }](c, "k", "?")
		return err
	})
	elicit("list", func(c *mcp.Call) error {
		_, err := server.Elicit[struct{ L []int }](c, "k", "?")
		return err
	})
	elicit("string", func(c *mcp.Call) error {
		_, err := server.Elicit[string](c, "k", "?")
		return err
	})
	elicit("chan", func(c *mcp.Call) error {
		_, err := server.Elicit[struct{ C chan int }](c, "k", "?")
		return err
	})
	for _, name := range []string{"nested", "list", "string", "chan"} {
		got := callTool(t, s, name, "", can(nil))
		expect(t, name, got, "…-32603 ")
		expect(t, name, got, "… is not a form: ")
	}
}

func TestElicitURL(t *testing.T) {
	s, _ := newServer(server.Options{})
	page := "https://example.com/pay"
	addText(s, "pay", func(_ context.Context, c *mcp.Call) (string, error) {
		if err := server.ElicitURL(c, "pay", "Pay now", page); err != nil {
			return "", err
		}
		return "agreed", nil
	})
	q := questions(t, s, "pay", can(nil))["pay"]
	expect(t, "question", string(q.Params), `{"mode":"url","message":"Pay now","url":"https://example.com/pay"}`)
	expect(t, "accept", callTool(t, s, "pay", "", can(map[string]string{"pay": `{"action":"accept"}`})), `…agreed`)
	expect(t, "decline", callTool(t, s, "pay", "", can(map[string]string{"pay": `{"action":"decline"}`})), `…"isError":true`)
	expect(t, "no capability", callTool(t, s, "pay", ""), `…{"requiredCapabilities":{"elicitation":{"url":{}}}}`)
	for _, page = range []string{"", "javascript:alert(1)", "https://", "file:///x"} {
		expect(t, page, callTool(t, s, "pay", "", can(nil)), `…-32602 url: `)
	}
}

func TestDeclined(t *testing.T) {
	s, _ := newServer(server.Options{})
	addText(s, "t", func(_ context.Context, c *mcp.Call) (string, error) {
		_, err := server.Elicit[pair](c, "k", "Which?")
		if d, ok := errors.AsType[*server.Declined](err); ok {
			return fmt.Sprintf("%s: %s", d.Action, d.Message), nil // a tool may go on without
		}
		return "", err
	})
	expect(t, "declined", callTool(t, s, "t", "", can(map[string]string{"k": `{"action":"decline"}`})), `…decline: Which?`)
	expect(t, "cancelled", callTool(t, s, "t", "", can(map[string]string{"k": `{"action":"cancel"}`})), `…cancel: Which?`)
}
