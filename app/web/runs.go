package web

import (
	"encoding/json"
	"net/http"
	"slices"
	"sync"

	"github.com/tenon-mcp/tenon/app/recording"
	"github.com/tenon-mcp/tenon/app/speccheck"
	"github.com/tenon-mcp/tenon/mcp"
)

const (
	mostRuns    = 10       // kept of each tool
	mostRunSize = 64 << 20 // bytes of all runs that are kept
)

// A runKey names a tool of a server.
type runKey struct{ server, tool string }

// A runList keeps the latest runs of each tool: calls that a page has started. It
// is safe for concurrent use.
type runList struct {
	mu    sync.Mutex
	tools map[runKey][]*run
	count map[runKey]int // of all runs so far
	ids   map[string]*run
	order []*run // oldest first
	size  int
}

// A run is a call with its latest event.
type run struct {
	call pageCall
	data json.RawMessage // the event of the call, without secrets
}

// number returns the number of the next run of a tool.
func (l *runList) number(server, tool string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.count == nil {
		l.count = map[runKey]int{}
	}
	l.count[runKey{server, tool}]++
	return l.count[runKey{server, tool}]
}

// put adds a run, or replaces what is known about it.
func (l *runList) put(call pageCall, data json.RawMessage) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ids == nil {
		l.ids, l.tools = map[string]*run{}, map[runKey][]*run{}
	}
	at := runKey{call.Server, call.Tool}
	r := l.ids[call.ID]
	if r == nil {
		r = &run{}
		l.ids[call.ID] = r
		l.tools[at] = append(l.tools[at], r)
		l.order = append(l.order, r)
	}
	l.size += len(data) - len(r.data)
	r.call, r.data = call, data
	if all := l.tools[at]; len(all) > mostRuns {
		l.drop(all[0])
	}
	for l.size > mostRunSize && len(l.order) > 1 {
		l.drop(l.order[0])
	}
}

// drop forgets a run. The lock is held.
func (l *runList) drop(r *run) {
	at := runKey{r.call.Server, r.call.Tool}
	same := func(other *run) bool { return other == r }
	l.tools[at] = slices.DeleteFunc(l.tools[at], same)
	if len(l.tools[at]) == 0 {
		delete(l.tools, at)
	}
	l.order = slices.DeleteFunc(l.order, same)
	delete(l.ids, r.call.ID)
	l.size -= len(r.data)
}

// of returns the runs of a tool, oldest first, without their large members. An
// empty tool means all tools of the server.
func (l *runList) of(server, tool string) []json.RawMessage {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := []json.RawMessage{}
	for _, r := range l.order {
		if r.call.Server == server && (tool == "" || r.call.Tool == tool) {
			all = append(all, brief(r.data))
		}
	}
	return all
}

// mostMember bounds a member of a run in a list of runs, in bytes.
const mostMember = 16 << 10

// brief returns the event of a run without its members that are large, which it
// names as omitted. Of a result, it keeps whether the tool failed.
func brief(data json.RawMessage) json.RawMessage {
	if len(data) <= mostMember {
		return data
	}
	var all map[string]json.RawMessage
	if err := mcp.Unmarshal(data, &all); err != nil {
		return data // it was encoded here
	}
	omitted := []string{}
	for _, name := range []string{"arguments", "result", "resultMeta", "data"} {
		if len(all[name]) <= mostMember {
			continue
		}
		omitted = append(omitted, name)
		var result struct {
			IsError bool `json:"isError,omitzero"`
		}
		if name == "result" {
			_ = mcp.Unmarshal(all[name], &result) // a result that cannot be read has not failed
			all[name], _ = mcp.Marshal(result)    // one bool
			continue
		}
		delete(all, name)
	}
	all["omitted"], _ = mcp.Marshal(omitted) // strings
	short, err := mcp.Marshal(all)
	if err != nil {
		return data
	}
	return short
}

// whole returns the event of a run.
func (l *runList) whole(id string) (json.RawMessage, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r := l.ids[id]; r != nil {
		return r.data, true
	}
	return nil, false
}

func (l *runList) get(id string) (pageCall, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r := l.ids[id]; r != nil {
		return r.call, true
	}
	return pageCall{}, false
}

// claimed returns the requests that belong to other runs of a tool.
func (l *runList) claimed(server, tool, id string) map[uint64]bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	seqs := map[uint64]bool{}
	for _, r := range l.tools[runKey{server, tool}] {
		if r.call.ID != id {
			for _, seq := range r.call.Messages {
				seqs[seq] = true
			}
		}
	}
	return seqs
}

var errNoRun = missing("this run is no longer kept: a tool has its last ten")

// oneRun returns a run with everything.
func (s *Server) oneRun(r *http.Request) (any, error) {
	data, ok := s.kept.whole(r.PathValue("id"))
	if !ok {
		return nil, errNoRun
	}
	return data, nil
}

// toolRuns returns the latest runs of a server's tools, or of one tool with ?tool=.
func (s *Server) toolRuns(r *http.Request) (any, error) {
	return map[string]any{"runs": s.kept.of(r.PathValue("name"), r.URL.Query().Get("tool"))}, nil
}

// requestsOf returns the numbers of the tools/call requests of a run: one, and
// one more for each answer to the server's questions. The arguments tell them from
// requests of others.
func (s *Server) requestsOf(c pageCall) []uint64 {
	taken := s.kept.claimed(c.Server, c.Tool, c.ID)
	args := s.work.Secrets().JSON(c.Arguments)
	seqs := []uint64{}
	s.scan(c.After, c.Until, func(m *speccheck.Message) {
		if m.Server == c.Server && m.Dir == speccheck.ToServer && m.Kind == speccheck.KindRequest && m.Method == mcp.MethodToolsCall && !taken[m.Seq] && calls(m, c.Tool, args) {
			seqs = append(seqs, m.Seq)
		}
	})
	return seqs
}

// calls reports whether a request calls a tool with these arguments. Of a request
// that is too large to be kept as a whole, only the tool is compared.
func calls(m *speccheck.Message, tool string, args []byte) bool {
	var frame struct {
		Params struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"params"`
	}
	if mcp.Unmarshal(m.Frame, &frame) != nil {
		return m.Tool == tool || len(m.Frame) < m.Size
	}
	return frame.Params.Name == tool && len(recording.Diff(orEmpty(frame.Params.Arguments), orEmpty(args))) == 0
}

func orEmpty(args json.RawMessage) json.RawMessage {
	if len(args) == 0 || string(args) == "null" {
		return json.RawMessage("{}")
	}
	return args
}

// scan calls see with the logged messages after one number up to another, in
// order; 0 means the last one.
func (s *Server) scan(after, until uint64, see func(*speccheck.Message)) {
	if until == 0 {
		until = s.work.Log.Last()
	}
	for after < until {
		list, _ := s.work.Log.Since(after, 2000)
		if len(list) == 0 {
			return
		}
		for i := range list {
			if list[i].Seq > until {
				return
			}
			see(&list[i])
		}
		after = list[len(list)-1].Seq
	}
}

// runMessages returns the messages of a run, and the log lines of its server
// while it ran.
func (s *Server) runMessages(r *http.Request) (any, error) {
	c, ok := s.kept.get(r.PathValue("id"))
	if !ok {
		return nil, errNoRun
	}
	if c.Phase == "running" {
		c.Messages = s.requestsOf(c)
	}
	own := map[uint64]bool{}
	for _, seq := range c.Messages {
		own[seq] = true
	}
	found, lines := []speccheck.Message{}, []logLine{}
	s.scan(c.After, c.Until, func(m *speccheck.Message) {
		switch {
		case m.Server != c.Server:
		case m.Kind == speccheck.KindStderr:
			lines = append(lines, logLine{Seq: m.Seq, At: m.At.UnixMicro(), Source: "stderr", Text: string(m.Frame)})
		case m.Method == mcp.NotificationMessage:
			lines = append(lines, logOf(*m))
		case own[m.Seq] || own[m.Joins] || m.Kind == speccheck.KindRequest && m.Dir == speccheck.FromServer:
			own[m.Seq] = true
			found = append(found, *m)
		}
	})
	return map[string]any{"messages": summaries(found[:min(len(found), mostLines)]), "lines": lines[:min(len(lines), mostLines)]}, nil
}
