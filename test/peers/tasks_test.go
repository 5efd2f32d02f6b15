package peers

import (
	"reflect"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"

	"github.com/tenon-mcp/tenon/test/peers/internal/steps"
)

// TestClientsOfTasks runs other clients of tasks, of both forms, against Tenon.
func TestClientsOfTasks(t *testing.T) {
	usual := map[string]any{
		"completes": map[string]any{"text": "done", "isError": false},
		"asks":      map[string]any{"text": "Ada and Bob", "isError": false},
	}
	// Of a task that has failed these clients do not fetch the result.
	failed := failure("failed")
	ts1 := map[string]any{
		"is-error": failed, "fails": failed,
		"connect": map[string]any{"server": "tenonserver", "support": "required"},
		"cancel":  map[string]any{"cancelled": "cancelled", "later": "cancelled", "again": -32602.0},
		"list":    5.0,
	}
	ext1 := map[string]any{"connect": map[string]any{"server": "tenonserver"}, "is-error": failed, "fails": failure("broken")}
	ext2 := map[string]any{
		"connect":  map[string]any{"server": "tenonserver"},
		"is-error": map[string]any{"isError": true, "says": true},
		"fails":    failure("broken"),
	}
	for _, tc := range []struct {
		client peer
		http   bool
		own    map[string]any
	}{
		{peer{name: "ts1-tasks.mjs"}, false, ts1},
		{peer{name: "ts1-tasks.mjs"}, true, ts1},
		{in(r2025c, peer{name: "ext-tasks.mjs"}), false, ext1},
		{in(r2025c, peer{name: "ext-tasks.mjs"}), true, ext1},
		{in(newest, peer{name: "ext-tasks.mjs"}), true, ext2},
	} {
		name := tc.client.String() + " over stdio"
		if tc.http {
			name = tc.client.String() + " over HTTP"
		}
		t.Run(name, func(t *testing.T) {
			parallel(t)
			server := peer{"tenonserver", []string{"-tasks"}}
			var got map[string]stepLine
			var stderr string
			if tc.http {
				running := start(t, with(server, "-http", "127.0.0.1:0").command(t)...)
				got, stderr = runClient(t, tc.client.to(t, running.url), nil)
				if !running.says("task-works: cancelled") {
					t.Error("the task that was cancelled still works")
				}
			} else {
				got, stderr = runClient(t, tc.client.command(t), server.command(t))
				if !strings.Contains(stderr, "task-works: cancelled") {
					t.Error("the task that was cancelled still works")
				}
			}
			for _, want := range []map[string]any{usual, tc.own} {
				for step, value := range want {
					l := got[step]
					if why, fails := value.(failure); fails {
						if l.OK || !strings.Contains(l.Error, string(why)) {
							t.Errorf("%s: got %v %q, want an error with %q", step, l.Value, l.Error, why)
						}
					} else if !l.OK || !reflect.DeepEqual(l.Value, value) {
						t.Errorf("%s: got %v %q, want %v", step, l.Value, l.Error, value)
					}
				}
			}
			if t.Failed() {
				t.Logf("stderr:\n%s", stderr)
			}
		})
	}
}

// TestTaskOfEverything calls a tool of the everything server that must be a task
// of 2025-11-25, and that asks. It is not cancelled, and not called over stdio:
// the server then fails, or does not end with its input.
func TestTaskOfEverything(t *testing.T) {
	parallel(t)
	var statuses steps.Collection[string]
	g := meetEverything(t, overHTTP)
	out, err := g.CallTool(g.ctx(), "simulate-research-query", map[string]any{"topic": "go", "ambiguous": true}, &client.CallOptions{
		Progress: func(p mcp.ProgressParams) { statuses.Add(p.Message) },
	})
	if err != nil || out.IsError || !strings.Contains(out.Content.Text(), "Research") {
		t.Fatalf("%v, %v; statuses %q", out, err, statuses.Wait(0))
	}
	if len(statuses.Wait(1)) == 0 {
		t.Error("no status message")
	}
}
