package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/internal/visible"
)

// named returns the configured server with the given name, with variables
// expanded, approved, and with the program that was resolved for the approval.
//
// A project file may ask for values (${input:…}). named asks for approval before
// it asks for values, so that the user types no password for a server that is not
// approved.
func (p *program) named(ctx context.Context, name string) (config.Server, error) {
	c, err := p.config()
	if err != nil {
		return config.Server{}, err
	}
	approved := ""
	if needsInput(c, name) {
		unasked, err := config.Load(&config.Options{Dir: p.project, UserDir: p.userDir, From: p.from, Input: unanswered})
		if err != nil {
			return config.Server{}, usageError{err}
		}
		preview, err := unasked.Server(name)
		if err != nil {
			return preview, usageError{err}
		}
		if approved, err = p.look(ctx, preview); err != nil {
			return preview, err
		}
	}
	entry, err := c.Server(name)
	if err != nil {
		return entry, usageError{err}
	}
	entry.Disabled = false // the user has named it
	return p.approve(ctx, entry, approved)
}

// needsInput reports whether expanding a project's entry needs input from the
// user.
func needsInput(c *config.Config, name string) bool {
	for _, e := range c.Entries() {
		if e.Name == name && e.Shadowed == "" {
			return e.Source.Project && len(e.Inputs) > 0
		}
	}
	return false
}

// unanswered is the placeholder for a value that the user has not typed yet.
func unanswered(in config.Input) (string, error) {
	if len(in.Options) > 0 {
		return in.Options[0], nil
	}
	return "${input:" + in.ID + "}", nil
}

// look shows a project's server that is not approved, and asks for approval. It
// returns the digest of the approved entry without storing it.
func (p *program) look(ctx context.Context, entry config.Server) (string, error) {
	_, v, err := p.verdict(entry)
	if err != nil || v.Approved || onlyFilledIn(entry, v.Changed) {
		return "", err
	}
	return v.Pin, p.agree(ctx, entry, v)
}

// onlyFilledIn reports whether a server differs from the approved one only in the
// expanded input values.
func onlyFilledIn(entry config.Server, changed []config.Change) bool {
	for _, c := range changed {
		written := entry.Entry()
		switch {
		case (c.What == "program" || c.What == "binary") && strings.Contains(written.Command, "${input:"):
		case c.What == "origin" && strings.Contains(written.URL, "${input:"):
		default:
			return false
		}
	}
	return len(changed) > 0
}

// approve makes sure that the user has approved a project's server. seen is the
// digest of an entry that the user has already agreed to. The returned server
// starts the program that was resolved for the approval, even if the search path
// changes later.
func (p *program) approve(ctx context.Context, entry config.Server, seen string) (config.Server, error) {
	approvals, v, err := p.verdict(entry)
	if err != nil {
		return entry, err
	}
	if !v.Approved {
		if v.Pin != seen {
			if err := p.agree(ctx, entry, v); err != nil {
				return entry, err
			}
		}
		if err := approvals.Approve(entry); err != nil {
			return entry, err
		}
	}
	return bound(entry, approvals, v), nil
}

// bound returns a server that starts the program which was approved, whatever
// PATH leads to later, and that checks its approval at each start.
func bound(entry config.Server, approvals *config.Approvals, v config.Verdict) config.Server {
	if v.Program != "" {
		entry.Command = v.Program
	}
	return entry.WithApprovals(approvals)
}

func (p *program) verdict(entry config.Server) (*config.Approvals, config.Verdict, error) {
	if !entry.Source.Project {
		return nil, config.Verdict{Approved: true}, nil
	}
	dir, err := p.configDir()
	if err != nil {
		return nil, config.Verdict{}, err
	}
	approvals, err := config.OpenApprovals(filepath.Join(dir, "approvals.json"))
	if err != nil {
		return nil, config.Verdict{}, usageError{err}
	}
	v := approvals.Check(entry)
	if v.Refused != "" {
		err = usagef("server %s of %s: %s", entry.Name, entry.Source.File, v.Refused)
	}
	return approvals, v, err
}

// agree shows the full command line or URL and asks for confirmation. With --yes
// it shows them without asking.
func (p *program) agree(ctx context.Context, entry config.Server, v config.Verdict) error {
	out := p.stderr()
	fmt.Fprintf(p.err, "%s wants to use the server %s:\n\n  %s\n\n", visible.Line(entry.Source.File), out.Bold(visible.Line(entry.Name)), entry.CommandLine())
	if v.Program != "" {
		fmt.Fprintf(p.err, "  The program is %s\n", visible.Line(v.Program))
	}
	for _, c := range v.Changed {
		fmt.Fprintf(p.err, "  %s has changed since you approved it:\n    before  %s\n    now     %s\n", visible.Line(c.What), visible.Line(c.Before), visible.Line(c.After))
	}
	for _, w := range v.Warnings {
		fmt.Fprintf(p.err, "  %s %s\n", out.Yellow("warning:"), visible.Line(w))
	}
	switch {
	case p.yes && !p.unattended.Load():
		return nil
	case !p.interactive():
		return usagef("server %s comes from a project file and is not approved: review it, then run this in a terminal or add --yes", entry.Name)
	}
	yes, err := p.ask(ctx, "Approve it? It runs with your user account's rights. (yes/no) ")
	if errors.Is(err, io.EOF) || err == nil && !yes {
		return usageError{errors.New("not approved; nothing was started")}
	}
	return err
}

// secret reads a line, without echo if the input is a secret and a terminal.
func (p *program) secret(in config.Input) (string, error) {
	if in.Password {
		return p.lines().ReadSecret(p.ctx, "> ")
	}
	return p.lines().ReadLine(p.ctx, "> ")
}
