package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/tenon-mcp/tenon/ext/skills"
	"github.com/tenon-mcp/tenon/ext/tasks"
	"github.com/tenon-mcp/tenon/mcp"
)

// full returns a server with one of everything.
func full(name string) *fake {
	f := &fake{
		declares:     `{"tools":{},"prompts":{},"resources":{"subscribe":true},"extensions":{"` + skills.ExtensionID + `":{},"` + tasks.ExtensionID + `":{}}}`,
		instructions: "I am " + name + ".",
		tools:        toolsOf(`{"name":"one","execution":{}},{"name":"two"}`),
		listen:       func(ctx context.Context, c *mcp.Call) (mcp.Result, error) { ack(c); return block(ctx, c) },
	}
	lists := map[string]string{
		mcp.MethodPromptsList:           `{"prompts":[{"name":"one"},{"name":"two"}]}`,
		mcp.MethodResourcesList:         `{"resources":[{"uri":"test://one","name":"x"},{"uri":"test://two","name":"x"},{"uri":"ui://view","name":"x"}]}`,
		mcp.MethodResourceTemplatesList: `{"resourceTemplates":[{"uriTemplate":"test://one/{x}","name":"x"},{"uriTemplate":"test://two/{x}","name":"x"}]}`,
		skills.MethodList:               `{"skills":[{"uri":"skill://one/SKILL.md"},{"uri":"skill://two/SKILL.md"}]}`,
	}
	f.other = func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
		if list := lists[c.Method]; list != "" {
			return mcp.Result{Body: json.RawMessage(list)}, nil
		}
		return echo(ctx, c)
	}
	return f
}

// uses returns which of many calls a Handler does not refuse.
func uses(ctx context.Context, h mcp.Handler, servers ...string) (all []string) {
	for _, s := range servers {
		for _, c := range []struct{ method, params string }{
			{mcp.MethodToolsCall, `{"name":"%s__one"}`}, {mcp.MethodToolsCall, `{"name":"%s__two"}`},
			{mcp.MethodPromptsGet, `{"name":"%s__one"}`}, {mcp.MethodPromptsGet, `{"name":"%s__two"}`},
			{mcp.MethodComplete, `{"ref":{"name":"%s__one"}}`}, {mcp.MethodComplete, `{"ref":{"uri":"%s+test://one/{x}"}}`},
			{mcp.MethodResourcesRead, `{"uri":"%s+test://one"}`}, {mcp.MethodResourcesRead, `{"uri":"%s+test://two"}`},
			{mcp.MethodResourcesRead, `{"uri":"ui://%s/view"}`}, {mcp.MethodResourcesRead, `{"uri":"skill://%s/one/SKILL.md"}`},
			{skills.MethodGet, `{"uri":"skill://%s/one/SKILL.md"}`}, {tasks.MethodGet, `{"taskId":"%s__t"}`},
		} {
			params := fmt.Sprintf(c.params, s)
			if _, err := h.Serve(ctx, &mcp.Call{Method: c.method, Params: json.RawMessage(params)}); err == nil {
				all = append(all, c.method+params[strings.LastIndex(params, ":\""):])
			}
		}
	}
	return all
}

// listed returns the names of all lists.
func listed(ctx context.Context, t *testing.T, h mcp.Handler) (all []string) {
	t.Helper()
	for _, method := range []string{mcp.MethodToolsList, mcp.MethodPromptsList, mcp.MethodResourcesList, mcp.MethodResourceTemplatesList, skills.MethodList} {
		res, err := h.Serve(ctx, &mcp.Call{Method: method})
		if err != nil {
			t.Errorf("%s: %v", method, err)
			continue
		}
		var lists map[string][]map[string]any
		if err := json.Unmarshal(res.Body, &lists); err != nil {
			t.Fatal(err)
		}
		for _, items := range lists {
			for _, item := range items {
				for _, member := range []string{"uriTemplate", "uri", "name"} {
					if name, ok := item[member].(string); ok {
						all = append(all, name)
						break
					}
				}
			}
		}
	}
	return all
}

// TestSetOfServers selects everything of one server, except for a tool.
func TestSetOfServers(t *testing.T) {
	routed(t, map[string]*fake{"a": full("a"), "b": full("b")}, func(t *testing.T, r *Router) {
		h := mcp.Chain(r, Within(Set{Servers: []string{"b"}, Except: []string{"*__two"}}))
		want := []string{"b__one", "b__one", "b+test://one", "b+test://two", "ui://b/view", "b+test://one/{x}", "b+test://two/{x}", "skill://b/one/SKILL.md", "skill://b/two/SKILL.md"}
		if got := listed(t.Context(), t, h); !slices.Equal(got, want) {
			t.Errorf("lists %q, want %q", got, want)
		}
		if got := uses(t.Context(), h, "a"); got != nil {
			t.Errorf("calls of a server that is not in the set: %q", got)
		}
		if got := uses(t.Context(), h, "b"); len(got) != 10 || slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, "__two") }) {
			t.Errorf("calls of a server in the set: %d %q", len(got), got)
		}
		if all := listed(t.Context(), t, r); len(all) != 22 {
			t.Errorf("the Router itself lists %d: %q", len(all), all)
		}
	})
}

// TestSetOfNames selects single tools, prompts and resources.
func TestSetOfNames(t *testing.T) {
	o := Options{Tools: map[string]Override{"c__two": {Name: "renamed"}}}
	routedWith(t, o, map[string]*fake{"a": full("a"), "b": full("b"), "c": full("c")}, func(t *testing.T, r *Router) {
		h := mcp.Chain(r, Within(Set{Tools: []string{"a__on?", "renamed"}, Prompts: []string{"b__two"}, Resources: []string{"b+test://one*"}}))
		want := []string{"a__one", "renamed", "b__two", "ui://a/view", "b+test://one", "ui://c/view", "b+test://one/{x}"}
		if got := listed(t.Context(), t, h); !slices.Equal(got, want) {
			t.Errorf("lists %q, want %q", got, want)
		}
		want = []string{
			`tools/call:"a__one"}`, `resources/read:"ui://a/view"}`, `tasks/get:"a__t"}`,
			`prompts/get:"b__two"}`, `completion/complete:"b+test://one/{x}"}}`, `resources/read:"b+test://one"}`,
			`resources/read:"ui://c/view"}`, `tasks/get:"c__t"}`,
		}
		if got := uses(t.Context(), h, "a", "b", "c"); !slices.Equal(got, want) {
			t.Errorf("calls %q, want %q", got, want)
		}
		if _, err := h.Serve(t.Context(), &mcp.Call{Method: mcp.MethodToolsCall, Params: json.RawMessage(`{"name":"renamed"}`)}); err != nil {
			t.Error(err)
		}
	})
}

// TestSetHasInstructionsOfItsServers also checks the notifications of clients.
func TestSetHasInstructionsOfItsServers(t *testing.T) {
	var mu sync.Mutex
	heard := map[string]int{} // guarded by mu: servers are notified at the same time
	servers := map[string]*fake{"a": full("a"), "b": full("b"), "c": full("c")}
	for name, f := range servers {
		other := f.other
		f.other = func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
			if c.IsNotification {
				mu.Lock()
				heard[name]++
				mu.Unlock()
			}
			return other(ctx, c)
		}
	}
	routed(t, servers, func(t *testing.T, r *Router) {
		h := mcp.Chain(r, Within(Set{Servers: []string{"b"}, Tools: []string{"c__*"}}))
		res, err := h.Serve(t.Context(), &mcp.Call{Method: mcp.MethodDiscover})
		if body := string(res.Body); err != nil || strings.Contains(body, "I am a") || !strings.Contains(body, "I am b") || !strings.Contains(body, "I am c") {
			t.Errorf("%s, %v", body, err)
		}
		_, _ = h.Serve(t.Context(), &mcp.Call{Method: "notifications/roots/list_changed", IsNotification: true})
		if heard["a"] != 0 || heard["b"] != 1 || heard["c"] != 1 {
			t.Errorf("heard %v", heard)
		}
	})
}

// TestSetNotifiesOfItsServers subscribes to everything.
func TestSetNotifiesOfItsServers(t *testing.T) {
	routed(t, map[string]*fake{"a": full("a"), "b": full("b")}, func(t *testing.T, r *Router) {
		h := mcp.Chain(r, Within(Set{Servers: []string{"b"}}))
		ctx, cancel := context.WithCancel(t.Context())
		got, ended := listening(ctx, h, `{"toolsListChanged":true,"resourceSubscriptions":["a+test://one","b+test://one"],"taskIds":["a__t","b__t"]}`)
		synctest.Wait()
		if len(*got) != 1 || strings.Contains((*got)[0], `"a`) || !strings.Contains((*got)[0], "b+test://one") || !strings.Contains((*got)[0], "b__t") {
			t.Errorf("acknowledged %q", *got)
		}
		r.table.Load().upstreams[0].changed(mcp.SubscriptionFilter{ToolsListChanged: true})
		synctest.Wait()
		if len(*got) != 1 {
			t.Errorf("notified of a server that is not in the set: %q", *got)
		}
		r.table.Load().upstreams[1].changed(mcp.SubscriptionFilter{ToolsListChanged: true})
		synctest.Wait()
		if len(*got) != 2 {
			t.Errorf("not notified of a server in the set: %q", *got)
		}
		cancel()
		<-ended
	})
}

// TestSetListsFollowChanges has a tool appear after the list of a set was read.
func TestSetListsFollowChanges(t *testing.T) {
	a := &fake{tools: toolsOf(tool("x"))}
	routed(t, map[string]*fake{"a": a, "b": full("b")}, func(t *testing.T, r *Router) {
		h := mcp.Chain(r, Within(Set{Tools: []string{"a__*"}}))
		for _, tools := range []string{tool("x"), tool("x") + "," + tool("y"), tool("y")} {
			a.change(func() { a.tools = toolsOf(tools) })
			r.table.Load().upstreams[0].changed(mcp.SubscriptionFilter{ToolsListChanged: true})
			res, err := h.Serve(t.Context(), &mcp.Call{Method: mcp.MethodToolsList})
			if want := `{"tools":[` + strings.ReplaceAll(tools, `"name":"`, `"name":"a__`) + `]}`; err != nil || string(res.Body) != want {
				t.Errorf("%s, %v; want %s", res.Body, err, want)
			}
		}
	})
}
