package cluster

import (
	"context"
	"fmt"
	"net/http/httptest"
	"testing"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/ext/tasks"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
	"github.com/tenon-mcp/tenon/transport/streamable"
)

// A task lives at the server that has it. When the replica dies through which it
// was started, its client follows it through another, and its work is done once.
func TestKillWithTask(t *testing.T) {
	s := server.New(mcp.Implementation{Name: "films", Version: "1"}, nil)
	m, err := tasks.NewManager(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	began, release := make(chan string, 10), make(chan struct{})
	server.AddTool(s, "render", "Render a film", func(ctx context.Context, _ *mcp.Call, in struct {
		Name string `json:"name"`
	}) (string, error) {
		began <- in.Name
		select {
		case <-release:
			return "rendered " + in.Name, nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}, m.Tool(tasks.Optional, nil))
	web, err := streamable.NewHandler(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	site := httptest.NewServer(web)
	defer site.Close()
	defer site.CloseClientConnections()
	defer web.Shutdown()
	w := start(t, 3, fmt.Sprintf(`{"films":{"type":"http","url":%q}}`, site.URL))
	o := &client.Options{Middleware: []mcp.Middleware{tasks.Client}}
	ctx, cancel := context.WithTimeout(t.Context(), 2*hangs)
	defer cancel()
	var handles []*tasks.Handle
	for i, r := range w.replicas { // a task through each
		name := fmt.Sprint("film ", i)
		h, err := tasks.Start(ctx, r.direct(t, mcp.Rev20260728, o), "films__render", map[string]any{"name": name}, nil)
		if err != nil {
			t.Fatal(err)
		}
		expect(t, began, name)
		handles = append(handles, h)
	}
	c := w.dial(t, mcp.Rev20260728, o)
	for i, h := range handles[:2] {
		w.replicas[i].kill()
		if handles[i], err = tasks.Resume(ctx, c, h.ID(), "films__render", nil); err != nil {
			t.Fatal(err)
		}
		if got := handles[i].Task().Status; got != tasks.Working {
			t.Errorf("task %d is %s", i, got)
		}
	}
	w.replicas[0].start()
	if err := handles[1].Cancel(ctx); err != nil {
		t.Errorf("cancel: %v", err)
	}
	close(release)
	for i, h := range handles {
		res, err := h.Wait(ctx)
		switch {
		case i == 1 && err == nil:
			t.Error("a cancelled task has a result")
		case i != 1 && err != nil:
			t.Errorf("task %d: %v", i, err)
		case i != 1 && res.Content.Text() != fmt.Sprint("rendered film ", i):
			t.Errorf("task %d: %s", i, res.Content.Text())
		}
	}
	if len(began) > 0 {
		t.Errorf("%s was rendered twice", <-began)
	}
}
