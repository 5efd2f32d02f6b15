package connect

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/ext/tasks"
)

// The client of every server waits for tasks.
func TestClientWaitsForTasks(t *testing.T) {
	s := start(t, entry(t, "good"), nil)
	if out, err := client.Call[string](t.Context(), s.Client(), "task", map[string]any{"text": "done"}, nil); err != nil || out != "done" {
		t.Errorf("%q %v", out, err)
	}
}

// A server that dies loses the tasks in its memory: the call fails at once, whether
// the server is started again or not.
func TestCrashDuringATask(t *testing.T) {
	for name, once := range map[string]bool{"restarted": false, "given up": true} {
		t.Run(name, func(t *testing.T) {
			s := start(t, entry(t, "good"), func(o *Options) { o.Once = once })
			h, err := tasks.Start(t.Context(), s.Client(), "task", map[string]any{"text": "", "hang": true}, nil)
			if err != nil || h.ID() == "" {
				t.Fatalf("%v %v", h, err)
			}
			p, err := os.FindProcess(s.State().Pid)
			if err == nil {
				err = p.Kill()
			}
			if err != nil {
				t.Fatal(err)
			}
			want := "was lost when the server restarted"
			if once {
				want = "connect to"
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // less than an outage may last
			defer cancel()
			if _, err := h.Wait(ctx); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v", err)
			}
		})
	}
}
