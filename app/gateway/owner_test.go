package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/ext/tasks"
	"github.com/tenon-mcp/tenon/mcp"
)

// TestOwnersKeepTasksApart lets only the principal that created a task use it: to
// others it does not exist.
func TestOwnersKeepTasksApart(t *testing.T) {
	created := 0
	var seen string // the parameters of the last call
	next := mcp.HandlerFunc(func(_ context.Context, c *mcp.Call) (mcp.Result, error) {
		seen = string(c.Params)
		switch c.Method {
		case mcp.MethodToolsCall:
			created++
			return mcp.Result{Type: tasks.ResultType, Body: json.RawMessage(fmt.Sprintf(`{"taskId":"t%d"}`, created))}, nil
		case "tenon/tasks/list":
			return mcp.Result{Body: json.RawMessage(`{"tasks":[{"taskId":"t1"},{"taskId":"t2"},{"taskId":"t9"}]}`)}, nil
		}
		return mcp.Result{}, nil
	})
	h := mcp.Chain(next, Owners())
	one, two := user("one"), user("two")
	as(one, h, mcp.MethodToolsCall, `{"name":"x"}`)
	as(two, h, mcp.MethodToolsCall, `{"name":"x"}`)
	for _, c := range []struct {
		who  *mcp.Principal
		id   string
		want bool
	}{{one, "t1", true}, {one, "t2", false}, {one, "t9", false}, {two, "t1", false}, {two, "t2", true}, {nil, "t1", true}, {&mcp.Principal{ID: "one", Issuer: "another"}, "t1", false}} {
		for _, method := range []string{tasks.MethodGet, tasks.MethodUpdate, tasks.MethodCancel} {
			seen = ""
			_, err := as(c.who, h, method, fmt.Sprintf(`{"taskId":%q}`, c.id))
			if (err == nil) != c.want || (seen != "") != c.want {
				t.Errorf("%s of %s for %v: %v", method, c.id, c.who, err)
			}
			if err != nil && !strings.Contains(err.Error(), fmt.Sprintf("unknown task %q", c.id)) {
				t.Error(err)
			}
		}
	}
	if _, err := as(one, h, tasks.MethodGet, `{"taskId":"t1","TaskId":"t2"}`); err == nil {
		t.Error("an id in another spelling beside the own one is passed on")
	}
	if body, err := as(two, h, "tenon/tasks/list", ""); err != nil || body != `{"tasks":[{"taskId":"t2"}]}` {
		t.Errorf("list: %s %v", body, err)
	}
	as(one, h, mcp.MethodSubscriptionsListen, `{"notifications":{"taskIds":["t1","t2"],"toolsListChanged":true}}`)
	if !strings.Contains(seen, `"taskIds":["t1"]`) || !strings.Contains(seen, `"toolsListChanged":true`) {
		t.Errorf("subscription: %s", seen)
	}
}
