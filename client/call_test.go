package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/internal/protocol"
	"github.com/tenon-mcp/tenon/mcp"
)

func TestCallDecodes(t *testing.T) {
	type sum struct {
		Sum int `json:"sum"`
	}
	as := func(call func(*client.Client) (any, error)) func(*client.Client) (any, error) { return call }
	intoSum := as(func(c *client.Client) (any, error) { return client.Call[sum](context.Background(), c, "t", nil, nil) })
	intoPtr := as(func(c *client.Client) (any, error) {
		p, err := client.Call[*sum](context.Background(), c, "t", nil, nil)
		if p == nil {
			return nil, err
		}
		return *p, err
	})
	intoInt := as(func(c *client.Client) (any, error) { return client.Call[int](context.Background(), c, "t", nil, nil) })
	intoString := as(func(c *client.Client) (any, error) {
		return client.Call[string](context.Background(), c, "t", nil, nil)
	})
	intoList := as(func(c *client.Client) (any, error) { return client.Call[[]int](context.Background(), c, "t", nil, nil) })
	tests := []struct {
		name, body string
		call       func(*client.Client) (any, error)
		want       any
		fails      string
	}{
		{"structured", `{"content":[],"structuredContent":{"sum":3}}`, intoSum, sum{3}, ""},
		{"structured into a pointer", `{"content":[],"structuredContent":{"sum":3}}`, intoPtr, sum{3}, ""},
		{"structured counts before text", `{"content":[{"type":"text","text":"{\"sum\":4}"}],"structuredContent":{"sum":3}}`, intoSum, sum{3}, ""},
		{"no content member", `{"structuredContent":{"sum":3}}`, intoSum, sum{3}, ""},
		{"text that is JSON", `{"content":[{"type":"text","text":"{\"sum\":4}"}]}`, intoSum, sum{4}, ""},
		{"number", `{"content":[],"structuredContent":5}`, intoInt, 5, ""},
		{"number that an older server wrapped", `{"content":[],"structuredContent":{"result":5}}`, intoInt, 5, ""},
		{"list that an older server wrapped", `{"content":[],"structuredContent":{"result":[1,2]}}`, intoList, []int{1, 2}, ""},
		{"wrapped with something beside it", `{"content":[],"structuredContent":{"result":5,"x":1}}`, intoInt, nil, "expected an integer, got an object"},
		{"text", `{"content":[{"type":"text","text":"a"},{"type":"image","data":"","mimeType":"image/png"},{"type":"text","text":"b"}]}`, intoString, "a\nb", ""},
		{"text of a structured string", `{"content":[{"type":"text","text":"x"}],"structuredContent":"y"}`, intoString, "y", ""},
		{"text beside a structured object", `{"content":[{"type":"text","text":"x"}],"structuredContent":{"sum":3}}`, intoString, "x", ""},
		{"null where nothing is meant", `{"content":[{"type":"text","text":"{\"sum\":4}"}],"structuredContent":null}`, intoSum, sum{4}, ""},
		{"null where text is meant", `{"content":[{"type":"text","text":"hello"}],"structuredContent":null}`, intoSum, nil, "its text is not JSON"},
		{"null and no text", `{"content":[],"structuredContent":null}`, intoPtr, nil, ""},
		{"names are case-sensitive", `{"content":[],"structuredContent":{"Sum":3}}`, intoSum, sum{0}, ""},

		{"structured of another kind", `{"content":[],"structuredContent":{"sum":"3"}}`, intoSum, nil, `decode the structured content of tool "t": sum: expected an integer`},
		{"text that is not JSON", `{"content":[{"type":"text","text":"hello"}]}`, intoSum, nil, `its text is not JSON: "hello"`},
		{"no text", `{"content":[]}`, intoSum, nil, "no structured content"},
		{"failed", `{"content":[{"type":"text","text":"no such city"}],"isError":true}`, intoSum, nil, "no such city"},
		{"failed without a word", `{"content":[],"isError":true}`, intoSum, nil, `tool "t" failed without a message`},

		// C10: no zero value as success.
		{"C10 null", `null`, intoSum, nil, "expected an object"},
		{"C10 array", `[]`, intoSum, nil, "expected an object"},
		{"C10 nothing", ``, intoSum, nil, "expected an object"},
		{"C10 empty", `{}`, intoSum, nil, "the result has no content"},
		{"C10 content of another kind", `{"content":"x"}`, intoSum, nil, "content: expected an array"},
		{"C10 null content", `{"content":null}`, intoSum, nil, "content: expected an array"},
		{"C10 isError of another kind", `{"content":[],"isError":"yes"}`, intoSum, nil, "isError: expected true or false"},
		{"C10 block of another kind", `{"content":[7]}`, intoString, nil, "[0]: expected a content block"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.call(client.New(body(tt.body), nil))
			if tt.fails != "" {
				wantError(t, err, tt.fails)
				return
			}
			if err != nil || !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %v, %v; want %v", got, err, tt.want)
			}
		})
	}
}

func TestToolErrorKeepsTheResult(t *testing.T) {
	c := client.New(body(`{"content":[{"type":"text","text":"no such city"}],"structuredContent":{"near":["Bonn"]},"isError":true}`), nil)
	_, err := client.Call[int](t.Context(), c, "weather", nil, nil)
	e, ok := errors.AsType[*client.ToolError](err)
	if !ok || e.Tool != "weather" || string(e.Result.StructuredContent) != `{"near":["Bonn"]}` {
		t.Fatalf("got %#v", err)
	}
	res, err := c.CallTool(t.Context(), "weather", nil, nil)
	if err != nil || !res.IsError || res.Content.Text() != "no such city" {
		t.Errorf("CallTool: %+v, %v", res, err)
	}
}

func TestArguments(t *testing.T) {
	var none map[string]int
	tests := []struct {
		name  string
		args  any
		want  string
		fails string
	}{
		{"nil", nil, `{"name":"t"}`, ""},
		{"nil map", none, `{"name":"t","arguments":{}}`, ""},
		{"nil pointer", (*sumArgs)(nil), `{"name":"t"}`, ""},
		{"struct", sumArgs{1, 2}, `{"name":"t","arguments":{"a":1,"b":2}}`, ""},
		{"map", map[string]any{"b": "x", "a": nil}, `{"name":"t","arguments":{"a":null,"b":"x"}}`, ""},
		{"raw", json.RawMessage(`{ "z":1 }`), `{"name":"t","arguments":{ "z":1 }}`, ""},
		{"bytes", []byte(`{"z":1}`), `{"name":"t","arguments":{"z":1}}`, ""},
		{"empty raw", json.RawMessage(nil), `{"name":"t"}`, ""},
		{"list", []int{1}, "", "expected a struct or a map"},
		{"number", 7, "", "expected a struct or a map"},
		{"raw list", json.RawMessage(`[1]`), "", "expected a JSON object, found [1]"},
		{"raw that is cut off", json.RawMessage(`{"a":1`), "", "not valid JSON"},
		{"raw with a name twice", json.RawMessage(`{"a":1,"a":2}`), "", "not valid JSON"},
		{"raw that breaks out", json.RawMessage(`{}},"x":{`), "", "not valid JSON"},
		{"not JSON at all", make(chan int), "", `arguments of tool "t"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got string
			c := client.New(mcp.HandlerFunc(func(_ context.Context, c *mcp.Call) (mcp.Result, error) {
				got = string(c.Params)
				return text("ok"), nil
			}), nil)
			_, err := c.CallTool(t.Context(), "t", tt.args, nil)
			if tt.fails != "" {
				wantError(t, err, tt.fails)
				if e, ok := errors.AsType[*mcp.Error](err); !ok || !e.Local {
					t.Errorf("%#v is not marked as local", err)
				}
				if got != "" {
					t.Errorf("sent %s", got)
				}
				return
			}
			if err != nil || got != tt.want {
				t.Errorf("sent %s, %v; want %s", got, err, tt.want)
			}
		})
	}
}

// C12: a result without a type is complete; one of a type that nobody knows is
// not taken for it.
func TestResultType(t *testing.T) {
	c := client.New(mcp.HandlerFunc(func(context.Context, *mcp.Call) (mcp.Result, error) {
		return mcp.Result{Type: "task", Body: json.RawMessage(`{"taskId":"7","content":[]}`)}, nil
	}), nil)
	_, err := c.CallTool(t.Context(), "t", nil, nil)
	wantError(t, err, `has the type "task"`)
	res, err := c.Do(t.Context(), mcp.MethodToolsCall, mcp.CallToolParams{Name: "t"}, nil)
	if err != nil || res.Type != "task" {
		t.Errorf("Do: %+v, %v", res, err)
	}
}

func TestServerErrorsPassThrough(t *testing.T) {
	c := client.New(mcp.HandlerFunc(func(context.Context, *mcp.Call) (mcp.Result, error) {
		return mcp.Result{Body: json.RawMessage(`{"content":[]}`)}, mcp.InvalidParams("no tool %q", "t")
	}), nil)
	_, err := c.CallTool(t.Context(), "t", nil, nil)
	e, ok := errors.AsType[*mcp.Error](err)
	if !ok || e.Local || e.Code != mcp.CodeInvalidParams {
		t.Errorf("got %#v", err)
	}
}

func TestFeatures(t *testing.T) {
	var got []string
	answers := map[string]string{
		mcp.MethodDiscover:      `{"capabilities":{"tools":{}},"instructions":"be kind"}`,
		mcp.MethodResourcesRead: `{"contents":[{"uri":"a:b","text":"hi"}]}`,
		mcp.MethodPromptsGet:    `{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}]}`,
		mcp.MethodComplete:      `{"completion":{"values":["` + strings.Repeat(`x","`, 149) + `x"]}}`,
	}
	h := mcp.HandlerFunc(func(_ context.Context, c *mcp.Call) (mcp.Result, error) {
		got = append(got, fmt.Sprintf("%s %s", c.Method, c.Params))
		return mcp.Result{Body: json.RawMessage(answers[c.Method]), Server: &mcp.Implementation{Name: "s"}}, nil
	})
	var w warnings
	c := client.New(h, &client.Options{Warn: w.add})
	d, err := c.Discover(t.Context())
	if err != nil || d.Instructions != "be kind" || d.Server.Name != "s" || d.Capabilities.Tools == nil {
		t.Errorf("Discover: %+v, %v", d, err)
	}
	r, err := c.ReadResource(t.Context(), `a:"b"`)
	if err != nil || len(r.Contents) != 1 || r.Contents[0].Text != "hi" {
		t.Errorf("ReadResource: %+v, %v", r, err)
	}
	p, err := c.GetPrompt(t.Context(), "p", map[string]string{"k": "v"})
	if err != nil || len(p.Messages) != 1 {
		t.Errorf("GetPrompt: %+v, %v", p, err)
	}
	f, err := c.Complete(t.Context(), mcp.CompleteParams{Ref: mcp.PromptRef("p"), Argument: mcp.CompletionArgument{Name: "k", Value: "v"}})
	if err != nil || len(f.Values) != protocol.MaxCompletions || !f.HasMore || !strings.Contains(w.String(), "150 values") {
		t.Errorf("Complete: %+v, %v, warned %q", f, err, &w)
	}
	want := []string{
		`server/discover `,
		`resources/read {"uri":"a:\"b\""}`,
		`prompts/get {"name":"p","arguments":{"k":"v"}}`,
		`completion/complete {"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"k","value":"v"}}`,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("sent\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}

	// C10 for the rest of them.
	for method := range answers {
		for _, bad := range []string{`null`, `[]`, `{}`, ``, `"x"`} {
			if method == mcp.MethodDiscover && bad == `{}` {
				continue // a server may offer nothing
			}
			answers[method] = bad
			var err error
			switch method {
			case mcp.MethodDiscover:
				_, err = c.Discover(t.Context())
			case mcp.MethodResourcesRead:
				_, err = c.ReadResource(t.Context(), "a")
			case mcp.MethodPromptsGet:
				_, err = c.GetPrompt(t.Context(), "a", nil)
			case mcp.MethodComplete:
				_, err = c.Complete(t.Context(), mcp.CompleteParams{})
			}
			wantError(t, err, "invalid result of "+method)
		}
	}
}

// parking is a server that holds something for a call between its rounds.
type parking struct {
	question  mcp.InputRequest
	abandoned int
}

func (p *parking) Serve(_ context.Context, c *mcp.Call) (mcp.Result, error) {
	need := &mcp.InputRequired{Requests: map[string]mcp.InputRequest{"q": p.question}, State: c.State + "parked"}
	need.Abandon = sync.OnceFunc(func() { p.abandoned++ })
	return mcp.Result{}, need
}

// A call that ends between two rounds is given up at the connection: an older
// server would wait for the answer for ever.
func TestUnansweredCallIsAbandoned(t *testing.T) {
	var leave context.CancelFunc
	no := func(context.Context, *client.Elicitation) (*mcp.ElicitResult, error) {
		leave()
		return nil, errors.New("not now")
	}
	for name, tt := range map[string]struct {
		question mcp.InputRequest
		o        client.Options
	}{
		"the caller leaves": {form(`"name":{"type":"string"}`), client.Options{Elicit: no}},
		"not declared":      {mcp.RootsRequest(), client.Options{Elicit: no}},
		"asked for ever":    {mcp.RootsRequest(), client.Options{MaxRounds: 2, Roots: func(context.Context) ([]mcp.Root, error) { return nil, nil }}},
	} {
		t.Run(name, func(t *testing.T) {
			p := &parking{question: tt.question}
			var ctx context.Context
			ctx, leave = context.WithCancel(t.Context())
			defer leave()
			if _, err := client.New(p, &tt.o).CallTool(ctx, "x", nil, nil); err == nil {
				t.Error("no error")
			}
			want := max(tt.o.MaxRounds, 1) // each round that is over, too: it may not have been made
			if p.abandoned != want {
				t.Errorf("given up %d times, want %d", p.abandoned, want)
			}
		})
	}
}
