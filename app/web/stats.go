package web

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"github.com/tenon-mcp/tenon/app/speccheck"
	"github.com/tenon-mcp/tenon/app/wirelog"
	"github.com/tenon-mcp/tenon/mcp"
)

// A toolStat is how long the calls of a tool took.
type toolStat struct {
	Tool   string  `json:"tool"`
	Calls  int     `json:"calls"`           // that have ended
	Failed int     `json:"failed,omitzero"` // see speccheck.Outcome.Failed
	P50    float64 `json:"p50"`             // milliseconds
	P95    float64 `json:"p95"`
}

const mostCalls = 20_000 // requests to look at

// stats returns how long the calls of each tool took, by all messages in the log,
// also those of calls that other clients made.
func (s *Server) stats(r *http.Request) (any, error) {
	q := wirelog.Query{Server: r.PathValue("name"), Dir: speccheck.ToServer, Method: mcp.MethodToolsCall, Kinds: []speccheck.Kind{speccheck.KindRequest}}
	list, _ := s.work.Log.Filter(q, 0, mostCalls)
	took, failed := map[string][]time.Duration{}, map[string]int{}
	for i := range list {
		m := &list[i]
		if m.Outcome == "" { // it is still open
			continue
		}
		took[m.Tool] = append(took[m.Tool], m.Took)
		if m.Outcome.Failed() {
			failed[m.Tool]++
		}
	}
	all := []toolStat{}
	for tool, times := range took {
		slices.Sort(times)
		all = append(all, toolStat{tool, len(times), failed[tool], quantile(times, 50), quantile(times, 95)})
	}
	slices.SortFunc(all, func(a, b toolStat) int { return cmp.Compare(a.Tool, b.Tool) })
	return map[string]any{"tools": all}, nil
}

// quantile returns the time, in milliseconds, that a percentage of the sorted
// times do not exceed.
func quantile(sorted []time.Duration, percent int) float64 {
	at := (len(sorted)*percent + 99) / 100
	return float64(sorted[max(at, 1)-1].Microseconds()) / 1000
}

// A problemGroup is a rule of the specification and the messages that break it.
type problemGroup struct {
	problem
	Count    int       `json:"count"`
	Messages []summary `json:"messages"` // the latest
}

const mostShown = 20 // messages of a group

// broken returns the rules that a server's messages break, the most frequent
// first. The messages may be of either side.
func (s *Server) broken(r *http.Request) (any, error) {
	list, next := s.work.Log.Filter(wirelog.Query{Server: r.PathValue("name"), Problems: true}, 0, mostCalls)
	groups := map[string]*problemGroup{}
	order := []*problemGroup{}
	for i := range list {
		m := &list[i]
		counted := map[string]bool{}
		for _, p := range problems(*m) {
			g := groups[p.Rule]
			if g == nil {
				g = &problemGroup{problem: p, Messages: []summary{}}
				groups[p.Rule] = g
				order = append(order, g)
			}
			if counted[p.Rule] {
				continue
			}
			counted[p.Rule] = true
			g.Count++
			if len(g.Messages) < mostShown {
				g.Messages = append(g.Messages, summaries(list[i:i+1])...)
			}
		}
	}
	slices.SortStableFunc(order, func(a, b *problemGroup) int { return cmp.Compare(b.Count, a.Count) })
	return map[string]any{"groups": order, "more": next > 0 && len(list) == mostCalls}, nil
}
