package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenon-mcp/tenon/app/show"
	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/internal/typo"
	"github.com/tenon-mcp/tenon/mcp"
)

func (p *program) toolsCommand() *cobra.Command {
	c := &cobra.Command{
		Use:     "tools SERVER [TOOL …]",
		Short:   "List a server's tools, or show some of them in full",
		Example: "  tenon tools builtin:calc\n  tenon tools builtin:calc add\n  tenon tools -- npx -y @modelcontextprotocol/server-everything",
		RunE: p.with(func(ctx context.Context, s *session, out *show.Printer, rest []string) error {
			tools, err := client.All(s.Tools(ctx))
			if err != nil {
				return err
			}
			if len(rest) == 0 {
				return out.Tools(tools)
			}
			for _, name := range rest {
				t, err := find(tools, name, func(t *mcp.Tool) string { return t.Name }, "tool")
				if err != nil {
					return err
				}
				if err := out.Tool(t); err != nil {
					return err
				}
			}
			return nil
		}),
	}
	c.AddCommand(p.toolsApproveCommand(), p.toolsForgetCommand(), p.toolsPermissionsCommand())
	return c
}

func (p *program) resourcesCommand() *cobra.Command {
	templates := false
	c := &cobra.Command{
		Use:   "resources SERVER",
		Short: "List a server's resources and resource templates",
		RunE: p.with(func(ctx context.Context, s *session, out *show.Printer, rest []string) error {
			if !templates {
				all, err := client.All(s.Resources(ctx))
				if err = unlessMissing(err); err != nil {
					return err
				}
				if err := out.Resources(all); err != nil {
					return err
				}
				if out.Format != show.Text {
					return nil
				}
			}
			all, err := client.All(s.ResourceTemplates(ctx))
			if err = unlessMissing(err); err != nil {
				return err
			}
			if !templates && len(all) > 0 && !p.quiet {
				fmt.Fprintln(p.out, "\n"+out.Bold("Templates"))
			}
			return out.Templates(all)
		}),
	}
	c.Flags().BoolVar(&templates, "templates", false, "list only the resource templates")
	return c
}

func (p *program) promptsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "prompts SERVER",
		Short: "List a server's prompts and their arguments",
		RunE: p.with(func(ctx context.Context, s *session, out *show.Printer, rest []string) error {
			all, err := client.All(s.Prompts(ctx))
			if err = unlessMissing(err); err != nil {
				return err
			}
			return out.Prompts(all)
		}),
	}
}

// with connects to the server, runs f, and closes the connection.
func (p *program) with(do func(ctx context.Context, s *session, out *show.Printer, rest []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		out, err := p.printer()
		if err != nil {
			return err
		}
		s, rest, err := p.open(cmd, args)
		if err != nil {
			return err
		}
		err = do(cmd.Context(), s, out, rest)
		if wrong := p.checkReplies(); wrong != nil {
			err = wrong
		}
		if p.current != nil { // the next command of the shell begins on a line of its own
			out.EndLine()
		}
		return errors.Join(err, s.Close())
	}
}

// unlessMissing returns nil for a "method not found" error: the list is empty.
func unlessMissing(err error) error {
	if e, ok := errors.AsType[*mcp.Error](err); ok && e.Code == mcp.CodeMethodNotFound {
		return nil
	}
	return err
}

// find returns the item with a name; the error suggests similar names.
func find[T any](all []*T, name string, nameOf func(*T) string, what string) (*T, error) {
	var names []string
	for _, t := range all {
		if nameOf(t) == name {
			return t, nil
		}
		names = append(names, nameOf(t))
	}
	return nil, usagef("no %s %q%s", what, name, suggest(name, names))
}

// suggest returns the end of an error: the most similar of the valid names, or all
// if they are few.
func suggest(name string, all []string) string {
	best, least := "", len(name)/2+1
	for _, one := range all {
		d := typo.Distance(strings.ToLower(name), strings.ToLower(one), least)
		if strings.Contains(one, name) && name != "" {
			d = 0
		}
		if d <= least {
			best, least = one, d-1
		}
	}
	switch {
	case best != "":
		return fmt.Sprintf(": did you mean %s?", best)
	case len(all) == 0:
		return ": there are none"
	case len(all) <= 12:
		return ": there are " + strings.Join(all, ", ")
	}
	return ""
}

// commandNames lists the commands below one, for suggestions.
func commandNames(c *cobra.Command) []string {
	var names []string
	for _, sub := range c.Commands() {
		if !sub.Hidden {
			names = append(names, sub.Name())
		}
	}
	return names
}
