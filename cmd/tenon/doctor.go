package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/connect"
	"github.com/tenon-mcp/tenon/app/doctor"
	"github.com/tenon-mcp/tenon/app/show"
	"github.com/tenon-mcp/tenon/app/speccheck"
	"github.com/tenon-mcp/tenon/app/wirelog"
	"github.com/tenon-mcp/tenon/internal/eraconn"
	"github.com/tenon-mcp/tenon/internal/visible"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/transport/stdio"
)

func (p *program) doctorCommand() *cobra.Command {
	var once bool
	c := &cobra.Command{
		Use:   "doctor SERVER",
		Short: "Diagnose a server and suggest fixes",
		Long: `Diagnose a server: how it starts, which protocol revisions it supports, whether
its lists end and its schemas are valid, its names, annotations and descriptions,
how many tokens its tools cost a model, and which rules of the specification it
breaks. No tool is called.

The server is started once for each revision. The exit code is 1 if there are
errors.`,
		Example: "  tenon doctor builtin:calc\n  tenon doctor --format json -- npx -y @modelcontextprotocol/server-everything",
		RunE: func(cmd *cobra.Command, args []string) error {
			out, err := p.printer()
			if err != nil {
				return err
			}
			entry, _, err := p.target(cmd, args)
			if err != nil {
				return err
			}
			r, err := p.examine(cmd.Context(), entry, once)
			if err != nil {
				return err
			}
			if err := p.printReport(out, r); err != nil {
				return err
			}
			if r.Count(doctor.Error) > 0 {
				return errFound
			}
			return nil
		},
	}
	c.Flags().BoolVar(&once, "once", false, "start the server only once, without trying other revisions")
	return c
}

// discardSink is a sink that discards messages; with it, a log is created.
type discardSink struct{}

func (discardSink) Add(*speccheck.Message) {}

// examine starts the server, examines it, and stops it.
func (p *program) examine(ctx context.Context, entry config.Server, once bool) (*doctor.Report, error) {
	o, err := p.connectOptions(ctx, entry)
	if err != nil {
		return nil, err
	}
	log, done := p.watched(entry.Name, discardSink{})
	defer done()
	o.Watch = func(server string) connect.Watcher { return log.Wire(server) }
	o.Warn, o.Client.Warn = nil, nil // the report contains these warnings
	began := time.Now()
	server, err := connect.Open(ctx, entry, o)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return doctor.Unmet(entry.Name, err, ending(err), log), nil
	}
	met := time.Since(began)
	modern, _ := eraconn.Eras(server.State().Revision)
	r := doctor.Examine(ctx, &doctor.Target{
		Name: entry.Name, Handler: server, Client: server.Client(), Revision: server.State().Revision, Era: eraOf(server.State().Revision),
		Modern: modern, Connected: met, Log: log, IdleTimeout: p.timeout,
	})
	began = time.Now()
	server.Close()
	if took := time.Since(began); took > 2*time.Second {
		r.Add(doctor.Finding{Severity: doctor.Warning, Check: "launch", What: fmt.Sprintf("the server does not exit when its standard input closes: it was killed after %.1f s", took.Seconds()),
			Advice: "Exit when standard input ends. Otherwise hosts may leave the process running."})
	}
	if !once && p.revision == "" {
		r.Spoken(p.revisions(ctx, entry, r.Revision))
	}
	return r, ctx.Err()
}

// ending returns how the process of a server ended that failed to connect.
func ending(err error) *doctor.Ending {
	exit, ok := errors.AsType[*stdio.ExitError](err)
	if !ok || exit.Forced { // the client killed it
		return nil
	}
	e := &doctor.Ending{Code: exit.Code, Stderr: exit.Stderr}
	if exit.Signal != nil {
		e.Signal = exit.Signal.String()
	}
	return e
}

// revisions connects to the server once for each revision, concurrently. It skips
// known, which the server is known to support.
func (p *program) revisions(ctx context.Context, entry config.Server, known mcp.Revision) (agreed []mcp.Revision, failed map[mcp.Revision]error) {
	agreed, failed = []mcp.Revision{known}, map[mcp.Revision]error{}
	if entry.Kind == config.SSE {
		return agreed, failed // older than revisions that could be chosen
	}
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, one := range mcp.Revisions() {
		if one == known {
			continue
		}
		all.Go(func() {
			spoken, err := p.agreedRevision(ctx, entry, one)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed[one] = err
			} else {
				agreed = append(agreed, spoken)
			}
		})
	}
	all.Wait()
	return agreed, failed
}

// agreedRevision connects with one revision and returns the negotiated one.
func (p *program) agreedRevision(ctx context.Context, entry config.Server, want mcp.Revision) (mcp.Revision, error) {
	o, err := p.connectOptions(ctx, entry)
	if err != nil {
		return "", err
	}
	o.Known, o.ConnectTimeout, o.Warn, o.Client.Warn = want, p.within(10*time.Second), nil, nil
	log := wirelog.NewLog(&wirelog.LogOptions{Unchecked: true, Secrets: &p.secrets})
	o.Watch = func(server string) connect.Watcher { return log.Wire(server) }
	s, err := connect.Open(ctx, entry, o)
	if err != nil {
		return "", err
	}
	defer s.Close()
	ctx, stop := context.WithTimeout(ctx, p.within(10*time.Second))
	defer stop()
	if _, err := s.Client().Discover(ctx); err != nil { // the first request that a stateless server receives
		return "", err
	}
	spoken := s.State().Revision
	all, _ := log.Since(0, log.Len())
	for _, m := range all { // over HTTP, the client falls back to an older revision
		if m.Dir == speccheck.FromServer && m.Era == "legacy" && m.Revision != "" {
			spoken = m.Revision
		}
	}
	return spoken, nil
}

// within returns limit, or --timeout if that is shorter.
func (p *program) within(limit time.Duration) time.Duration {
	if p.timeout > 0 {
		return min(limit, p.timeout)
	}
	return limit
}

// printReport prints a report.
func (p *program) printReport(out *show.Printer, r *doctor.Report) error {
	if out.Format == show.JSONL {
		for _, f := range r.Findings {
			if err := out.Value(f); err != nil {
				return err
			}
		}
		return out.Err()
	}
	if out.Format != show.Text {
		return out.Value(r)
	}
	if !p.quiet {
		p.printSummary(out, r)
	}
	for _, f := range r.Findings {
		mark := out.Dim("· note   ")
		switch f.Severity {
		case doctor.Error:
			mark = out.Red("✗ error  ")
		case doctor.Warning:
			mark = out.Yellow("! warning")
		}
		where := visible.Line(f.Where)
		if where != "" {
			where = "  " + where
		}
		out.Wrap(out.Bold(f.Check)+where, mark+"  ", "           ")
		out.Wrap(visible.Text(f.What), "    ", "    ")
		if f.Advice != "" && !p.quiet {
			out.Wrap(out.Dim(visible.Text(f.Advice)), "    "+out.Dim("→ "), "      ")
		}
	}
	if !p.quiet {
		p.summary(out, r)
	}
	return out.Err()
}

// printSummary prints the name, revisions, tokens and timing of a server.
func (p *program) printSummary(out *show.Printer, r *doctor.Report) {
	name := visible.Line(r.Server)
	if r.Identity != nil {
		name = visible.Line(r.Identity.Name + " " + r.Identity.Version)
	}
	var facts []string
	if r.Revision != "" {
		facts = append(facts, fmt.Sprintf("connected in %.0f ms", r.Connected), fmt.Sprintf("speaks %s, %s", r.Revision, r.Era))
	}
	if len(r.Speaks) > 1 {
		var also []string
		for _, one := range r.Speaks {
			if one != r.Revision {
				also = append(also, string(one))
			}
		}
		facts = append(facts, "also "+strings.Join(also, ", "))
	}
	if n := len(r.Tokens.Tools); n > 0 {
		tools := "tools"
		if n == 1 {
			tools = "tool"
		}
		facts = append(facts, fmt.Sprintf("%d %s, about %d tokens", n, tools, r.Tokens.Total))
	}
	if r.Slowest != nil {
		facts = append(facts, fmt.Sprintf("slowest response %.0f ms (%s)", r.Slowest.Duration, visible.Line(r.Slowest.Method)))
	}
	out.Wrap(out.Bold(name), "", "")
	if len(facts) > 0 {
		out.Wrap(strings.Join(facts, " · "), "  ", "  ")
	}
	for i, t := range r.Tokens.Tools {
		if i == 5 || len(r.Tokens.Tools) <= 5 && r.Tokens.Total < 2000 {
			break
		}
		out.Wrap(visible.Line(t.Name), out.Dim(fmt.Sprintf("  %6d tokens  ", t.Tokens)), "")
	}
	out.Wrap("", "", "")
}

func (p *program) summary(out *show.Printer, r *doctor.Report) {
	if len(r.Findings) == 0 {
		out.Wrap(out.Green("No problems found."), "", "")
		return
	}
	var parts []string
	for _, s := range []doctor.Severity{doctor.Error, doctor.Warning, doctor.Note} {
		if n := r.Count(s); n > 0 {
			what := string(s)
			if n > 1 {
				what += "s"
			}
			parts = append(parts, fmt.Sprintf("%d %s", n, what))
		}
	}
	out.Wrap("\n"+strings.Join(parts, ", "), "", "")
}
