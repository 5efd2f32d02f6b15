package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/ext/tasks"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/mcp"
)

// A taskServer creates tasks t1, t2, … and does not look who uses them.
type taskServer struct {
	created int
	seen    string // the parameters of the last call
}

func (s *taskServer) Serve(_ context.Context, c *mcp.Call) (mcp.Result, error) {
	s.seen = string(c.Params)
	switch c.Method {
	case mcp.MethodToolsCall:
		s.created++
		return mcp.Result{Type: tasks.ResultType, Body: json.RawMessage(fmt.Sprintf(`{"taskId":"t%d"}`, s.created))}, nil
	case "tenon/tasks/list":
		return mcp.Result{Body: json.RawMessage(`{"tasks":[{"taskId":"t1"},{"taskId":"t2"},{"taskId":"t9"}]}`)}, nil
	case tasks.MethodGet:
		return mcp.Result{Body: c.Params}, nil
	case mcp.MethodSubscriptionsListen:
		ack(c)
		for _, id := range []string{"t1", "t2"} {
			c.Notify(mcp.Notification{Method: tasks.Notification, Params: json.RawMessage(`{"taskId":"` + id + `"}`)})
		}
	}
	return mcp.Result{}, nil
}

// newTask creates a task and returns its id for the client.
func newTask(t *testing.T, who *mcp.Principal, h mcp.Handler) string {
	t.Helper()
	body, err := as(who, h, mcp.MethodToolsCall, `{"name":"x"}`)
	id, ok := rawjson.String(rawjson.Lookup([]byte(body), "taskId"))
	if err != nil || !ok {
		t.Fatal(body, err)
	}
	return id
}

// TestOwnersKeepTasksApart lets only the principal that created a task use it: to
// others it does not exist.
func TestOwnersKeepTasksApart(t *testing.T) {
	s := &taskServer{}
	h := mcp.Chain(s, Owners(nil))
	one, two := user("one"), user("two")
	t1, t2 := newTask(t, one, h), newTask(t, two, h)
	if again := strings.Replace(t2, "t2", "t1", 1); again == t1 || !strings.HasPrefix(t1, "t1~") {
		t.Fatal(t1, t2)
	}
	for _, c := range []struct {
		who  *mcp.Principal
		id   string
		want bool
	}{{one, t1, true}, {one, t2, false}, {one, "t1", false}, {one, "t9", false}, {two, t1, false}, {two, t2, true}, {nil, "t1", true},
		{one, strings.Replace(t1, "t1", "t2", 1), false}, {one, t1 + "x", false}, {one, t1[:len(t1)-1], false}, {&mcp.Principal{ID: "one", Issuer: "another"}, t1, false}} {
		for _, method := range []string{tasks.MethodGet, tasks.MethodUpdate, tasks.MethodCancel} {
			s.seen = ""
			body, err := as(c.who, h, method, fmt.Sprintf(`{"taskId":%q}`, c.id))
			if (err == nil) != c.want || (s.seen != "") != c.want || strings.Contains(s.seen, "~") {
				t.Errorf("%s of %s for %v: %v; the server got %s", method, c.id, c.who, err, s.seen)
			}
			if method == tasks.MethodGet && c.want && body != fmt.Sprintf(`{"taskId":%q}`, c.id) {
				t.Errorf("%s of %s: %s", method, c.id, body)
			}
			if err != nil && !strings.Contains(err.Error(), fmt.Sprintf("unknown task %q", c.id)) {
				t.Error(err)
			}
		}
	}
	if _, err := as(one, h, tasks.MethodGet, fmt.Sprintf(`{"taskId":%q,"TaskId":%q}`, t1, t2)); err == nil {
		t.Error("an id in another spelling beside the own one is passed on")
	}
	if body, err := as(two, h, "tenon/tasks/list", ""); err != nil || body != fmt.Sprintf(`{"tasks":[{"taskId":%q}]}`, t2) {
		t.Errorf("list: %s %v", body, err)
	}
	got, ended := listening(t.Context(), withPrincipal(one, h), fmt.Sprintf(`{"taskIds":[%q,%q,"t2"],"toolsListChanged":true}`, t1, t2))
	<-ended
	if !strings.Contains(s.seen, `"taskIds":["t1"]`) || !strings.Contains(s.seen, `"toolsListChanged":true`) {
		t.Errorf("subscription: %s", s.seen)
	}
	if len(*got) != 3 || !strings.Contains((*got)[0], t1) || !strings.Contains((*got)[1], t1) || strings.Contains((*got)[2], "~") {
		t.Errorf("notifications: %q", *got)
	}
}

// TestOwnersAfterARestart creates a task before one gateway and uses it at another
// one: with the same keys, or with new ones before the old.
func TestOwnersAfterARestart(t *testing.T) {
	keys := func(texts ...string) *OwnerOptions {
		return &OwnerOptions{Keys: func() (all [][]byte, err error) {
			for _, text := range texts {
				all = append(all, []byte(strings.Repeat(text, 32)))
			}
			return all, nil
		}}
	}
	s := &taskServer{}
	one, two := user("one"), user("two")
	id := newTask(t, one, mcp.Chain(s, Owners(keys("a"))))
	for _, c := range []struct {
		o    *OwnerOptions
		want bool
	}{{keys("a"), true}, {keys("b", "a"), true}, {keys("b"), false}, {nil, false}} {
		h := mcp.Chain(s, Owners(c.o))
		if _, err := as(one, h, tasks.MethodGet, fmt.Sprintf(`{"taskId":%q}`, id)); (err == nil) != c.want {
			t.Errorf("%v, want %v", err, c.want)
		}
		if _, err := as(two, h, tasks.MethodGet, fmt.Sprintf(`{"taskId":%q}`, id)); err == nil {
			t.Error("another principal gets the task")
		}
	}
	all := []string{"a"}
	rotated := mcp.Chain(s, Owners(&OwnerOptions{Keys: func() ([][]byte, error) { return keys(all...).Keys() }}))
	id = newTask(t, one, rotated)
	for _, all = range [][]string{{"b", "a"}, {"b"}} {
		if _, err := as(one, rotated, tasks.MethodGet, fmt.Sprintf(`{"taskId":%q}`, id)); (err == nil) != (len(all) == 2) {
			t.Errorf("with the keys %q: %v", all, err)
		}
	}
	var log bytes.Buffer
	h := mcp.Chain(s, Owners(&OwnerOptions{Keys: func() ([][]byte, error) { return nil, errors.New("the disk is full") }, Log: slog.New(slog.NewTextHandler(&log, nil))}))
	id = newTask(t, one, h)
	if _, err := as(one, h, tasks.MethodGet, fmt.Sprintf(`{"taskId":%q}`, id)); err != nil || !strings.Contains(log.String(), "the disk is full") {
		t.Errorf("without a key: %v; log %s", err, log.String())
	}
}
