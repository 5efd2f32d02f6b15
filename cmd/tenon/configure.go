package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/show"
	"github.com/tenon-mcp/tenon/builtin"
	"github.com/tenon-mcp/tenon/internal/redact"
	"github.com/tenon-mcp/tenon/internal/visible"
)

func (p *program) configCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "config",
		Short: "List, add, remove, find and import servers",
		Long: `Servers are configured in two files: .mcp.json in a project, and your own
tenon.json. If both have a server of the same name, yours is used. docs/config.md
describes the format.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("unknown command \"config %s\"; use list, add, remove, search, import or approve", args[0])
			}
			return p.listConfig()
		},
	}
	c.AddCommand(
		&cobra.Command{Use: "list", Short: "List the servers and the files that configure them", Args: noArgs, RunE: func(*cobra.Command, []string) error { return p.listConfig() }},
		p.configAdd(), p.configRemove(), p.configSearch(), p.configImport(), p.configApprove(),
	)
	return c
}

// A listed server is the JSON form of a configured server: variables are not
// expanded, and secrets in the file are removed.
type listed struct {
	Name     string   `json:"name"`
	Kind     string   `json:"kind"`
	Command  []string `json:"command,omitempty"`
	URL      string   `json:"url,omitempty"`
	Builtin  string   `json:"builtin,omitempty"`
	File     string   `json:"file"`
	Line     int      `json:"line,omitempty"`
	Project  bool     `json:"project,omitempty"`
	Disabled bool     `json:"disabled,omitempty"`
	Shadowed string   `json:"shadowedBy,omitempty"`
	Problem  string   `json:"problem,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
	readiness
}

func (p *program) listConfig() error {
	out, err := p.printer()
	if err != nil {
		return err
	}
	c, err := p.config()
	if err != nil {
		return err
	}
	all := []listed{}
	known := redact.New() // by name: nothing is filled in
	for _, e := range c.Entries() {
		l := listed{Name: e.Name, Kind: string(e.Kind), URL: known.URL(e.URL), Builtin: known.URL(e.Builtin), File: e.Source.File, Line: e.Source.Line,
			Project: e.Source.Project, Disabled: e.Disabled, Shadowed: e.Shadowed}
		if e.Command != "" {
			l.Command = known.Args(append([]string{e.Command}, e.Args...))
		}
		if e.Err != nil {
			l.Problem = known.Text(e.Err.Error())
		}
		l.readiness, l.Warnings = p.readiness(e), e.Warnings
		all = append(all, l)
	}
	switch out.Format {
	case show.Text:
	case show.JSONL:
		for _, l := range all {
			if err := out.Value(l); err != nil {
				return err
			}
		}
		return nil
	default:
		return out.Value(map[string]any{"servers": all})
	}
	if len(all) == 0 {
		fmt.Fprintf(p.out, "No servers are configured in %s. Add one with tenon config add NAME -- COMMAND.\n", c.UserFile())
		return nil
	}
	for _, l := range all {
		what := strings.Join(l.Command, " ") + l.URL
		if l.Builtin != "" {
			what = "builtin:" + l.Builtin
		}
		var marks []string
		if l.Project {
			marks = append(marks, "from the project", l.Approval.text())
		}
		if l.Disabled {
			marks = append(marks, "disabled")
		}
		if l.Shadowed != "" {
			marks = append(marks, "not used: "+l.Shadowed+" has the same name")
		}
		fmt.Fprintf(p.out, "%s  %s\n", out.Bold(visible.Line(l.Name)), visible.Line(what))
		if !p.quiet {
			fmt.Fprintf(p.out, "  %s\n", out.Dim(visible.Line(strings.Join(append([]string{fmt.Sprintf("%s:%d", l.File, l.Line)}, marks...), " · "))))
		}
		for _, problem := range l.problems() {
			fmt.Fprintf(p.out, "  %s\n", out.Red(visible.Line(problem)))
		}
	}
	return nil
}

// knownBuiltin returns an error if there is no builtin server of this name.
func knownBuiltin(name string) error {
	var names []string
	for _, k := range builtin.Kinds() {
		names = append(names, k.Name)
	}
	if slices.Contains(names, name) {
		return nil
	}
	hint := suggest(name, names)
	if strings.HasSuffix(hint, "?") {
		hint += " There are " + strings.Join(names, ", ")
	}
	return usagef("unknown builtin server %q%s", name, hint)
}

func pairs(words []string) (map[string]string, error) {
	if len(words) == 0 {
		return nil, nil
	}
	return texts(words)
}

func (p *program) configFile(toProject bool) (string, error) {
	if toProject {
		return filepath.Join(p.project, ".mcp.json"), nil
	}
	dir, err := p.configDir()
	return filepath.Join(dir, "tenon.json"), err
}

func (p *program) configRemove() *cobra.Command {
	return &cobra.Command{
		Use:   "remove NAME",
		Short: "Remove a server",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("missing NAME; tenon config lists the servers")
			}
			c, err := p.config()
			if err != nil {
				return err
			}
			for _, e := range c.Entries() {
				if e.Name == args[0] && e.Shadowed == "" {
					if err := config.Remove(e.Source.File, e.Name); err != nil {
						return usageError{err}
					}
					p.note("Removed %s from %s.", e.Name, e.Source.File)
					p.cleanUp(e, c.Entries())
					return nil
				}
			}
			return usagef("no server %q%s", args[0], suggest(args[0], c.Names()))
		},
	}
}

func (p *program) configApprove() *cobra.Command {
	return &cobra.Command{
		Use:   "approve NAME …",
		Short: "Review and approve a project's servers",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("missing NAME; tenon config lists the servers")
			}
			for _, name := range args {
				if _, err := p.named(cmd.Context(), name); err != nil {
					return err
				}
				p.note("Approved %s.", name)
			}
			return nil
		},
	}
}
