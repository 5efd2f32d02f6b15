package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/toolname"
	"github.com/tenon-mcp/tenon/mcp"
)

// listing serves a tools/list.
func listing(body func() json.RawMessage) mcp.HandlerFunc {
	return func(context.Context, *mcp.Call) (mcp.Result, error) { return mcp.Result{Body: body()}, nil }
}

// searched returns the names that a search finds.
func searched(t testing.TB, h mcp.Handler, query string, limit int) (names []string) {
	t.Helper()
	params, err := json.Marshal(map[string]any{"name": "search", "arguments": map[string]any{"query": query, "limit": limit}})
	if err != nil {
		t.Fatal(err)
	}
	res, err := h.Serve(t.Context(), &mcp.Call{Method: mcp.MethodToolsCall, Params: params})
	if err != nil {
		t.Fatal(err)
	}
	var got struct{ Content []struct{ Text string } }
	var tools []struct{ Name string }
	if err := json.Unmarshal(res.Body, &got); err != nil {
		t.Fatal(err)
	}
	_ = json.Unmarshal([]byte(got.Content[0].Text), &tools) // text if there are none
	for _, tool := range tools {
		names = append(names, tool.Name)
	}
	return names
}

// TestSearchRecall asks the questions of the host's tool search that were held out
// when it was tuned.
func TestSearchRecall(t *testing.T) {
	var servers []struct {
		Server string
		Tools  []json.RawMessage
	}
	var questions []struct {
		Query string
		Want  []string
		Held  bool
	}
	for file, v := range map[string]any{"tools.json": &servers, "queries.json": &questions} {
		data, err := os.ReadFile("../host/testdata/" + file)
		if err == nil {
			err = json.Unmarshal(data, v)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	ups := map[string]*fake{}
	for _, s := range servers {
		var all []string
		for _, tool := range s.Tools {
			all = append(all, string(tool))
		}
		ups[s.Server] = &fake{tools: toolsOf(strings.Join(all, ","))}
	}
	routed(t, ups, func(t *testing.T, r *Router) {
		h := mcp.Chain(r, Search())
		asked, hits := 0, 0
		for _, q := range questions {
			if !q.Held {
				continue
			}
			asked++
			names := searched(t, h, q.Query, 5)
			if slices.ContainsFunc(q.Want, func(want string) bool {
				server, tool, _ := strings.Cut(want, "/")
				return slices.Contains(names, toolname.Join(server, tool, 0))
			}) {
				hits++
			}
		}
		recall := float64(hits) / float64(asked)
		t.Logf("%d questions, recall@5 %.3f", asked, recall)
		if asked < 100 || recall < 0.9 {
			t.Errorf("recall@5 of %d questions is %.3f", asked, recall)
		}
	})
}

// many returns a list of n tools.
func many(n int, changed string) json.RawMessage {
	body := []byte(`{"tools":[`)
	for i := range n {
		if i > 0 {
			body = append(body, ',')
		}
		description := []string{"Reads a file from the disk", "Sends a message to a channel", "Books a flight for a traveller", "Draws a chart of a table"}[i%4]
		if i == n/2 {
			description += changed
		}
		body = fmt.Appendf(body, `{"name":"server%d__tool_%d","description":"%s, variant %d.","inputSchema":{"type":"object","properties":{"path%d":{"type":"string","description":"the object to use"}}}}`, i%50, i, description, i, i%7)
	}
	return append(body, `]}`...)
}

// TestSearchFindsChangedTools changes one tool of 10,000: only that one is indexed
// again.
func TestSearchFindsChangedTools(t *testing.T) {
	const n = 10_000
	body := many(n, "")
	s := Search()(listing(func() json.RawMessage { return body })).(*searcher)
	if got := searched(t, s, "photosynthesis", 5); got != nil {
		t.Errorf("found %q", got)
	}
	if s.catalog.added != n {
		t.Errorf("%d tools were indexed", s.catalog.added)
	}
	body = many(n, " and explains photosynthesis")
	if got := searched(t, s, "photosynthesis", 5); !slices.Equal(got, []string{"server0__tool_5000"}) {
		t.Errorf("found %q", got)
	}
	if s.catalog.added != n+1 {
		t.Errorf("%d tools were indexed; want one more", s.catalog.added)
	}
	body = many(n, "")
	if got := searched(t, s, "photosynthesis", 5); got != nil {
		t.Errorf("found %q after it was changed back", got)
	}
	for i := range 3 * maxViews {
		body = many(10, fmt.Sprint(" word", i))
		if got := searched(t, s, fmt.Sprint("word", i), 5); len(got) != 1 {
			t.Errorf("word%d: found %q", i, got)
		}
	}
	if len(s.catalog.views) != maxViews || s.catalog.index.Len() != len(s.catalog.used) || s.catalog.index.Len() > 10*maxViews {
		t.Errorf("%d views and %d definitions are kept", len(s.catalog.views), s.catalog.index.Len())
	}
}

// TestSearchOfManyToolsIsCheap guards the work of a search: no allocation for each
// of 10,000 tools, whether the list is the same or only equal.
func TestSearchOfManyToolsIsCheap(t *testing.T) {
	body := many(10_000, "")
	s := Search()(listing(func() json.RawMessage { return body }))
	searched(t, s, "book a flight", 5)
	c := &mcp.Call{Method: mcp.MethodToolsCall, Params: json.RawMessage(`{"name":"search","arguments":{"query":"book a flight"}}`)}
	once := func() { _, _ = s.Serve(t.Context(), c) }
	if n := testing.AllocsPerRun(10, once); n > 200 {
		t.Errorf("a search takes %v allocations", n)
	}
	equal := func() { body = slices.Clone(body); once() }
	if n := testing.AllocsPerRun(10, equal); n > 250 {
		t.Errorf("a search in an equal list takes %v allocations", n)
	}
}

// TestSearchShowsEachClientItsOwnTools has two clients with different lists.
func TestSearchShowsEachClientItsOwnTools(t *testing.T) {
	lists := map[string]string{"ada": `{"name":"bank__pay","description":"Pays an invoice"}`, "bob": `{"name":"bank__see","description":"Shows an invoice"}`}
	h := Search()(mcp.HandlerFunc(func(_ context.Context, c *mcp.Call) (mcp.Result, error) {
		return mcp.Result{Body: json.RawMessage(`{"tools":[` + lists[c.Caller.Principal.ID] + `]}`)}, nil
	}))
	for range 2 {
		for who, want := range map[string]string{"ada": "bank__pay", "bob": "bank__see"} {
			as := mcp.HandlerFunc(func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
				c.Caller.Principal = &mcp.Principal{ID: who}
				return h.Serve(ctx, c)
			})
			if got := searched(t, as, "invoice", 5); !slices.Equal(got, []string{want}) {
				t.Errorf("%s finds %q", who, got)
			}
		}
	}
}

// TestSearchSaysWhichServersThereAre also checks that listing the two tools indexes
// the others.
func TestSearchSaysWhichServersThereAre(t *testing.T) {
	const n = 60
	body := many(n, "")
	s := Search()(listing(func() json.RawMessage { return body })).(*searcher)
	res, err := s.Serve(t.Context(), &mcp.Call{Method: mcp.MethodToolsList})
	if want := "for invoke. There are tools of these servers: server0 (2), server1 (2), server10 (1)"; err != nil || !strings.Contains(string(res.Body), want) || !json.Valid(res.Body) {
		t.Errorf("%s, %v", res.Body, err)
	}
	if s.catalog.added != n {
		t.Errorf("%d tools were indexed", s.catalog.added)
	}
	tools := map[string]int{}
	for i := range 52 {
		tools[fmt.Sprint("s", 10+i)] = i
	}
	if text := listServers(tools); !strings.HasSuffix(text, "s59 (49) and 2 more.") {
		t.Error(text)
	}
	if text := listServers(nil); text != "" {
		t.Error(text)
	}
}

func BenchmarkSearch10000(b *testing.B) {
	body := many(10_000, "")
	for name, copied := range map[string]bool{"same list": false, "equal list": true} {
		b.Run(name, func(b *testing.B) {
			s := Search()(listing(func() json.RawMessage { return body }))
			c := &mcp.Call{Method: mcp.MethodToolsCall, Params: json.RawMessage(`{"name":"search","arguments":{"query":"book a flight for a traveller"}}`)}
			_, _ = s.Serve(b.Context(), c)
			for b.Loop() {
				if copied {
					body = slices.Clone(body)
				}
				_, _ = s.Serve(b.Context(), c)
			}
		})
	}
	b.Run("one tool changed", func(b *testing.B) {
		i := 0
		s := Search()(listing(func() json.RawMessage { return body }))
		c := &mcp.Call{Method: mcp.MethodToolsCall, Params: json.RawMessage(`{"name":"search","arguments":{"query":"book a flight for a traveller"}}`)}
		_, _ = s.Serve(b.Context(), c)
		for b.Loop() {
			b.StopTimer()
			i++
			body = many(10_000, fmt.Sprint(" changed ", i))
			b.StartTimer()
			_, _ = s.Serve(b.Context(), c)
		}
	})
	b.Run("first search", func(b *testing.B) {
		c := &mcp.Call{Method: mcp.MethodToolsCall, Params: json.RawMessage(`{"name":"search","arguments":{"query":"book a flight for a traveller"}}`)}
		for b.Loop() {
			_, _ = Search()(listing(func() json.RawMessage { return body })).Serve(b.Context(), c)
		}
	})
}
