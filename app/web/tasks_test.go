package web

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/host"
)

// task waits until the only task is as it should be.
func (s *site) task(is func(host.Task) bool) host.Task {
	s.t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		var got struct{ Tasks []host.Task }
		s.get("/api/v1/tasks", &got)
		if len(got.Tasks) == 1 && is(got.Tasks[0]) {
			return got.Tasks[0]
		}
	}
	s.t.Fatal("there is no such task")
	return host.Task{}
}

// A task is listed with its status, goes on in the background, and can be
// cancelled.
func TestTasks(t *testing.T) {
	allow := config.Settings{Rules: []config.Rule{{Effect: config.Allow, Server: "demo", Tool: "*"}}}
	s := newSiteIn(t, t.TempDir(), nil, allow, config.Server{Name: "demo", Kind: config.Builtin, Builtin: "demo"}).enter()
	if err := s.work.Ready(t.Context(), "demo"); err != nil {
		t.Fatal(err)
	}
	one := s.work.Host.NewSession()
	ended := make(chan *host.ToolCall, 1)
	go func() {
		call, err := one.Call(t.Context(), "demo", "slow_report", json.RawMessage(`{"topic":"tea","seconds":600}`))
		if err != nil {
			t.Error(err)
		}
		ended <- call
	}()
	task := s.task(func(t host.Task) bool { return t.Message != "" })
	if task.Status != "working" || task.Server != "demo" || task.Session != one.ID || task.Background || task.Over {
		t.Errorf("%+v", task)
	}
	body := mustJSON(t, taskRef{"demo", task.ID})
	s.post("/api/v1/tasks/background", body, nil)
	if call := <-ended; call.Phase != host.CallRunning || !call.Task.Background {
		t.Errorf("%+v", call)
	}
	var state struct{ Tasks []host.Task }
	if s.get("/api/v1/state", &state); len(state.Tasks) != 1 || !state.Tasks[0].Background {
		t.Errorf("%+v", state)
	}
	s.post("/api/v1/tasks/cancel", body, nil)
	s.task(func(t host.Task) bool { return t.Over && t.Status == "cancelled" })
	for _, path := range []string{"/api/v1/tasks/cancel", "/api/v1/tasks/background"} {
		if r := s.do(request{method: "POST", path: path, body: body}); r.status != http.StatusConflict {
			t.Errorf("%s of a task that has ended: %d %s", path, r.status, r.body)
		}
	}
}
