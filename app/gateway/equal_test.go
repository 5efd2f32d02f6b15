package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/tenon-mcp/tenon/ext/skills"
	"github.com/tenon-mcp/tenon/ext/tasks"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/mcp"
)

// TestFiveServersWithEqualNames has five servers whose tools, prompts, URIs,
// templates, skills, views and tasks have the same names. Each name that a client
// sees leads to its server, with the server's own name.
func TestFiveServersWithEqualNames(t *testing.T) {
	long := strings.Repeat("a_very_long_name_", 4)
	names := []string{"a", "b2", "My Server", "c_d", "x-e"}
	servers := map[string]*fake{}
	for _, name := range names {
		f := full(name)
		f.tools = toolsOf(tool("one") + "," + tool(long))
		other := f.other
		f.other = func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
			switch c.Method {
			case mcp.MethodToolsCall:
				return mcp.Result{Type: tasks.ResultType, Body: json.RawMessage(`{"taskId":"t","status":"working"}`), Meta: mcp.Meta{"who": []byte(`"` + name + `"`)}}, nil
			case tasks.MethodGet:
				return mcp.Result{Body: json.RawMessage(`{"taskId":"t","status":"completed","result":{"content":[{"type":"resource_link","uri":"test://one","name":"x"}]}}`)}, nil
			}
			res, err := other(ctx, c)
			if err == nil && c.Method != mcp.MethodPromptsList && !strings.HasSuffix(c.Method, "/list") {
				res.Meta = mcp.Meta{"who": []byte(`"` + name + `"`)}
			}
			return res, err
		}
		f.listen = aboutTasks(0)
		servers[name] = f
	}
	routed(t, servers, func(t *testing.T, r *Router) {
		all := listed(t.Context(), t, r)
		if slices.Sort(all); len(all) != 5*(2+2+3+2+2) {
			t.Errorf("%d names: %q", len(all), all)
		}
		if unique := slices.Compact(slices.Clone(all)); len(unique) != len(all)-5 { // a tool and a prompt may have the same name
			t.Errorf("%d different names of %d: %q", len(unique), len(all), all)
		}
		for _, u := range r.table.Load().upstreams {
			checkOwnNames(t, r, u, long)
		}
	})
}

// checkOwnNames uses each name of one server.
func checkOwnNames(t *testing.T, r *Router, u *upstream, long string) {
	t.Helper()
	for _, c := range []struct{ method, params, kind, own string }{
		{mcp.MethodToolsCall, `{"name":%q}`, "tool", "one"},
		{mcp.MethodToolsCall, `{"name":%q}`, "tool", long},
		{mcp.MethodPromptsGet, `{"name":%q}`, "prompt", "one"},
		{mcp.MethodComplete, `{"ref":{"type":"ref/prompt","name":%q}}`, "prompt", "one"},
		{mcp.MethodComplete, `{"ref":{"type":"ref/resource","uri":%q}}`, "template", "test://one/{x}"},
		{mcp.MethodResourcesRead, `{"uri":%q}`, "uri", "test://one"},
		{mcp.MethodResourcesRead, `{"uri":%q}`, "uri", "ui://view"},
		{skills.MethodGet, `{"uri":%q}`, "uri", "skill://one/SKILL.md"},
		{tasks.MethodCancel, `{"taskId":%q}`, "task", "t"},
	} {
		name := u.outward(c.kind, c.own)
		res, err := r.Serve(t.Context(), &mcp.Call{Method: c.method, Params: json.RawMessage(fmt.Sprintf(c.params, name))})
		if err != nil || string(res.Meta["who"]) != `"`+u.name+`"` {
			t.Errorf("%s %s went to %s, %v; want %s", c.method, name, res.Meta["who"], err, u.name)
		}
		want := `{"got":` + fmt.Sprintf(c.params, c.own) + `}`
		if c.method == mcp.MethodToolsCall {
			want = `{"taskId":"` + u.key + `__t","status":"working"}`
		}
		if string(res.Body) != want {
			t.Errorf("%s %s: %s; want %s", c.method, name, res.Body, want)
		}
	}
	done, err := call(t.Context(), r, tasks.MethodGet, `{"taskId":"`+u.key+`__t"}`)
	if want := `{"taskId":"` + u.key + `__t","status":"completed","result":{"content":[{"type":"resource_link","uri":"` + u.key + `+test://one","name":"x"}]}}`; err != nil || done != want {
		t.Errorf("task: %s, %v; want %s", done, err, want)
	}
	ctx, cancel := context.WithCancel(t.Context())
	got, ended := listening(ctx, r, `{"taskIds":["`+u.key+`__t"]}`)
	synctest.Wait()
	if len(*got) != 2 || !strings.Contains((*got)[1], `"taskId":"`+u.key+`__t"`) {
		t.Errorf("notifications %q", *got)
	}
	cancel()
	<-ended
}

// TestUnchangedListsAreNotMergedAgain guards the cost of lists, also of sets: the
// same bytes each time, and no allocation for each server or tool.
func TestUnchangedListsAreNotMergedAgain(t *testing.T) {
	servers := map[string]*fake{}
	for i := range 5 {
		var tools []string
		for j := range 200 {
			tools = append(tools, tool(fmt.Sprint("tool", j)))
		}
		servers[fmt.Sprint("s", i)] = &fake{tools: toolsOf(strings.Join(tools, ",")), listen: func(ctx context.Context, c *mcp.Call) (mcp.Result, error) { ack(c); return block(ctx, c) }}
	}
	routed(t, servers, func(t *testing.T, r *Router) {
		for name, h := range map[string]mcp.Handler{"all": r, "set": mcp.Chain(r, Within(Set{Servers: []string{"s1", "s3"}, Tools: []string{"s2__tool1*"}}))} {
			c := &mcp.Call{Method: mcp.MethodToolsList}
			first, err := h.Serve(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			again, err := h.Serve(t.Context(), c)
			if err != nil || !rawjson.Same(first.Body, again.Body) {
				t.Errorf("%s: the list was made again; %v", name, err)
			}
			if n := testing.AllocsPerRun(20, func() { _, _ = h.Serve(t.Context(), c) }); n > 3 {
				t.Errorf("%s: a list takes %v allocations", name, n)
			}
		}
	})
}
