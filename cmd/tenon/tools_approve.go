package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/permit"
	"github.com/tenon-mcp/tenon/app/show"
	"github.com/tenon-mcp/tenon/app/workspace"
	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/internal/visible"
	"github.com/tenon-mcp/tenon/mcp"
)

// approvals opens the approvals of the user.
func (p *program) approvals() (*permit.Book, error) {
	dir, err := p.hostDir("")
	if err != nil {
		return nil, err
	}
	book, err := permit.Open(workspace.ToolsFile(dir), config.Settings{})
	return book, usage(err)
}

func (p *program) toolsApproveCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "approve SERVER [TOOL …]",
		Short: "Approve tools that have changed since you approved them",
		Long: `Show what changed in tools since you approved them, and approve the new versions.
Without TOOL, this covers all tools of the server that have changed.

An approval applies to one definition of the tool and one server. After a change,
chat asks again and run denies the call, until you approve the change here. This
does not allow tools that you have not allowed before.

You are asked to confirm; outside a terminal, --yes is required.`,
		Example: "  tenon tools approve notes\n  tenon tools approve notes read_note --yes",
		RunE: p.with(func(ctx context.Context, s *session, out *show.Printer, rest []string) error {
			book, err := p.approvals()
			if err != nil {
				return err
			}
			entry := s.server.Entry()
			server := hostName(entry.Name)
			book.Identify(server, entry.Identity())
			tools, err := client.All(s.Tools(ctx))
			if err != nil {
				return err
			}
			wanted, err := p.changedTools(book, server, tools, rest)
			if err != nil || len(wanted) == 0 {
				return err
			}
			for _, t := range wanted {
				if err := p.approveTool(ctx, book, server, t, out); err != nil {
					return err
				}
			}
			return nil
		}),
	}
}

// changedTools returns the named tools, or all that have changed.
func (p *program) changedTools(book *permit.Book, server string, tools []*mcp.Tool, names []string) ([]*mcp.Tool, error) {
	var wanted []*mcp.Tool
	for _, name := range names {
		t, err := find(tools, name, func(t *mcp.Tool) string { return t.Name }, "tool")
		if err != nil {
			return nil, err
		}
		wanted = append(wanted, t)
	}
	if len(names) > 0 {
		return wanted, nil
	}
	for _, t := range tools {
		if changes, _ := book.Changes(server, t); len(changes) > 0 {
			wanted = append(wanted, t)
		}
	}
	if len(wanted) == 0 {
		p.note("No tool of %s has changed since you approved it.", server)
	}
	return wanted, nil
}

// approveTool shows the changes of a tool, asks for confirmation, and approves it.
func (p *program) approveTool(ctx context.Context, book *permit.Book, server string, t *mcp.Tool, out *show.Printer) error {
	if err := out.Tool(t); err != nil {
		return err
	}
	changes, _ := book.Changes(server, t)
	for _, c := range changes {
		fmt.Fprintf(p.err, "%s has changed:\n  was  %s\n  now  %s\n", visible.Line(c.What), visible.Line(c.Before), visible.Line(c.After))
	}
	for _, w := range permit.Suspect(t) {
		fmt.Fprintf(p.err, "warning: %s\n", visible.Line(w))
	}
	switch {
	case p.yes:
	case !p.interactive():
		return usagef("review the change, then run this in a terminal or add --yes")
	default:
		yes, err := p.ask(ctx, fmt.Sprintf("Approve the new %s/%s? (yes/no) ", visible.Line(server), visible.Line(t.Name)))
		if err != nil || !yes {
			p.note("Did not approve %s/%s.", server, t.Name)
			return err
		}
	}
	if err := book.Approve(server, t); err != nil {
		return err
	}
	p.note("Approved %s/%s.", server, t.Name)
	return nil
}

func (p *program) toolsForgetCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "forget SERVER [TOOL …]",
		Short:   "Forget your decisions about tools",
		Long:    "Forget what you allowed, denied and approved in chat. Without TOOL, this covers all\ntools of the server. The server is not started and need not exist any more.",
		Example: "  tenon tools forget notes\n  tenon tools forget notes read_note",
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("missing SERVER")
			}
			book, err := p.approvals()
			if err != nil {
				return err
			}
			server := args[0]
			if entry, err := config.Parse(server, nil); err == nil {
				server = entry.Name
			}
			server = hostName(server)
			return p.forget(book, server, args[1:])
		},
	}
}

// forget deletes the decisions about the named tools of a server, or about all.
func (p *program) forget(book *permit.Book, server string, tools []string) error {
	known := book.Decided(server)
	if len(known) == 0 {
		p.note("You have made no decisions about the tools of %s.", server)
		return nil
	}
	for _, tool := range tools {
		if !slices.Contains(known, tool) {
			return usagef("no decision about the tool %q of %s%s", tool, server, suggest(tool, known))
		}
	}
	if len(tools) == 0 {
		if err := book.Forget(server, ""); err != nil {
			return err
		}
		p.note("Your decisions about all tools of %s are forgotten.", server)
	}
	for _, tool := range tools {
		if err := book.Forget(server, tool); err != nil {
			return err
		}
		p.note("Your decision about %s/%s is forgotten.", server, tool)
	}
	return nil
}
