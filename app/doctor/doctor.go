// Package doctor diagnoses a server: how it starts, which revisions it supports,
// whether its lists, schemas and names are valid, how many tokens they cost a
// model, and which rules of the specification it breaks.
//
// It sends only requests that change nothing: lists, and requests for methods,
// tools, resources and prompts that do not exist. It runs no tool.
//
//	connect  start, handshake, identity               connect.go
//	lists    pagination, capabilities                 lists.go
//	tools    names, schemas, hints, sizes             tools.go
//	others   resources, templates, prompts            others.go
//	errors   invalid requests are refused             refusals.go
//	wire     rules of the specification               wire.go
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

// A Severity is the severity of a finding.
type Severity string

// The severities. An Error prevents clients from using the server or a part of it,
// or violates a MUST of the specification; a Warning degrades it or violates a
// SHOULD; a Note is a suggestion.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
	Note    Severity = "note"
)

// A Finding is one problem or suggestion.
type Finding struct {
	Severity Severity `json:"severity"`
	Check    string   `json:"check"`            // the area: launch, handshake, schema and so on
	What     string   `json:"what"`             // what is wrong, as a sentence
	Where    string   `json:"where,omitempty"`  // the tool, method or place; empty means the server as a whole
	Advice   string   `json:"advice,omitempty"` // what to do about it
}

// A Report is the result of an examination.
type Report struct {
	Server    string              `json:"server"`
	Revision  mcp.Revision        `json:"revision,omitempty"` // the negotiated one
	Era       string              `json:"era,omitempty"`
	Speaks    []mcp.Revision      `json:"speaks,omitempty"` // all supported revisions, the newest first
	Identity  *mcp.Implementation `json:"identity,omitempty"`
	Connected float64             `json:"metMs,omitempty"` // time to connect, in milliseconds
	Slowest   *Timing             `json:"slowest,omitempty"`
	Tokens    Tokens              `json:"tokens"`
	Findings  []Finding           `json:"findings"`
}

// A Timing is the duration of one request, in milliseconds.
type Timing struct {
	Method   string  `json:"method"`
	Duration float64 `json:"ms"`
}

// Tokens estimates what a model reads to use the server, at four bytes a token.
type Tokens struct {
	Total        int        `json:"total"`
	Instructions int        `json:"instructions"`
	Tools        []ToolSize `json:"tools"` // largest first
}

// A ToolSize is the size of one tool in tokens.
type ToolSize struct {
	Name   string `json:"name"`
	Tokens int    `json:"tokens"`
}

// A Target is a connected server.
type Target struct {
	Name      string
	Handler   mcp.Handler // the connection, without middleware
	Client    *client.Client
	Revision  mcp.Revision
	Era       string        // for the report
	Modern    bool          // the era without sessions
	Connected time.Duration // time to connect

	// Log has the messages of the connection. Nil disables the checks of them.
	Log *wirelog.Log

	// IdleTimeout is the timeout of each request. 0 means 10 s.
	IdleTimeout time.Duration
}

// An examination is a target and its report so far.
type examination struct {
	*Target
	report *Report
	caps   mcp.ServerCapabilities
}

// Examine examines a connected server.
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

// Add adds findings and sorts all by severity.
func (r *Report) Add(all ...Finding) {
	r.Findings = append(r.Findings, all...)
	r.finish()
}

// Count returns the number of findings of a severity.
func (r *Report) Count(s Severity) int {
	n := 0
	for _, f := range r.Findings {
		if f.Severity == s {
			n++
		}
	}
	return n
}

// finish sorts the findings by severity, stably, and the tools by size.
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

// ask makes a request and measures its duration.
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
