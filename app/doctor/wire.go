package doctor

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/tenon-mcp/tenon/app/speccheck"
	"github.com/tenon-mcp/tenon/internal/visible"
	"github.com/tenon-mcp/tenon/mcp"
)

// A seen is a violation and its number of occurrences.
type seen struct {
	problem speccheck.Problem
	method  string
	rev     speccheck.Message
	count   int
}

// wire checks the logged messages.
func (x *examination) wire() {
	if x.Log == nil {
		return
	}
	var noise []string
	var order []string
	found := map[string]*seen{}
	all, _ := x.Log.Since(0, x.Log.Len())
	for i := range all {
		m := &all[i]
		if m.Kind == speccheck.KindInvalid && m.Dir == speccheck.FromServer {
			if !isMessage(m.Frame) { // a late response is not invalid
				noise = append(noise, visible.Line(string(m.Frame)))
			}
			continue
		}
		if m.Dir != speccheck.FromServer || strings.Contains(m.Method+m.Tool, nowhere) { // invalid requests are checked elsewhere
			continue
		}
		for _, p := range m.Problems {
			if p.Rule == "cancel.silent" {
				continue // a cancelled request and its response crossed
			}
			key := p.Rule + "\x00" + p.Text
			if found[key] == nil {
				found[key] = &seen{problem: p, method: m.Method, rev: *m}
				order = append(order, key)
			}
			found[key].count++
		}
	}
	x.invalidFrames(noise)
	for _, key := range order {
		x.violation(found[key])
	}
}

func isMessage(frame []byte) bool {
	if frame = bytes.TrimSpace(frame); len(frame) > 0 && frame[0] == '[' && mcp.Unmarshal(frame, &[]any{}) == nil {
		return true // a batch, which is checked elsewhere
	}
	var m struct {
		Version string `json:"jsonrpc"`
	}
	return mcp.Unmarshal(frame, &m) == nil && m.Version != ""
}

func (x *examination) invalidFrames(lines []string) {
	if len(lines) == 0 {
		return
	}
	const most = 120
	sample := lines[0]
	if len(sample) > most {
		sample = strings.ToValidUTF8(sample[:most], "") + "…"
	}
	what := "it wrote a line that is no message: " + sample
	if len(lines) > 1 {
		what = fmt.Sprintf("it wrote %d lines that are no messages, such as: %s", len(lines), sample)
	}
	x.find(Error, "launch", "standard output", what,
		"Standard output is for messages alone. Write logs to standard error; look for print, console.log and libraries that greet.")
}

func (x *examination) violation(s *seen) {
	severity := Error
	if s.problem.Severity == speccheck.Doubtful {
		severity = Warning
	}
	where := s.method
	if s.problem.Pointer != "" {
		where = strings.TrimSpace(where + " " + s.problem.Pointer)
	}
	what := s.problem.Text
	if s.count > 1 {
		what = fmt.Sprintf("%s (%d times)", what, s.count)
	}
	advice := ""
	if r, ok := speccheck.RuleFor(s.problem.Rule); ok {
		advice = r.Text
		if page := r.Page(s.rev.Revision); page != "" {
			advice += fmt.Sprintf(" (specification %s, %s; rule %s)", s.rev.Revision, page, r.ID)
		}
	}
	x.find(severity, "specification", where, what, advice)
}
