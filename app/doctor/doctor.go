// Package doctor finds out what is wrong with a server: how it starts, what it
// speaks, whether its lists, schemas and names are fit for use, what it costs a
// model to see them, and which rules of the specification it breaks.
//
// It calls nothing that could change anything: lists, questions that every
// server has to refuse, and calls of things that do not exist. No tool is run.
//
//	met      how it starts, who it is            meet.go
//	lists    do they end, are they offered       lists.go
//	tools    names, schemas, hints, sizes        tools.go
//	manners  what must be refused is refused     manners.go
//	wire     what was seen to pass               wire.go
package doctor

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/tenon-mcp/tenon/app/wirelog"
	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
)

// A Severity says how much a finding matters.
type Severity string

// The severities. An Error keeps clients from using the server or a part of it,
// or breaks a demand of the specification; a Warning makes it work badly or
// breaks a recommendation; a Note could be better.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
	Note    Severity = "note"
)

// A Finding is one thing that is wrong or could be better.
type Finding struct {
	Severity Severity `json:"severity"`
	Check    string   `json:"check"`            // what was looked at: launch, handshake, schema and so on
	What     string   `json:"what"`             // what is wrong, in a sentence
	Where    string   `json:"where,omitempty"`  // the tool, method or place; empty means the server as a whole
	Advice   string   `json:"advice,omitempty"` // what to do about it
}

// A Report is what came of an examination.
type Report struct {
	Server    string              `json:"server"`
	Revision  mcp.Revision        `json:"revision,omitempty"` // what was spoken
	Era       string              `json:"era,omitempty"`
	Speaks    []mcp.Revision      `json:"speaks,omitempty"` // all that it agreed to, the newest first
	Identity  *mcp.Implementation `json:"identity,omitempty"`
	Connected float64             `json:"metMs,omitempty"` // how long it took to meet it
	Slowest   *Timing             `json:"slowest,omitempty"`
	Tokens    Tokens              `json:"tokens"`
	Findings  []Finding           `json:"findings"`
}

// A Timing is how long a server took for an answer.
type Timing struct {
	Method   string  `json:"method"`
	Duration float64 `json:"ms"`
}

// Tokens estimate what a model has to read before it can use the server: four
// bytes are about one token.
type Tokens struct {
	Total        int        `json:"total"`
	Instructions int        `json:"instructions"`
	Tools        []ToolSize `json:"tools"` // the largest first
}

// A ToolSize is what one tool costs.
type ToolSize struct {
	Name   string `json:"name"`
	Tokens int    `json:"tokens"`
}

// A Target is a server that was met.
type Target struct {
	Name      string
	Handler   mcp.Handler // the connection, with nothing between
	Client    *client.Client
	Revision  mcp.Revision
	Era       string        // in words, for the report
	Modern    bool          // it speaks the era without sessions
	Connected time.Duration // how long it took to meet it

	// Log has seen all that passed on the connection. Nil: nobody has.
	Log *wirelog.Log

	// Patience is how long one answer may take. 0 means 10 s.
	IdleTimeout time.Duration
}

// An examination is one patient and what was found so far.
type examination struct {
	*Target
	report *Report
	caps   mcp.ServerCapabilities
}

// Examine looks at a server that was met.
func Examine(ctx context.Context, p *Target) *Report {
	if p.IdleTimeout <= 0 {
		p.IdleTimeout = 10 * time.Second
	}
	x := &examination{Target: p, report: &Report{Server: p.Name, Revision: p.Revision, Era: p.Era, Connected: ms(p.Connected), Findings: []Finding{}}}
	x.connected(ctx)
	x.lists(ctx)
	x.manners(ctx)
	x.wire()
	return x.report.finish()
}

// Add adds findings that were made elsewhere, and puts all in order.
func (r *Report) Add(all ...Finding) {
	r.Findings = append(r.Findings, all...)
	r.finish()
}

// Count is how many findings of a severity there are.
func (r *Report) Count(s Severity) int {
	n := 0
	for _, f := range r.Findings {
		if f.Severity == s {
			n++
		}
	}
	return n
}

// finish puts the worst first; otherwise things stay in the order in which they
// were found.
func (r *Report) finish() *Report {
	rank := map[Severity]int{Error: 0, Warning: 1, Note: 2}
	slices.SortStableFunc(r.Findings, func(a, b Finding) int { return rank[a.Severity] - rank[b.Severity] })
	if r.Tokens.Tools == nil {
		r.Tokens.Tools = []ToolSize{}
	}
	slices.SortStableFunc(r.Tokens.Tools, func(a, b ToolSize) int { return cmp.Compare(b.Tokens, a.Tokens) })
	return r
}

func (x *examination) find(s Severity, check, where, what, advice string) {
	x.report.Findings = append(x.report.Findings, Finding{Severity: s, Check: check, Where: where, What: what, Advice: advice})
}

// ask makes a call and takes its time.
func (x *examination) ask(ctx context.Context, method string, params any) (mcp.Result, error) {
	c := &mcp.Call{Method: method}
	if params != nil {
		raw, err := mcp.Marshal(params)
		if err != nil {
			return mcp.Result{}, err
		}
		c.Params = raw
	}
	ctx, stop := context.WithTimeout(ctx, x.IdleTimeout)
	defer stop()
	began := time.Now()
	r, err := x.Handler.Serve(ctx, c)
	x.timed(method, time.Since(began))
	return r, err
}

func (x *examination) timed(method string, took time.Duration) {
	if s := x.report.Slowest; s == nil || ms(took) > s.Duration {
		x.report.Slowest = &Timing{method, ms(took)}
	}
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
