package api

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/ext/tasks"
	"github.com/tenon-mcp/tenon/mcp"
)

const taskFile = `
tools:
  report:
    description: d
    params: {topic: string}
    confirm: {message: "Start?"}
    request: {method: POST, path: /reports, body: {topic: "{{ .topic }}"}}
    task: {every: 10ms, done: '.status == "done"', failed: '.status == "failed"', message: "{{ .why }}", progress: {done: .percent, total: "100", message: .status}, result: "{{ .result }}"}
    output: {jq: .text}
`

// Work that answers 202 runs as a task where the client has tasks, and is waited
// for otherwise. It is started once.
func TestLongWorkIsATask(t *testing.T) {
	var polls, starts atomic.Int32
	w := newWorld(t, taskFile, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodPost:
			starts.Add(1)
			w.Header().Set("Location", "/reports/1")
			reply(w, 202, `{}`)
		case r.URL.Path == "/reports/1":
			switch n := polls.Add(1); {
			case n%4 == 0:
				reply(w, 200, `{"status":"done","result":"/result"}`)
			default:
				reply(w, 200, fmt.Sprintf(`{"status":"working","percent":%d}`, n*10))
			}
		default:
			reply(w, 200, `{"text":"the report"}`)
		}
	})
	expect(t, "waited", w.says("report", `{"topic":"tea"}`), "the report")
	if starts.Load() != 1 {
		t.Errorf("started %d times", starts.Load())
	}
	c := client.New(w.serve, &client.Options{Middleware: []mcp.Middleware{tasks.Client}, Elicit: accept})
	h, err := tasks.Start(t.Context(), c, "report", map[string]any{"topic": "tea"}, nil)
	if err != nil || h.ID() == "" {
		t.Fatalf("no task: %v", err)
	}
	r, err := h.Wait(t.Context())
	if err != nil || said(r) != "the report" {
		t.Errorf("%v %v", r, err)
	}
	if starts.Load() != 2 {
		t.Errorf("started %d times", starts.Load())
	}
}

func TestFailedWork(t *testing.T) {
	w := newWorld(t, taskFile, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			w.Header().Set("Location", "/reports/1")
			reply(w, 202, `{}`)
			return
		}
		reply(w, 200, `{"status":"failed","why":"no data"}`)
	})
	expect(t, "failed", w.says("report", `{}`), "ERROR Test: the work has failed: no data")
}

func TestResultsElsewhereAreRefused(t *testing.T) {
	w := newWorld(t, taskFile, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", "http://127.0.0.1:1/steal")
		reply(w, 202, `{}`)
	})
	expect(t, "elsewhere", w.says("report", `{}`), "…failed: Test: the address of the result is refused")
}
