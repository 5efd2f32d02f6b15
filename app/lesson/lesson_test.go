package lesson

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/app/wirelog"
	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/internal/leaktest"
	"github.com/tenon-mcp/tenon/mcp"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// person returns Lessons of a user who answers every question.
func person() (*Lessons, *wirelog.Log) {
	log := wirelog.NewLog(nil)
	return New(Options{Log: log, Client: func(string) client.Options {
		return client.Options{
			Logging: &client.Logging{OnMessage: func(context.Context, mcp.LogMessage) {}},
			Elicit: func(_ context.Context, e *client.Elicitation) (*mcp.ElicitResult, error) {
				return e.Accept(map[string]float64{"a": 20, "b": 22})
			},
			Sampling: &client.Sampling{Create: func(context.Context, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
				return &mcp.CreateMessageResult{Role: mcp.RoleAssistant, Model: "m", Content: mcp.NewSamplingContent(mcp.Text("a line")), StopReason: "endTurn"}, nil
			}},
		}
	}}), log
}

// frames returns the messages of a run as text, the oldest first.
func frames(log *wirelog.Log, r *Run) string {
	list, _ := log.Filter(wirelog.Query{Conn: r.Conn}, 0, 100)
	slices.Reverse(list)
	var all []string
	for _, m := range list {
		all = append(all, string(m.Frame))
	}
	return strings.Join(all, "\n")
}

// Each example sends what its name says, and its messages are in the log.
func TestExamples(t *testing.T) {
	l, log := person()
	for name, want := range map[string][]string{
		"tool":        {`"name":"add"`, `"a":20.5`, `"result":42`},
		"resource":    {`"resources/read"`, `Welcome, you!`},
		"prompt":      {`"prompts/get"`, `20.5 + 21.5`},
		"elicitation": {`elicitation/create`, `"accept"`, `"result":21`},
		"sampling":    {`sampling/createMessage`, `a line`},
		"logging":     {`notifications/message`, `Counted 3 of 3`, `notifications/progress`},
		"error":       {`-32602`},
	} {
		for _, revision := range []mcp.Revision{"", mcp.Rev20251125} {
			e, ok := Find(name, Numbers{20.5, 21.5})
			if !ok {
				t.Fatalf("no example %s", name)
			}
			r, err := l.Run(t.Context(), e, revision)
			if err != nil {
				t.Fatal(err)
			}
			if (r.Err != nil) != (name == "error") {
				t.Errorf("%s: %v", name, r.Err)
			}
			text := frames(log, r)
			for _, w := range append(want, map[bool]string{true: "server/discover", false: "notifications/initialized"}[revision == ""]) {
				if !strings.Contains(text, w) {
					t.Errorf("%s in %q: no %s in\n%s", name, revision, w, text)
				}
			}
		}
	}
	if _, ok := Find("nosuch", Numbers{}); ok {
		t.Error("there is an example nosuch")
	}
}

// A batch is answered with a batch.
func TestBatch(t *testing.T) {
	l, log := person()
	r, err := l.Batch(t.Context(), Numbers{1, 2.5})
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(frames(log, r), "\n")
	if last := lines[len(lines)-1]; !strings.HasPrefix(last, `[{`) || !strings.Contains(last, `"3.5"`) {
		t.Errorf("the last message is %s", last)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := l.Batch(ctx, Numbers{}); err == nil {
		t.Error("a batch ran although its context had ended")
	}
}

// The same call passes as a line, as a body and as an event, in every revision
// that has the transport.
func TestCarry(t *testing.T) {
	for _, revision := range []mcp.Revision{mcp.Rev20260728, mcp.Rev20251125, mcp.Rev20250326} {
		all, err := Carry(t.Context(), Numbers{20, 22}, revision)
		if err != nil {
			t.Fatal(err)
		}
		if len(all) != 3 {
			t.Fatalf("%d transports", len(all))
		}
		for i, want := range []struct{ name, sent, got string }{
			{"stdio", `{"jsonrpc":"2.0"`, `{"jsonrpc":"2.0"`},
			{"http", "POST /mcp HTTP/1.1\r\n", "Content-Type: application/json\r\n"},
			{"stream", "POST /mcp HTTP/1.1\r\n", "\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\""},
		} {
			c := all[i]
			if c.Transport != want.name || c.Revision != revision || len(c.Pieces) != 2 {
				t.Fatalf("%s: %+v", want.name, c)
			}
			if c.Result != "42" {
				t.Errorf("%s in %s: the result is %q", want.name, revision, c.Result)
			}
			sent, got := c.Pieces[0], c.Pieces[1]
			if !sent.Sent || !strings.HasPrefix(sent.Text, want.sent) || !strings.Contains(sent.Text, `"tools/call"`) {
				t.Errorf("%s in %s sent %s", want.name, revision, sent.Text)
			}
			if got.Sent || !strings.Contains(got.Text, want.got) || !strings.Contains(got.Text, `"text":"42"`) {
				t.Errorf("%s in %s got %s", want.name, revision, got.Text)
			}
		}
	}
}
