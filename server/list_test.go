package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// A page is what any of the lists comes to.
type page struct {
	Tools, Prompts               []struct{ Name string }
	Resources, ResourceTemplates []struct{ Name string }
	NextCursor                   *string
}

func (p *page) names() string {
	var all []string
	for _, list := range [][]struct{ Name string }{p.Tools, p.Prompts, p.Resources, p.ResourceTemplates} {
		for _, it := range list {
			all = append(all, it.Name)
		}
	}
	return strings.Join(all, " ")
}

// turn asks for a page; a nil cursor is the first.
func turn(t *testing.T, s mcp.Handler, method string, cursor *string, change ...func(*mcp.Call)) page {
	t.Helper()
	params, err := json.Marshal(mcp.PageParams{Cursor: cursor})
	if err != nil {
		t.Fatal(err)
	}
	got := ask(t, s, method, string(params), change...)
	var p page
	if err := json.Unmarshal([]byte(got), &p); err != nil {
		t.Fatalf("%s: %v", got, err)
	}
	return p
}

func addTools(s *server.Server, names ...string) {
	for _, name := range names {
		addText(s, name, func(context.Context, *mcp.Call) (string, error) { return name, nil })
	}
}

func TestPages(t *testing.T) {
	s, _ := newServer(server.Options{PageSize: 2})
	addTools(s, "a", "b", "c", "d")
	one := turn(t, s, mcp.MethodToolsList, nil)
	two := turn(t, s, mcp.MethodToolsList, one.NextCursor)
	expect(t, "first", one.names(), "a b")
	expect(t, "second", two.names(), "c d")
	if two.NextCursor != nil {
		t.Errorf("a page after the last: %q", *two.NextCursor)
	}

	// A cursor stays good whatever happens between two pages.
	for _, row := range []struct {
		name   string
		change func()
		want   string
	}{
		{"nothing", func() {}, "c d"},
		{"one replaced", func() { addTools(s, "b", "c") }, "c d"},
		{"one added", func() { addTools(s, "e") }, "c d"},
		{"the last of the page before removed", func() { s.RemoveTools("b") }, "c d"},
		{"the first of this page removed", func() { s.RemoveTools("c") }, "d e"},
		{"added again, at the end", func() { addTools(s, "b", "c"); s.RemoveTools("d") }, "e b"},
		{"all removed", func() { s.RemoveTools("a", "b", "c", "d", "e") }, ""},
	} {
		row.change()
		expect(t, row.name, func() string { p := turn(t, s, mcp.MethodToolsList, one.NextCursor); return p.names() }(), row.want)
	}
	expect(t, "none left", ask(t, s, mcp.MethodToolsList, ""), `{"tools":[]}`)
}

func TestAllListsHavePages(t *testing.T) {
	s, _ := newServer(server.Options{PageSize: 3})
	for i := range 7 {
		addTools(s, fmt.Sprint("x", i))
		addPrompt[nothing, string](fmt.Sprint("x", i))(s)
		resource(mcp.Resource{URI: fmt.Sprint("a:", i), Name: fmt.Sprint("x", i)}, say(""))(s)
		template(mcp.ResourceTemplate{URITemplate: fmt.Sprintf("b:%d{x}", i), Name: fmt.Sprint("x", i)}, say(""))(s)
	}
	methods := []string{mcp.MethodToolsList, mcp.MethodPromptsList, mcp.MethodResourcesList, mcp.MethodResourceTemplatesList}
	cursors := map[string]string{}
	for _, method := range methods {
		var got []string
		for cursor, n := (*string)(nil), 0; n == 0 || cursor != nil; n++ {
			p := turn(t, s, method, cursor)
			got, cursor = append(got, p.names()), p.NextCursor
			if cursor != nil {
				cursors[method] = *cursor
			}
		}
		expect(t, method, strings.Join(got, "|"), "x0 x1 x2|x3 x4 x5|x6")
	}
	for _, method := range methods {
		bad := []string{`""`, `null`, `1`, `{}`, `"x"`, `"tool"`, `"tool "`, `"tool -1"`, `"tool 0"`, `"tool 01"`, `"tool +1"`, `"tool 1y2p0ij32e8e7"`, `"tool 1y2p0ij32e8e8"`, `"tool 1 "`}
		for other, cursor := range cursors {
			if other != method {
				bad = append(bad, fmt.Sprintf("%q", cursor))
			}
		}
		for i := range 8 * len(cursors[method]) { // L29: every flipped bit
			damaged := []byte(cursors[method])
			damaged[i/8] ^= 1 << (i % 8)
			if raw, err := json.Marshal(string(damaged)); err == nil {
				bad = append(bad, string(raw))
			}
		}
		for _, cursor := range bad {
			expect(t, method+" "+cursor, ask(t, s, method, `{"cursor":`+cursor+`}`), "…-32602 cursor: not a cursor of this list")
		}
	}
}

func TestDefaultPageSize(t *testing.T) {
	s, _ := newServer(server.Options{})
	for i := range 1001 {
		addTools(s, fmt.Sprint("t", i))
	}
	first := turn(t, s, mcp.MethodToolsList, nil)
	if len(first.Tools) != 1000 || first.NextCursor == nil {
		t.Fatalf("%d tools on the first page, cursor %v", len(first.Tools), first.NextCursor)
	}
	last := turn(t, s, mcp.MethodToolsList, first.NextCursor)
	expect(t, "the last page", last.names(), "t1000")
}

// A list is encoded once and served as the same bytes until it changes.
func TestListIsKept(t *testing.T) {
	s, _ := newServer(server.Options{PageSize: 2})
	addTools(s, "a", "b", "c")
	at := func(cursor string) *byte {
		c := &mcp.Call{Method: mcp.MethodToolsList}
		if cursor != "" {
			c.Params = fmt.Appendf(nil, `{"cursor":%q}`, cursor)
		}
		res, err := s.Serve(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		return &res.Body[0]
	}
	second := *turn(t, s, mcp.MethodToolsList, nil).NextCursor
	for _, cursor := range []string{"", second} {
		first := at(cursor)
		if at(cursor) != first {
			t.Errorf("page %q was encoded twice", cursor)
		}
		s.RemoveTools("none")
		if at(cursor) != first {
			t.Errorf("page %q was encoded again though nothing changed", cursor)
		}
		addTools(s, "c")
		if at(cursor) == first {
			t.Errorf("page %q is old", cursor)
		}
	}
	sum := fnv.New32a()
	_, _ = sum.Write([]byte("tool 1"))
	madeUp := fmt.Sprintf("tool 1.%08x", sum.Sum32())
	if first := at(madeUp); at(madeUp) == first {
		t.Error("a page whose cursor was made up is kept")
	}
	call := &mcp.Call{Method: mcp.MethodToolsList}
	if n := testing.AllocsPerRun(100, func() {
		if _, err := s.Serve(context.Background(), call); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("%v allocations for a list that is kept", n)
	}
}

// Only what a server offers is there.
func TestCapabilities(t *testing.T) {
	list := `{"listChanged":true}`
	rows := []struct {
		name string
		o    server.Options
		add  func(*server.Server)
		want string
		gone string // the methods that are not there
	}{
		{"nothing", server.Options{}, nil, `{"capabilities":{"logging":{}}}`, "tools/list tools/call prompts/list prompts/get resources/list resources/templates/list resources/read completion/complete"},
		{"no logging", server.Options{NoLogging: true, Instructions: "Be kind."}, nil, `{"capabilities":{},"instructions":"Be kind."}`, "tools/list"},
		{"tools", server.Options{}, addIn[nothing]("t"), `{"capabilities":{"tools":` + list + `,"logging":{}}}`, "prompts/list prompts/get resources/list resources/templates/list resources/read completion/complete"},
		{"a tool that is gone", server.Options{}, func(s *server.Server) { addTools(s, "t"); s.RemoveTools("t") }, `{"capabilities":{"tools":` + list + `,"logging":{}}}`, "prompts/list"},
		{"prompts", server.Options{}, addPrompt[nothing, string]("p"), `{"capabilities":{"prompts":` + list + `,"completions":{},"logging":{}}}`, "tools/list tools/call resources/list resources/templates/list resources/read"},
		{"resources", server.Options{}, resource(mcp.Resource{URI: "a:b", Name: "r"}, say("")), `{"capabilities":{"resources":{"subscribe":true,"listChanged":true},"logging":{}}}`, "tools/list tools/call prompts/list prompts/get completion/complete"},
		{"templates", server.Options{}, template(mcp.ResourceTemplate{URITemplate: "a:{b}", Name: "r"}, say("")), `{"capabilities":{"resources":{"subscribe":true,"listChanged":true},"completions":{},"logging":{}}}`, "tools/list prompts/list"},
		{"promised", server.Options{NoLogging: true, Capabilities: mcp.ServerCapabilities{Tools: &mcp.ListCapability{}, Extensions: map[string]json.RawMessage{"a/b": []byte(`{}`)}}}, nil, `{"capabilities":{"tools":{},"extensions":{"a/b":{}}}}`, "prompts/list"},
	}
	for _, row := range rows {
		s, _ := newServer(row.o)
		if row.add != nil {
			row.add(s)
		}
		expect(t, row.name, ask(t, s, mcp.MethodDiscover, ""), row.want)
		for _, method := range []string{"tools/list", "tools/call", "prompts/list", "prompts/get", "resources/list", "resources/templates/list", "resources/read", "completion/complete"} {
			if gone := strings.HasPrefix(ask(t, s, method, "{}"), "-32601 "); !gone && strings.Contains(row.gone, method) {
				t.Errorf("%s: %s is there", row.name, method)
			} else if gone && strings.Contains(row.want, `"`+strings.Split(method, "/")[0]+`"`) {
				t.Errorf("%s: %s is not there", row.name, method)
			}
		}
		expect(t, row.name, ask(t, s, "no/such", ""), `-32601 unknown method "no/such"`)
	}
}

func TestRemove(t *testing.T) {
	s, _ := newServer(server.Options{})
	addTools(s, "a", "b")
	addPrompt[nothing, string]("p")(s)
	resource(mcp.Resource{URI: "a:b", Name: "r"}, say(""))(s)
	template(mcp.ResourceTemplate{URITemplate: "a:{b}", Name: "r"}, say(""))(s)
	got := fmt.Sprint(s.RemoveTools("a", "x", "a"), s.RemoveTools("a"), s.RemoveTools(),
		s.RemovePrompts("p", "q"), s.RemoveResources("a:b"), s.RemoveTemplates("a:{b}", "a:{c}"))
	expect(t, "removed", got, "1 0 0 1 1 1")
	expect(t, "call", callTool(t, s, "a", ""), `-32602 unknown tool "a"`)
	expect(t, "read", ask(t, s, mcp.MethodResourcesRead, `{"uri":"a:b"}`), `…-32602 no resource`)
	expect(t, "get", ask(t, s, mcp.MethodPromptsGet, `{"name":"p"}`), `…-32602 unknown prompt`)
}
