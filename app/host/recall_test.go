package host

import (
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/mcp"
)

// A question is something that a person wants, and the tools that do it.
type question struct {
	Query string   `json:"query"`
	Want  []string `json:"want"` // as server/tool; any of them will do
	Held  bool     `json:"held"` // it was written after the search was tuned
}

// labelled reads the tools of 28 kinds of servers and what people ask of them.
func labelled(t testing.TB) (*catalog, []question) {
	t.Helper()
	var servers []struct {
		Server string      `json:"server"`
		Tools  []*mcp.Tool `json:"tools"`
	}
	var questions []question
	for file, v := range map[string]any{"testdata/tools.json": &servers, "testdata/queries.json": &questions} {
		data, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(data, v)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	h := New(nil)
	defer h.Close()
	var entries []*toolEntry
	for _, s := range servers {
		at := &attached{name: s.Server, host: h}
		for _, tool := range s.Tools {
			entries = append(entries, &toolEntry{server: at, tool: tool})
		}
	}
	return h.gather(entries, llm.Info{}), questions
}

// recall is the share of questions with a right tool among the first n.
func recall(t testing.TB, c *catalog, questions []question, n int) float64 {
	hits := 0
	for _, q := range questions {
		found := slices.ContainsFunc(c.Find(q.Query, n), func(name string) bool {
			e := c.byName[name]
			return slices.Contains(q.Want, e.server.name+"/"+e.tool.Name)
		})
		if found {
			hits++
		} else if testing.Verbose() {
			t.Logf("%q: wanted %v, found %v", q.Query, q.Want, c.Find(q.Query, n))
		}
	}
	return float64(hits) / float64(len(questions))
}

// The search finds what people ask for. The questions that are held out were
// written after the weights were chosen, and did not change them: the number that
// counts is theirs.
func TestSearchRecall(t *testing.T) {
	c, all := labelled(t)
	var tuned, held []question
	for _, q := range all {
		if q.Held {
			held = append(held, q)
		} else {
			tuned = append(tuned, q)
		}
	}
	if len(c.list) < 300 || len(all) < 150 || len(held)*3 < len(all) {
		t.Fatalf("only %d tools, %d questions and %d that are held out", len(c.list), len(all), len(held))
	}
	for name, set := range map[string][]question{"tuned": tuned, "held out": held} {
		at1, at5 := recall(nothing{t}, c, set, 1), recall(t, c, set, 5)
		t.Logf("%s: %d questions, recall@1 %.3f, recall@5 %.3f", name, len(set), at1, at5)
		if at5 < 0.9 {
			t.Errorf("%s: recall@5 is %.3f", name, at5)
		}
	}
}

// nothing is a test that logs nothing.
type nothing struct{ testing.TB }

func (nothing) Logf(string, ...any) {}

// With 500 tools the model is given a fiftieth, at most, of what all their
// definitions would take; and the same bytes each time.
func TestManyToolsCostLittle(t *testing.T) {
	c, _ := labelled(t)
	h := New(nil)
	defer h.Close()
	var entries []*toolEntry
	for i := 0; len(entries) < 500; i++ {
		e := c.byName[c.list[i%len(c.list)].Name]
		at := &attached{name: e.server.name, host: h}
		if i >= len(c.list) {
			at.name += "-two"
		}
		entries = append(entries, &toolEntry{server: at, tool: e.tool})
	}
	many := h.gather(entries, llm.Info{Context: 200_000})
	naive, sent := 0, 0
	for _, tool := range many.list {
		naive += Tokens(tool)
	}
	for _, tool := range many.tools() {
		sent += Tokens(tool)
	}
	t.Logf("%d tools: %d tokens instead of %d (%.2f %%)", len(many.list), sent, naive, 100*float64(sent)/float64(naive))
	if len(many.list) != 500 || !many.many || sent*50 > naive {
		t.Errorf("%d tools cost %d tokens of %d", len(many.list), sent, naive)
	}
	fewer := h.gather(entries[:450], llm.Info{Context: 200_000})
	if !slices.EqualFunc(many.tools(), fewer.tools(), func(a, b llm.Tool) bool {
		return a.Name == b.Name && a.Description == b.Description && string(a.Schema) == string(b.Schema)
	}) {
		t.Error("what the model is given depends on which servers are there")
	}
}
