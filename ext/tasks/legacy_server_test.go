package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
)

// An olderServer is a connection to a server of 2025-11-25 with one task "t",
// whose tasks/result call asks while the status is input_required.
type olderServer struct {
	mu      sync.Mutex
	status  Status
	late    error // of a tasks/result call with an answer
	results int   // tasks/result calls
	lists   int   // tools/list calls
}

func (o *olderServer) set(s Status) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.status = s
}

func (o *olderServer) Serve(_ context.Context, c *mcp.Call) (mcp.Result, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	var in idParams
	if c.Params != nil {
		_ = mcp.Unmarshal(c.Params, &in)
	}
	switch c.Method {
	case mcp.MethodDiscover:
		return mcp.Result{Body: json.RawMessage(`{"capabilities":{"tools":{},"tasks":{"requests":{"tools":{"call":{}}}}}}`)}, nil
	case mcp.MethodToolsList:
		o.lists++
		return mcp.Result{Body: json.RawMessage(`{"tools":[{"name":"work","execution":{"taskSupport":"optional"}}]}`)}, nil
	case mcp.MethodToolsCall:
		return mcp.Result{Body: json.RawMessage(`{"content":[]}`)}, nil
	case MethodGet:
		if in.ID != "t" {
			return mcp.Result{}, mcp.InvalidParams("unknown task")
		}
		return mcp.Result{Body: fmt.Appendf(nil, `{"taskId":"t","status":%q,"createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttl":600000}`, o.status)}, nil
	case legacyResult:
		o.results++
		switch {
		case c.State != "" && o.late != nil:
			return mcp.Result{}, o.late
		case o.status == InputRequired:
			return mcp.Result{}, &mcp.InputRequired{State: "s", Requests: map[string]mcp.InputRequest{"ask": {Method: mcp.MethodElicit, Params: json.RawMessage(`{"message":"q?"}`)}}}
		}
		return mcp.Result{Body: json.RawMessage(`{"content":[]}`), Meta: mcp.Meta{"com.example/k": json.RawMessage("1")}}, nil
	}
	return mcp.Result{}, mcp.MethodNotFound(c.Method)
}

func (o *olderServer) connect(t *testing.T) mcp.Handler {
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	return newLegacyServer(o, &mcp.LegacyConn{Revision: mcp.Rev20251125, Context: ctx})
}

func callerNamed(id string) *mcp.Call {
	c := new(callers).declare(&mcp.Call{})
	c.Caller.Principal = &mcp.Principal{ID: id}
	return c
}

// stateOf calls tasks/get. A minute is a guard against hanging.
func stateOf(t *testing.T, h mcp.Handler, as, id string) (*Task, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	return get(ctx, h, callerNamed(as), id)
}

func respond(t *testing.T, h mcp.Handler, as string, now *Task) error {
	t.Helper()
	responses := map[string]json.RawMessage{}
	for key := range now.InputRequests {
		responses[key] = json.RawMessage(`{"action":"accept","content":{}}`)
	}
	_, err := request(t.Context(), h, callerNamed(as), MethodUpdate, UpdateParams{ID: "t", InputResponses: responses})
	return err
}

func asking(t *testing.T, h mcp.Handler) *Task {
	t.Helper()
	now, err := stateOf(t, h, "ada", "t")
	if err != nil || now.Status != InputRequired || len(now.InputRequests) != 1 {
		t.Fatalf("%+v, %v; want one input request", now, err)
	}
	return now
}

func TestOlderTaskEndsWhileItAsks(t *testing.T) {
	o := &olderServer{status: InputRequired}
	h := o.connect(t)
	asking(t, h)
	o.set(Completed) // its question has timed out, and it went on
	now, err := stateOf(t, h, "ada", "t")
	if err != nil || now.Status != Completed || !strings.Contains(string(now.Result), "com.example/k") {
		t.Errorf("%+v, %v; want the result with its metadata", now, err)
	}
}

func TestLateAnswerDoesNotFailTheTask(t *testing.T) {
	o := &olderServer{status: InputRequired, late: mcp.InvalidParams("no call waits for this response")}
	h := o.connect(t)
	first := asking(t, h)
	if err := respond(t, h, "ada", first); err != nil {
		t.Fatal(err)
	}
	for limit := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		now, err := stateOf(t, h, "ada", "t")
		if err != nil || now.Status.Final() || time.Now().After(limit) {
			t.Fatalf("%+v, %v; want the question again", now, err)
		}
		if now.Status == InputRequired && !slices.Equal(slices.Collect(maps.Keys(now.InputRequests)), slices.Collect(maps.Keys(first.InputRequests))) {
			break // under another key
		}
	}
}

func TestKeysAreNewOnEachConnection(t *testing.T) {
	o := &olderServer{status: InputRequired}
	first, second := asking(t, o.connect(t)), asking(t, o.connect(t))
	for key := range first.InputRequests {
		if _, again := second.InputRequests[key]; again {
			t.Errorf("the key %q is used again", key)
		}
	}
}

func TestOlderTasksOfOthersDoNotExist(t *testing.T) {
	o := &olderServer{status: InputRequired}
	h := o.connect(t)
	now := asking(t, h)
	_, err := stateOf(t, h, "eve", "t")
	_, cancelled := request(t.Context(), h, callerNamed("eve"), MethodCancel, idParams{"t"})
	for what, err := range map[string]error{"get": err, "update": respond(t, h, "eve", now), "cancel": cancelled} {
		if e, ok := errors.AsType[*mcp.Error](err); !ok || e.Code != mcp.CodeInvalidParams {
			t.Errorf("%s as another principal: %v", what, err)
		}
	}
	asking(t, h)
}

func TestUnknownIDsEvictNothing(t *testing.T) {
	o := &olderServer{status: InputRequired}
	h := o.connect(t)
	now := asking(t, h)
	for i := range maxRemoteTasks {
		if _, err := stateOf(t, h, "eve", fmt.Sprint("no", i)); err == nil {
			t.Fatal("an unknown task was found")
		}
	}
	o.set(Working)
	if err := respond(t, h, "ada", now); err != nil {
		t.Error(err)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.results > 2 {
		t.Errorf("%d tasks/result calls", o.results)
	}
}

func TestUnknownToolsAreNotRemembered(t *testing.T) {
	o := &olderServer{}
	h := o.connect(t)
	for i := range 50 {
		c := callerNamed("ada")
		c.Method, c.Params = mcp.MethodToolsCall, fmt.Appendf(nil, `{"name":"no%d"}`, i)
		if _, err := h.Serve(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	l := h.(*legacyServer)
	if l.mu.Lock(); len(l.support) != 1 || o.lists != 1 {
		t.Errorf("%d tools are remembered, the list was read %d times", len(l.support), o.lists)
	}
	l.mu.Unlock()
}
