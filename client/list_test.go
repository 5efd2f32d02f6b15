package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
)

// pages is a server whose tools/list is given page by page: under the cursor
// that asks for it, "-" being none.
func pages(m map[string]string, calls *int) mcp.Handler {
	return mcp.HandlerFunc(func(_ context.Context, c *mcp.Call) (mcp.Result, error) {
		*calls++
		var p mcp.PageParams
		if err := c.Decode(&p); err != nil {
			return mcp.Result{}, err
		}
		at := "-"
		if p.Cursor != nil {
			at = *p.Cursor
		}
		page, ok := m[at]
		if !ok {
			return mcp.Result{}, mcp.InvalidParams("cursor: %q is not one of ours", at)
		}
		return mcp.Result{Body: json.RawMessage(page), Cache: mcp.Cache{TTL: time.Minute}}, nil
	})
}

func tool(name string) string { return `{"name":"` + name + `","inputSchema":{"type":"object"}}` }

func names(c *client.Client) (string, error) {
	var all []string
	for t, err := range c.Tools(context.Background()) {
		if err != nil {
			return strings.Join(all, " "), err
		}
		all = append(all, t.Name)
	}
	return strings.Join(all, " "), nil
}

func TestTools(t *testing.T) {
	tests := []struct {
		name  string
		pages map[string]string
		want  string
		fails string
		warns []string
		calls int
	}{
		{name: "one page", pages: map[string]string{"-": `{"tools":[` + tool("a") + `,` + tool("b") + `]}`}, want: "a b", calls: 1},
		{name: "no tools", pages: map[string]string{"-": `{"tools":[]}`}, calls: 1},
		{name: "three pages, one under the empty cursor", pages: map[string]string{
			"-":     `{"tools":[` + tool("a") + `],"nextCursor":""}`,
			"":      `{"tools":[],"nextCursor":"é\"\\"}`,
			"é\"\\": `{"tools":[` + tool("b") + `],"nextCursor":null}`,
		}, want: "a b", calls: 3},
		{name: "C24 the same cursor for ever", pages: map[string]string{
			"-":    `{"tools":[` + tool("a") + `],"nextCursor":"same"}`,
			"same": `{"tools":[` + tool("b") + `],"nextCursor":"same"}`,
		}, want: "a b", fails: `repeated cursor "same"`, calls: 2},
		{name: "C24 cursors in a circle", pages: map[string]string{
			"-": `{"tools":[],"nextCursor":"x"}`, "x": `{"tools":[],"nextCursor":"y"}`, "y": `{"tools":[],"nextCursor":"x"}`,
		}, fails: `repeated cursor "x"`, calls: 3},
		{name: "C26 bad items", pages: map[string]string{"-": `{"tools":[null,{"name":"t","inputSchema":null},` + tool("a") + `,7,{"inputSchema":{"type":"object"}}]}`},
			want: "a", warns: []string{"tools[0]: expected a value, found null", "tools[1]: inputSchema", "tools[3]", "tools[4]: name: missing"}, calls: 1},
		{name: "C28 the same name twice", pages: map[string]string{
			"-": `{"tools":[` + tool("a") + `,` + tool("a") + `],"nextCursor":"x"}`, "x": `{"tools":[` + tool("b") + `,` + tool("a") + `]}`,
		}, want: "a b", warns: []string{`another item with the name "a"`, `another item with the name "a"`}, calls: 2},
		{name: "C10 no list", pages: map[string]string{"-": `{}`}, fails: "tools: expected an array", calls: 1},
		{name: "C10 a list of another kind", pages: map[string]string{"-": `{"tools":{}}`}, fails: "tools: expected an array", calls: 1},
		{name: "C10 null", pages: map[string]string{"-": `null`}, fails: "expected an object", calls: 1},
		{name: "a cursor of another kind", pages: map[string]string{"-": `{"tools":[` + tool("a") + `],"nextCursor":7}`}, want: "a", fails: "nextCursor: expected a string", calls: 1},
		{name: "a cursor that the server forgot", pages: map[string]string{"-": `{"tools":[` + tool("a") + `],"nextCursor":"gone"}`}, want: "a", fails: "not one of ours", calls: 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var w warnings
			var calls int
			c := client.New(pages(tt.pages, &calls), &client.Options{Warn: w.add})
			got, err := names(c)
			if got != tt.want {
				t.Errorf("listed %q, want %q", got, tt.want)
			}
			if tt.fails != "" {
				wantError(t, err, tt.fails)
			} else if err != nil {
				t.Error(err)
			}
			if calls != tt.calls {
				t.Errorf("made %d calls, want %d", calls, tt.calls)
			}
			if len(w.list) != len(tt.warns) {
				t.Fatalf("warned of %q, want %q", w.list, tt.warns)
			}
			for i, part := range tt.warns {
				if !strings.Contains(w.list[i], part) {
					t.Errorf("warning %q does not say %q", w.list[i], part)
				}
			}
		})
	}
}

// C24: a server whose cursors are all different.
func TestEndlessList(t *testing.T) {
	n := 0
	h := mcp.HandlerFunc(func(context.Context, *mcp.Call) (mcp.Result, error) {
		n++
		return mcp.Result{Body: fmt.Appendf(nil, `{"resources":[{"uri":"x:%d","name":"a"},{"uri":"y:%d","name":"b"},{"name":"no uri"}],"nextCursor":"%d"}`, n, n, n)}, nil
	})
	for _, tt := range []struct {
		o     client.Options
		pages int
		items int
		fails string
	}{
		{client.Options{}, 1000, 2000, "more than 1000 pages"},
		{client.Options{MaxPages: 3}, 3, 6, "more than 3 pages"},
		{client.Options{MaxItems: 30}, 11, 20, "more than 30 items"},
		{client.Options{MaxItems: 2}, 1, 1, "more than 2 items"},
	} {
		n = 0
		all, err := client.All(client.New(h, &tt.o).Resources(t.Context()))
		wantError(t, err, "resources/list", tt.fails)
		if n != tt.pages || len(all) != tt.items {
			t.Errorf("%s: %d pages and %d items, want %d and %d", tt.fails, n, len(all), tt.pages, tt.items)
		}
	}
}

func TestBreakingOffAList(t *testing.T) {
	var calls int
	c := client.New(pages(map[string]string{"-": `{"tools":[` + tool("a") + `,` + tool("b") + `],"nextCursor":"x"}`}, &calls), nil)
	for range c.Tools(t.Context()) {
		break
	}
	if calls != 1 {
		t.Errorf("%d calls for one item", calls)
	}
}

func TestOtherLists(t *testing.T) {
	h := mcp.HandlerFunc(func(_ context.Context, c *mcp.Call) (mcp.Result, error) {
		return mcp.Result{Body: json.RawMessage(map[string]string{
			mcp.MethodResourceTemplatesList: `{"resourceTemplates":[{"uriTemplate":"a:{b}","name":"same"},{"uriTemplate":"c:{d}","name":"same"}]}`,
			mcp.MethodPromptsList:           `{"prompts":[{"name":"p"},{"title":"no name"}]}`,
		}[c.Method])}, nil
	})
	var w warnings
	c := client.New(h, &client.Options{Warn: w.add})
	if all, err := client.All(c.ResourceTemplates(t.Context())); err != nil || len(all) != 2 {
		t.Errorf("templates: %v, %v", all, err)
	}
	if all, err := client.All(c.Prompts(t.Context())); err != nil || len(all) != 1 || all[0].Name != "p" || len(w.list) != 1 {
		t.Errorf("prompts: %v, %v, warned %v", all, err, w.list)
	}
}

// A cursor of a kept page may be no good any more: the list is then read anew,
// and nothing is told twice.
func TestOutdatedCursor(t *testing.T) {
	m := map[string]string{"-": `{"tools":[` + tool("a") + `],"nextCursor":"old"}`, "old": `{"tools":[` + tool("b") + `]}`}
	var calls int
	var w warnings
	c := client.New(pages(m, &calls), &client.Options{Warn: w.add})
	for range c.Tools(t.Context()) {
		break // the first page is kept, the second was never asked for
	}
	delete(m, "old")
	m["-"] = `{"tools":[` + tool("a") + `,` + tool("c") + `],"nextCursor":"new"}`
	m["new"] = `{"tools":[` + tool("b") + `]}`
	if got, err := names(c); err != nil || got != "a c b" || len(w.list) != 0 {
		t.Errorf("listed %q, %v, warned %v", got, err, w.list)
	}
}

// A list of an extension is paged like the others, with its own parameters on
// each page.
func TestListOfAnExtension(t *testing.T) {
	var params []string
	h := mcp.HandlerFunc(func(_ context.Context, c *mcp.Call) (mcp.Result, error) {
		params = append(params, c.Method+string(c.Params))
		if len(params) < 3 {
			return mcp.Result{Body: json.RawMessage(fmt.Sprintf(`{"things":[{"id":"%d"},{"id":"0"}],"nextCursor":"c%d"}`, len(params), len(params)))}, nil
		}
		return mcp.Result{Body: json.RawMessage(`{"things":[{"id":3},{"id":"3"}]}`)}, nil
	})
	type thing struct {
		ID string `json:"id"`
	}
	var warned []string
	c := client.New(h, &client.Options{Warn: func(w string) { warned = append(warned, w) }})
	all, err := client.All(client.List(t.Context(), c, "x/list", map[string]string{"of": "y"}, "things", func(t *thing) string { return t.ID }))
	if err != nil || len(all) != 4 || all[3].ID != "3" || len(warned) != 2 {
		t.Errorf("%v, %v, %q", all, err, warned)
	}
	if got := strings.Join(params, " "); got != `x/list{"of":"y"} x/list{"cursor":"c1","of":"y"} x/list{"cursor":"c2","of":"y"}` {
		t.Errorf("requested %s", got)
	}
	if _, err := client.All(client.List(t.Context(), c, "x/list", 5, "things", func(t *thing) string { return t.ID })); err == nil {
		t.Error("parameters that are no object")
	}
}
