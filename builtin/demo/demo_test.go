package demo

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/ext/tasks"
	"github.com/tenon-mcp/tenon/mcp"
)

// The tool is a task for clients that know tasks, and an ordinary tool for all
// others; it asks if there is a user.
func TestSlowReport(t *testing.T) {
	for name, middleware := range map[string][]mcp.Middleware{"task": {tasks.Client}, "plain": nil} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, err := New(Config{})
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				asked := 0
				c := client.New(s, &client.Options{Middleware: middleware, Elicit: func(_ context.Context, e *client.Elicitation) (*mcp.ElicitResult, error) {
					asked++
					return e.Accept(map[string]string{"format": "long"})
				}})
				var messages []string
				began := time.Now()
				r, err := client.Call[Report](t.Context(), c, "slow_report", map[string]any{"topic": "tea", "seconds": 20}, &client.CallOptions{Progress: func(p mcp.ProgressParams) { messages = append(messages, p.Message) }})
				if err != nil || r.Format != "long" || asked != 1 || !strings.Contains(r.Text, "Report on tea: all is well.") {
					t.Errorf("%+v %v, asked %d times", r, err, asked)
				}
				if all := strings.Join(messages, ", "); !strings.Contains(all, "Collecting") || !strings.Contains(all, "Writing") {
					t.Errorf("progress: %s", all)
				}
				if d := time.Since(began); d < 20*time.Second {
					t.Errorf("took %v", d)
				}
			})
		})
	}
}

func TestWithoutAUserItIsShort(t *testing.T) {
	s, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r, err := client.Call[Report](t.Context(), client.New(s, nil), "slow_report", map[string]any{"topic": "tea", "seconds": 0}, nil)
	if err != nil || r.Format != "short" {
		t.Errorf("%+v %v", r, err)
	}
}

// count logs and reports each step; write_line passes on what the model of the
// client writes, and says why there is nothing.
func TestCountAndWriteLine(t *testing.T) {
	s, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var logged []string
	reject := false
	c := client.New(s, &client.Options{
		Logging: &client.Logging{OnMessage: func(_ context.Context, m mcp.LogMessage) { logged = append(logged, string(m.Data)) }},
		Sampling: &client.Sampling{Create: func(context.Context, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
			if reject {
				return nil, client.ErrSamplingRejected
			}
			return &mcp.CreateMessageResult{Role: mcp.RoleAssistant, Model: "m", Content: mcp.NewSamplingContent(mcp.Text("Tea is hot."))}, nil
		}},
	})
	steps := 0
	l, err := client.Call[Line](t.Context(), c, "count", map[string]any{"to": 3}, &client.CallOptions{Progress: func(mcp.ProgressParams) { steps++ }})
	if err != nil || l.Text != "Counted to 3." || steps != 3 || len(logged) != 3 || !strings.Contains(logged[2], "3 of 3") {
		t.Errorf("count: %+v, %v, %d steps, logged %q", l, err, steps, logged)
	}
	line := func(c *client.Client, want string) {
		t.Helper()
		if l, err := client.Call[Line](t.Context(), c, "write_line", map[string]any{"topic": "tea"}, nil); err != nil || !strings.Contains(l.Text, want) {
			t.Errorf("write_line: %+v, %v", l, err)
		}
	}
	line(c, "Tea is hot.")
	line(client.New(s, nil), "no server use its model")
	reject = true
	line(c, "does not want")
}
