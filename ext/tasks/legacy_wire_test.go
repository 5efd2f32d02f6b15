package tasks_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/ext/tasks"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// A wire is a client that sends messages as they are written in the test.
type wire struct {
	t      *testing.T
	stream jsonrpc.Stream
	id     int
	frames chan frame
	others []frame // requests and notifications of the server, in order

	greeting string // the result of initialize
}

type frame struct {
	ID     json.RawMessage `json:"id,omitzero"`
	Method string          `json:"method,omitzero"`
	Params json.RawMessage `json:"params,omitzero"`
	Result json.RawMessage `json:"result,omitzero"`
	Error  *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error,omitzero"`
}

// dialWire opens a session of one revision.
func dialWire(t *testing.T, h mcp.Handler, rev mcp.Revision, who *mcp.Principal) *wire {
	t.Helper()
	s, err := era.NewServer(h, nil)
	if err != nil {
		t.Fatal(err)
	}
	near, far := jsonrpc.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan struct{})
	go func() { defer close(served); s.ServeStreamFor(ctx, far, who) }()
	w := &wire{t: t, stream: near, frames: make(chan frame, 100)}
	read := make(chan struct{})
	go func() {
		defer close(read)
		for {
			line, err := near.Read()
			if err != nil {
				return
			}
			var f frame
			if mcp.Unmarshal(line, &f) == nil {
				w.frames <- f
			}
		}
	}()
	t.Cleanup(func() { near.Close(); cancel(); <-served; <-read })
	w.greeting = w.ok("initialize", `{"protocolVersion":"`+string(rev)+`","capabilities":{"elicitation":{}},"clientInfo":{"name":"c","version":"1"}}`)
	w.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return w
}

func (w *wire) send(line string) {
	w.t.Helper()
	if err := w.stream.Write([]byte(line + "\n")); err != nil {
		w.t.Fatal(err)
	}
}

// next returns the next message of the server.
func (w *wire) next() frame {
	w.t.Helper()
	select {
	case f := <-w.frames:
		return f
	case <-time.After(time.Minute):
		w.t.Fatal("no message for a minute")
		panic("unreachable")
	}
}

// request sends a request and returns its response. It answers input requests
// on the way, and keeps everything else.
func (w *wire) request(method, params string) frame {
	w.t.Helper()
	w.id++
	w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, w.id, method, params))
	for {
		f := w.next()
		if f.Method == "" && string(f.ID) == fmt.Sprint(w.id) {
			return f
		}
		w.others = append(w.others, f)
		if f.ID != nil && f.Method != "" {
			w.send(`{"jsonrpc":"2.0","id":` + string(f.ID) + `,"result":{"action":"accept","content":{"name":"Ada"}}}`)
		}
	}
}

func (w *wire) ok(method, params string) string {
	w.t.Helper()
	f := w.request(method, params)
	if f.Error != nil {
		w.t.Fatalf("%s %s: error %d %s", method, params, f.Error.Code, f.Error.Message)
	}
	return string(f.Result)
}

func (w *wire) fails(code int, method, params string) {
	w.t.Helper()
	if f := w.request(method, params); f.Error == nil || f.Error.Code != code {
		w.t.Errorf("%s %s: result %s, error %+v; want code %d", method, params, f.Result, f.Error, code)
	}
}

// create calls a tool as a task and returns its id.
func (w *wire) create(tool string) string {
	w.t.Helper()
	res := w.ok("tools/call", `{"name":"`+tool+`","task":{"ttl":60000}}`)
	var out struct {
		Task map[string]any `json:"task"`
	}
	if err := json.Unmarshal([]byte(res), &out); err != nil {
		w.t.Fatal(err)
	}
	if out.Task["status"] != "working" || out.Task["createdAt"] == nil || out.Task["lastUpdatedAt"] == nil || out.Task["ttl"] == nil {
		w.t.Errorf("created %s", res)
	}
	return out.Task["taskId"].(string)
}

func (w *wire) until(id, status string) {
	w.t.Helper()
	for limit := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		got := w.ok("tasks/get", `{"taskId":"`+id+`"}`)
		if strings.Contains(got, `"status":"`+status+`"`) {
			if strings.Contains(got, "related-task") || strings.Contains(got, `"result"`) || strings.Contains(got, "ttlMs") {
				w.t.Errorf("tasks/get: %s", got)
			}
			return
		}
		if time.Now().After(limit) {
			w.t.Fatalf("the task %s does not become %s: %s", id, status, got)
		}
	}
}

// legacyWorld is a server with one tool of each kind.
func legacyWorld(t *testing.T) *server.Server {
	s := server.New(mcp.Implementation{Name: "test", Version: "1"}, nil)
	m, err := tasks.NewManager(s, &tasks.Options{PollInterval: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	b := &bridge{t: t, began: make(chan struct{}), ended: make(chan error, 1)}
	b.addTools(s, m)
	server.AddTool(s, "optional", "may be a task", func(context.Context, *mcp.Call, struct{}) (string, error) { return "done", nil }, m.Tool(tasks.Optional, nil))
	server.AddTool(s, "plain", "is no task", func(context.Context, *mcp.Call, struct{}) (string, error) { return "at once", nil }, nil)
	t.Cleanup(func() { s.Close() })
	return s
}

func TestLegacyRules(t *testing.T) {
	w := dialWire(t, legacyWorld(t), mcp.Rev20251125, nil)

	// Capabilities and lists.
	if !strings.Contains(w.greeting, `"tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}`) || strings.Contains(w.greeting, tasks.ExtensionID) {
		t.Errorf("initialize: %s", w.greeting)
	}
	for tool, want := range map[string]string{"completes": "required", "optional": "optional", "plain": ""} {
		if got := w.supportOf(tool); got != want {
			t.Errorf("taskSupport of %s: %q, want %q", tool, got, want)
		}
	}

	// A required tool without task, an optional one without, and a task of a
	// tool that is none.
	w.fails(mcp.CodeMethodNotFound, "tools/call", `{"name":"completes"}`)
	if got := w.ok("tools/call", `{"name":"optional"}`); !strings.Contains(got, "done") {
		t.Errorf("without a task: %s", got)
	}
	id := w.create("plain")
	w.until(id, "completed")
	if got := w.ok("tasks/result", `{"taskId":"`+id+`"}`); !strings.Contains(got, "at once") || !strings.Contains(got, `"io.modelcontextprotocol/related-task":{"taskId":"`+id+`"}`) {
		t.Errorf("tasks/result: %s", got)
	}

	// isError is failed, and the result is that of the call.
	id = w.create("isError")
	w.until(id, "failed")
	if got := w.ok("tasks/result", `{"taskId":"`+id+`"}`); !strings.Contains(got, "out of paper") || !strings.Contains(got, `"isError":true`) {
		t.Errorf("tasks/result: %s", got)
	}
	id = w.create("fails")
	w.until(id, "failed")
	w.fails(-32050, "tasks/result", `{"taskId":"`+id+`"}`)

	// Cancelling.
	id = w.create("works")
	if got := w.ok("tasks/cancel", `{"taskId":"`+id+`"}`); !strings.Contains(got, `"status":"cancelled"`) {
		t.Errorf("tasks/cancel: %s", got)
	}
	w.until(id, "cancelled")
	w.fails(mcp.CodeInvalidParams, "tasks/cancel", `{"taskId":"`+id+`"}`)
	w.fails(mcp.CodeInternal, "tasks/result", `{"taskId":"`+id+`"}`)

	// Unknown, missing and malformed.
	for _, method := range []string{"tasks/get", "tasks/result", "tasks/cancel"} {
		w.fails(mcp.CodeInvalidParams, method, `{"taskId":"unknown"}`)
		w.fails(mcp.CodeInvalidParams, method, `{}`)
		w.fails(mcp.CodeInvalidParams, method, `{"taskId":7}`)
	}
	w.fails(mcp.CodeInvalidParams, "tasks/list", `{"cursor":"unknown"}`)
	w.fails(mcp.CodeInvalidParams, "tools/call", `{"name":"plain","task":7}`)
	w.fails(mcp.CodeMethodNotFound, "tasks/update", `{"taskId":"`+id+`","inputResponses":{}}`)
	if got := w.ok("tasks/list", `{}`); strings.Count(got, `"taskId"`) != 4 {
		t.Errorf("tasks/list: %s", got)
	}
}

func (w *wire) supportOf(tool string) string {
	w.t.Helper()
	var page struct {
		Tools []struct {
			Name      string            `json:"name"`
			Execution mcp.ToolExecution `json:"execution"`
		} `json:"tools"`
	}
	if err := json.Unmarshal([]byte(w.ok("tools/list", `{}`)), &page); err != nil {
		w.t.Fatal(err)
	}
	for _, t := range page.Tools {
		if t.Name == tool {
			return t.Execution.TaskSupport
		}
	}
	w.t.Fatalf("no tool %q", tool)
	return ""
}

// TestLegacyResultAsks shows that input requests arrive while tasks/result is
// open, and that status notifications follow the task.
func TestLegacyResultAsks(t *testing.T) {
	w := dialWire(t, legacyWorld(t), mcp.Rev20251125, nil)
	id := w.create("asksTwice")
	if got := w.ok("tasks/result", `{"taskId":"`+id+`"}`); !strings.Contains(got, "Ada and Ada") {
		t.Errorf("tasks/result: %s", got)
	}
	w.until(id, "completed")
	asked := 0
	statuses := map[string]bool{}
	for limit := time.Now().Add(time.Minute); !statuses["completed"] && time.Now().Before(limit); {
		for _, f := range w.others {
			switch f.Method {
			case "elicitation/create":
				asked++
				if !strings.Contains(string(f.Params), `"io.modelcontextprotocol/related-task":{"taskId":"`+id+`"}`) {
					t.Errorf("asked without the task: %s", f.Params)
				}
			case "notifications/tasks/status":
				var in struct {
					Status string `json:"status"`
				}
				_ = json.Unmarshal(f.Params, &in)
				statuses[in.Status] = true
				if strings.Contains(string(f.Params), "related-task") || strings.Contains(string(f.Params), "Ada") {
					t.Errorf("status notification %s", f.Params)
				}
			}
		}
		w.others = nil
		if !statuses["completed"] {
			w.others = append(w.others, w.next())
		}
	}
	if asked != 2 || !statuses["completed"] {
		t.Errorf("asked %d times, statuses %v", asked, statuses)
	}
}

// TestLegacyClientThatOnlyPolls is never called for the result while the task
// requires input: the client is asked all the same.
func TestLegacyClientThatOnlyPolls(t *testing.T) {
	w := dialWire(t, legacyWorld(t), mcp.Rev20251125, nil)
	id := w.create("asks")
	w.until(id, "completed")
	n := 0
	for _, f := range w.others {
		if f.Method == "elicitation/create" {
			n++
		}
	}
	if n != 1 {
		t.Errorf("asked %d times", n)
	}
}

// TestEarlierRevisionsWait calls a tool that is always a task as a client whose
// revision has no tasks.
func TestEarlierRevisionsWait(t *testing.T) {
	for _, rev := range []mcp.Revision{mcp.Rev20250618, mcp.Rev20250326, mcp.Rev20241105} {
		t.Run(string(rev), func(t *testing.T) {
			w := dialWire(t, legacyWorld(t), rev, nil)
			if strings.Contains(w.greeting, "tasks") {
				t.Errorf("initialize: %s", w.greeting)
			}
			if got := w.ok("tools/list", `{}`); strings.Contains(got, "execution") {
				t.Errorf("tools/list: %s", got)
			}
			for _, params := range []string{`{"name":"completes"}`, `{"name":"completes","task":{"ttl":1}}`} {
				if got := w.ok("tools/call", params); !strings.Contains(got, "done") {
					t.Errorf("%s: %s", params, got)
				}
			}
			if rev == mcp.Rev20250618 { // the others cannot ask
				if got := w.ok("tools/call", `{"name":"asks"}`); !strings.Contains(got, "Ada") {
					t.Errorf("asks: %s", got)
				}
			}
			w.fails(mcp.CodeMethodNotFound, "tasks/get", `{"taskId":"x"}`)
		})
	}
}

// TestLegacyTasksOfOthers shows that tasks belong to their principal.
func TestLegacyTasksOfOthers(t *testing.T) {
	s := legacyWorld(t)
	ada := dialWire(t, s, mcp.Rev20251125, &mcp.Principal{ID: "ada"})
	again := dialWire(t, s, mcp.Rev20251125, &mcp.Principal{ID: "ada"})
	eve := dialWire(t, s, mcp.Rev20251125, &mcp.Principal{ID: "eve"})
	id := ada.create("works")
	own := ada.create("plain")
	for _, method := range []string{"tasks/get", "tasks/result", "tasks/cancel"} {
		eve.fails(mcp.CodeInvalidParams, method, `{"taskId":"`+id+`"}`)
		eve.fails(mcp.CodeInvalidParams, method, `{"taskId":"`+own+`"}`)
	}
	if got := eve.ok("tasks/list", `{}`); strings.Contains(got, "taskId") {
		t.Errorf("eve's list: %s", got)
	}
	if got := ada.ok("tasks/list", `{}`); !strings.Contains(got, id) || !strings.Contains(got, own) {
		t.Errorf("ada's list: %s", got)
	}
	if got := again.ok("tasks/list", `{}`); !strings.Contains(got, id) {
		t.Errorf("ada's list in another session: %s", got)
	}
	again.until(id, "working")
}

// TestLegacyServerHidesItsForm uses a server of 2025-11-25 as one with the
// extension: what only the older form has does not reach it.
func TestLegacyServerHidesItsForm(t *testing.T) {
	b := &bridge{t: t, h: overPipe(t, legacyWorld(t), mcp.Rev20251125, only(mcp.Rev20251125))}
	b.caller = mcp.Caller{Capabilities: &mcp.ClientCapabilities{}}
	for _, method := range []string{"tasks/result", "tasks/list"} {
		_, err := b.serve(method, map[string]string{"taskId": "x"})
		if e, ok := errors.AsType[*mcp.Error](err); !ok || e.Code != mcp.CodeMethodNotFound {
			t.Errorf("%s: %v", method, err)
		}
	}
	res, err := b.serve(mcp.MethodToolsCall, map[string]any{"name": "plain", "task": map[string]int{"ttl": 1}})
	if err != nil || res.Type != "" || !strings.Contains(string(res.Body), "at once") {
		t.Errorf("the task parameter was not ignored: %s, %v", res.Body, err)
	}
}

// TestQuestionsStayWithTheirTask has two tasks of an older server ask, each
// twice, over one connection.
func TestQuestionsStayWithTheirTask(t *testing.T) {
	s := server.New(mcp.Implementation{Name: "test", Version: "1"}, nil)
	t.Cleanup(func() { s.Close() })
	m, err := tasks.NewManager(s, &tasks.Options{PollInterval: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	turn := map[string]chan struct{}{"A": make(chan struct{}), "B": make(chan struct{})}
	for tool, wait := range turn {
		server.AddTool(s, tool, tool, func(ctx context.Context, c *mcp.Call, _ struct{}) (string, error) {
			if _, err := server.Elicit[name](c, "1", tool+"1?"); err != nil {
				return "", err
			}
			select {
			case <-wait:
			case <-ctx.Done():
			}
			a, err := server.Elicit[name](c, "2", tool+"2?")
			return a.Name, err
		}, m.Tool(tasks.Required, nil))
	}
	h := overPipe(t, s, mcp.Rev20251125, only(mcp.Rev20251125))
	both := map[string]*bridge{}
	for tool := range turn {
		b := &bridge{t: t, h: h, caller: mcp.Caller{Capabilities: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapability{}, Extensions: map[string]json.RawMessage{tasks.ExtensionID: json.RawMessage("{}")}}}}
		b.start(tool)
		both[tool] = b
	}
	for _, b := range both {
		b.answer(b.until(tasks.InputRequired), "x", map[string]bool{})
	}
	for _, b := range both {
		b.until(tasks.Working)
	}
	for _, tool := range []string{"A", "B"} {
		close(turn[tool])
		now := both[tool].until(tasks.InputRequired)
		for _, q := range now.InputRequests {
			if !strings.Contains(string(q.Params), tool+"2?") {
				t.Errorf("%s asks %s", tool, q.Params)
			}
		}
		both[tool].answer(now, tool, map[string]bool{})
		if out, _ := text(t, both[tool].until(tasks.Completed)); out != tool {
			t.Errorf("%s returned %q", tool, out)
		}
	}
}

// withMetadata is a server whose task has a result with metadata.
type withMetadata struct{}

func (withMetadata) Serve(_ context.Context, c *mcp.Call) (mcp.Result, error) {
	const task = `{"taskId":"t","status":"completed","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttlMs":null`
	switch c.Method {
	case mcp.MethodDiscover:
		return mcp.Result{Body: json.RawMessage(`{"capabilities":{"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}}`)}, nil
	case mcp.MethodToolsCall:
		return mcp.Result{Type: tasks.ResultType, Body: json.RawMessage(task + `}`)}, nil
	case tasks.MethodGet:
		return mcp.Result{Body: json.RawMessage(task + `,"result":{"content":[],"_meta":{"com.example/k":1}}}`)}, nil
	}
	return mcp.Result{}, mcp.MethodNotFound(c.Method)
}

func TestMetadataOfAResultIsKept(t *testing.T) {
	w := dialWire(t, withMetadata{}, mcp.Rev20251125, nil)
	created := w.ok("tools/call", `{"name":"x","task":{}}`)
	if !strings.Contains(created, `"status":"working"`) {
		t.Errorf("a task begins as %s", created)
	}
	got := w.ok("tasks/result", `{"taskId":"t"}`)
	if strings.Count(got, `"_meta"`) != 1 || !strings.Contains(got, `"com.example/k":1`) || !strings.Contains(got, "related-task") {
		t.Errorf("tasks/result: %s", got)
	}
	res, err := tasks.Client(withMetadata{}).Serve(t.Context(), &mcp.Call{Method: mcp.MethodToolsCall, Params: json.RawMessage(`{"name":"x"}`)})
	if err != nil || string(res.Meta["com.example/k"]) != "1" || strings.Contains(string(res.Body), "_meta") {
		t.Errorf("body %s, meta %v, error %v", res.Body, res.Meta, err)
	}
}

// TestTwoInitializeRequests is for the race detector.
func TestTwoInitializeRequests(t *testing.T) {
	for range 50 {
		s, err := era.NewServer(withMetadata{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		near, far := jsonrpc.Pipe()
		served := make(chan struct{})
		go func() { defer close(served); s.ServeStream(context.Background(), far) }()
		for id := range 2 {
			near.Write(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`+"\n", id))
		}
		near.Read()
		near.Read()
		near.Close()
		<-served
	}
}

// TestToolThatMustBeATaskWithoutSayingSo is about a modern server, which cannot
// say in its list that a tool must be a task: older clients may call it without.
func TestToolThatMustBeATaskWithoutSayingSo(t *testing.T) {
	s := legacyWorld(t)
	silent := mcp.HandlerFunc(func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
		res, err := s.Serve(ctx, c)
		res.Body = json.RawMessage(strings.ReplaceAll(string(res.Body), `"execution"`, `"unknown"`))
		return res, err
	})
	w := dialWire(t, silent, mcp.Rev20251125, nil)
	if got := w.supportOf("completes"); got != "optional" {
		t.Errorf("taskSupport %q", got)
	}
	if got := w.ok("tools/call", `{"name":"completes"}`); !strings.Contains(got, "done") {
		t.Errorf("without a task: %s", got)
	}
}

// TestModernListsHaveNoExecution: only 2025-11-25 has that member of a tool.
func TestModernListsHaveNoExecution(t *testing.T) {
	h := overPipe(t, legacyWorld(t), mcp.Rev20260728, only(mcp.Rev20260728))
	res, err := h.Serve(t.Context(), &mcp.Call{Method: mcp.MethodToolsList, Params: json.RawMessage("{}")})
	if err != nil || strings.Contains(string(res.Body), "execution") || !strings.Contains(string(res.Body), `"completes"`) {
		t.Errorf("%s, %v", res.Body, err)
	}
}
