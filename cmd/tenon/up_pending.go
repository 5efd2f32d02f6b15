package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/web"
	"github.com/tenon-mcp/tenon/app/workspace"
	"github.com/tenon-mcp/tenon/internal/visible"
)

// waiting lists the servers of the project that are not approved yet.
func (p *program) waiting(w *workspace.Workspace) []web.Pending {
	all := []web.Pending{}
	c, err := config.Load(&config.Options{Dir: p.project, UserDir: p.userDir, Input: unanswered})
	if err != nil {
		return append(all, web.Pending{Name: ".mcp.json", Refused: err.Error()})
	}
	for _, e := range c.Entries() {
		if !e.Source.Project || e.Shadowed != "" || e.Disabled || w != nil && w.Fleet.Get(e.Name) != nil {
			continue
		}
		one := web.Pending{Name: visible.Line(e.Name), File: e.Source.File}
		s, err := c.Server(e.Name)
		if err != nil { // such as a variable that is not set
			one.Command, one.Refused = e.CommandLine(), err.Error()
			all = append(all, one)
			continue
		}
		one.Command = s.CommandLine()
		_, verdict, err := p.verdict(s)
		one.Pin, one.Changed, one.Warnings, one.Refused = verdict.Pin, verdict.Changed, verdict.Warnings, verdict.Refused
		if err != nil && one.Refused == "" {
			one.Refused = err.Error()
		}
		if len(e.Inputs) > 0 {
			one.Refused = fmt.Sprintf("it needs %s: set TENON_INPUT_%s, or run tenon config approve %s", e.Inputs[0].ID, e.Inputs[0].ID, e.Name)
		}
		all = append(all, one)
	}
	return all
}

// approvePending approves and starts a project's server that the user reviewed in
// the page. It fails if the server has changed since.
func (p *program) approvePending(_ context.Context, w *workspace.Workspace, name, pin string) error {
	c, err := p.config()
	if err != nil {
		return err
	}
	s, err := c.Server(name)
	if err != nil {
		return err
	}
	approvals, verdict, err := p.verdict(s)
	switch {
	case err != nil:
		return err
	case verdict.Refused != "":
		return errors.New(verdict.Refused)
	case verdict.Pin != pin:
		return errors.New("it has changed since you reviewed it: review it again")
	}
	if err := approvals.Approve(s); err != nil {
		return err
	}
	return w.Add(bound(s, approvals, verdict))
}
