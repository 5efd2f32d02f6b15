package main

import (
	"github.com/spf13/cobra"

	"github.com/tenon-mcp/tenon/app/permit"
	"github.com/tenon-mcp/tenon/app/show"
	"github.com/tenon-mcp/tenon/app/workspace"
)

// rules opens the rules and answers that count in the current folder.
func (p *program) rules() (*permit.Book, error) {
	c, err := p.config()
	if err != nil {
		return nil, err
	}
	dir, err := p.hostDir("")
	if err != nil {
		return nil, err
	}
	book, err := permit.Open(workspace.ToolsFile(dir), c.Settings())
	if err != nil {
		return nil, usage(err)
	}
	book.SetFolder(folder())
	return book, nil
}

func (p *program) toolsPermissionsCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "permissions",
		Short: "List the rules and answers that decide which tools may be called",
		Long: `List all rules and answers that decide in the current folder which tools may be
called, by scope, and where each is from: your answers in chat (user, project), the
rules of your tenon.json, and what counts without any. Rules of the command line and
answers for one session are listed by /permissions in chat.

Servers are not started.`,
		Example: "  tenon tools permissions\n  tenon tools permissions --format json",
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			out, err := p.printer()
			if err != nil {
				return err
			}
			book, err := p.rules()
			if err != nil {
				return err
			}
			return printPermissions(out, book.List(""))
		},
	}
	c.AddCommand(&cobra.Command{
		Use:   "remove ID …",
		Short: "Remove rules and answers",
		Long:  "Remove rules and answers by the ids that tenon tools permissions lists. A rule of\nyour tenon.json is removed from the file; the rest of the file stays as it is.",
		RunE: func(_ *cobra.Command, ids []string) error {
			if len(ids) == 0 {
				return usagef("missing ID; tenon tools permissions lists them")
			}
			book, err := p.rules()
			if err != nil {
				return err
			}
			for _, id := range ids {
				e, err := book.Remove(id, "")
				if err != nil {
					return usagef("%w; tenon tools permissions lists the ids", err)
				}
				p.note("Removed the rule %s: %s %s.", id, e.Effect, e.Name())
			}
			return nil
		},
	})
	return c
}

func printPermissions(out *show.Printer, all []permit.Entry) error {
	switch out.Format {
	case show.JSONL:
		for _, e := range all {
			if err := out.Value(e); err != nil {
				return err
			}
		}
		return nil
	case show.Text:
	default:
		return out.Value(map[string]any{"permissions": all})
	}
	var rows [][]string
	for _, e := range all {
		about := e.About
		if e.Off != "" {
			about += " (not here: " + e.Off + ")"
		}
		rows = append(rows, []string{e.ID, e.Scope, string(e.Effect), e.Name(), about, e.From})
	}
	return out.Table([]string{"ID", "SCOPE", "EFFECT", "TOOL", "CALLS", "FROM"}, rows, "no rules")
}
