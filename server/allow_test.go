package server_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// guarded offers two of everything; those with "secret" in their name are for
// the boss alone.
func guarded(t *testing.T, size int) *server.Server {
	t.Helper()
	s, _ := newServer(server.Options{PageSize: size, Allow: func(c *mcp.Caller, f server.Feature) bool {
		return !strings.Contains(f.Name, "secret") || c.Principal != nil && c.Principal.ID == "boss"
	}})
	for _, name := range []string{"secret0", "open1", "secret1", "secret2", "open2"} {
		addTools(s, name)
		addPrompt[struct{ A bool }, string](name)(s)
		resource(mcp.Resource{URI: "a:" + name, Name: name}, say(name))(s)
		template(mcp.ResourceTemplate{URITemplate: name + ":{x}", Name: name}, say(name))(s)
	}
	template(mcp.ResourceTemplate{URITemplate: "{+any}", Name: "any"}, say("any"))(s)
	return s
}

func TestAllow(t *testing.T) {
	s := guarded(t, 1000)
	read, complete := mcp.MethodResourcesRead, mcp.MethodComplete
	rows := []struct{ method, params, anybody, boss string }{
		{mcp.MethodToolsCall, `{"name":"secret1"}`, `-32602 unknown tool "secret1"`, `…secret1`},
		{mcp.MethodToolsCall, `{"name":"open1"}`, `…open1`, `…open1`},
		{mcp.MethodPromptsGet, `{"name":"secret1","arguments":{"A":"true"}}`, `-32602 unknown prompt "secret1"`, `…messages`},
		{read, `{"uri":"a:secret1"}`, `…-32602 no resource has the URI`, `…"text":"secret1"`}, // not through {+any} either
		{read, `{"uri":"a:open1"}`, `…"text":"open1"`, `…"text":"open1"`},
		{read, `{"uri":"secret1:x"}`, `…-32602 no resource has the URI`, `…"text":"secret1"`},
		{read, `{"uri":"z:secret"}`, `…-32602 no resource has the URI`, `…"text":"any"`}, // the URI counts, also where a template serves it (L18)
		{read, `{"uri":"z:open"}`, `…"text":"any"`, `…"text":"any"`},
		{complete, `{"ref":{"type":"ref/prompt","name":"secret1"},"argument":{"name":"A","value":""}}`, `-32602 unknown prompt "secret1"`, `…"true"`},
		{complete, `{"ref":{"type":"ref/resource","uri":"secret1:{x}"},"argument":{"name":"x","value":""}}`, `…-32602 unknown resource template`, `…"values":[]`},
		{complete, `{"ref":{"type":"ref/resource","uri":"a:secret1"},"argument":{"name":"x","value":""}}`, `…-32602 unknown resource template`, `…"values":[]`},
	}
	for _, row := range rows {
		expect(t, "anybody "+row.params, ask(t, s, row.method, row.params), row.anybody)
		expect(t, "staff "+row.params, ask(t, s, row.method, row.params, as("staff")), row.anybody)
		expect(t, "boss "+row.params, ask(t, s, row.method, row.params, as("boss")), row.boss)
	}
}

func TestAllowLists(t *testing.T) {
	for _, size := range []int{1, 2, 3, 1000} {
		s := guarded(t, size)
		s.RemoveTemplates("{+any}")
		for _, method := range []string{mcp.MethodToolsList, mcp.MethodPromptsList, mcp.MethodResourcesList, mcp.MethodResourceTemplatesList} {
			for who, want := range map[string]string{"staff": "open1 open2", "boss": "secret0 open1 secret1 secret2 open2"} {
				var got []string
				pages := 0
				for cursor := (*string)(nil); pages == 0 || cursor != nil; pages++ {
					p := turn(t, s, method, cursor, as(who))
					got, cursor = append(got, p.names()), p.NextCursor
				}
				what := fmt.Sprintf("%s of %d for %s", method, size, who)
				expect(t, what, strings.Join(got, " "), want)
				if n := len(strings.Fields(want)); pages != (n+size-1)/size {
					t.Errorf("%s: %d pages", what, pages)
				}
			}
		}
	}
}

// An Allow that panics, or that uses the server, costs one call at most.
func TestAllowMisbehaves(t *testing.T) {
	var s *server.Server
	s, log := newServer(server.Options{Allow: func(c *mcp.Caller, f server.Feature) bool {
		if c.Principal == nil {
			panic("nobody")
		}
		s.RemoveTools("other")
		addTools(s, "other")
		return true
	}})
	addTools(s, "t")
	resource(mcp.Resource{URI: "a:b", Name: "r"}, say(""))(s)
	for range 2 {
		expect(t, "panic", ask(t, s, mcp.MethodToolsList, ""), `-32603 internal error while serving tools/list`)
		_, err := detached(s, listenTo(`{"resourceSubscriptions":["a:b"]}`, nil))
		expect(t, "panic", fmt.Sprint(err), `…internal error while serving subscriptions/listen`)
		expect(t, "use", callTool(t, s, "t", "", as("x")), `…"text":"t"`)
		expect(t, "use", ask(t, s, mcp.MethodToolsList, "", as("x")), `…"name":"t"`)
	}
	if !strings.Contains(log.String(), "nobody") {
		t.Errorf("the operator reads %s", log)
	}
}

// Whoever may not see a feature does not hear of it either, not even that
// there is one more in the list.
func TestAllowNews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := guarded(t, 1000)
		boxes := map[string]*mailbox{"boss": {}, "staff": {}}
		for who, box := range boxes {
			c := listenTo(`{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":["a:secret9","a:open9"]}`, box.put)
			as(who)(c)
			stop, err := detached(s, c)
			if err != nil {
				t.Fatal(err)
			}
			defer stop()
			box.take()
		}
		hear := func(what, staff, boss string, do func()) {
			t.Helper()
			do()
			time.Sleep(time.Second)
			expect(t, what+", staff", boxes["staff"].take(), staff)
			expect(t, what+", boss", boxes["boss"].take(), boss)
		}
		hear("a tool came", "", toolNews, func() { addTools(s, "secret9") })
		hear("a tool went", "", toolNews, func() { s.RemoveTools("secret9") })
		hear("a prompt came", "", promptNew, func() { addPrompt[nothing, string]("secret9")(s) })
		hear("a resource came", "", resNews, func() { resource(mcp.Resource{URI: "a:secret9", Name: "r"}, say(""))(s) })
		hear("a resource changed", "", `resources/updated {"uri":"a:secret9"}`, func() { s.ResourceUpdated("a:secret9") })
		hear("an open one changed", `resources/updated {"uri":"a:open9"}`, `resources/updated {"uri":"a:open9"}`, func() { s.ResourceUpdated("a:open9") })
		hear("both came", toolNews, toolNews, func() { addTools(s, "secret8", "open8") })
	})
}
