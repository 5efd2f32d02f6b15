package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/show"
	"github.com/tenon-mcp/tenon/internal/redact"
	"github.com/tenon-mcp/tenon/internal/visible"
)

func (p *program) configCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "config",
		Short: "List, add, remove and import servers",
		Long: `Servers stand in two files: .mcp.json of a project, and your own tenon.json. Where
both name a server, your own counts. See docs/config.md for what may stand there.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("there is no tenon config %s: there are list, add, remove, import and approve", args[0])
			}
			return p.listConfig()
		},
	}
	c.AddCommand(
		&cobra.Command{Use: "list", Short: "List the servers and where they stand", Args: noWords, RunE: func(*cobra.Command, []string) error { return p.listConfig() }},
		p.configAdd(), p.configRemove(), p.configImport(), p.configApprove(),
	)
	return c
}

// A listed server is what scripts get to see: no secret is filled in, and those
// that stand in the file are left out.
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
	if out.Format != show.Text {
		return out.Value(map[string]any{"servers": all})
	}
	if len(all) == 0 {
		fmt.Fprintf(p.out, "No servers yet. tenon config add NAME -- COMMAND adds one to %s.\n", c.UserFile())
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
			marks = append(marks, "switched off")
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

func (p *program) configAdd() *cobra.Command {
	var env, headers []string
	var toProject bool
	c := &cobra.Command{
		Use:     "add NAME SERVER | add NAME -- COMMAND …",
		Short:   "Add a server under a name",
		Example: "  tenon config add files builtin:fs?root=.\n  tenon config add hub https://example.com/mcp --header 'Authorization: Bearer ${HUB_TOKEN}'\n  tenon config add everything -- npx -y @modelcontextprotocol/server-everything",
		RunE: func(cmd *cobra.Command, args []string) error {
			dash := cmd.ArgsLenAtDash()
			if len(args) < 2 || dash > 1 || (dash < 0 && len(args) != 2) || dash == 0 {
				return usagef("give a name, and what it stands for: a URL, builtin:NAME, or -- and a command")
			}
			target, rest := args[1], []string(nil)
			if dash == 1 {
				target, rest = "--", args[1:]
			}
			s, err := config.Parse(target, rest)
			if errors.Is(err, config.ErrName) {
				return usagef("%q is neither a URL nor builtin:NAME; write -- before a command", target)
			}
			if err != nil {
				return usageError{err}
			}
			e := config.Entry{Name: args[0], Kind: s.Kind, Command: s.Command, Args: s.Args, URL: s.URL}
			if s.Kind == config.Builtin {
				e.Builtin = strings.TrimPrefix(target, "builtin:")
				if !toProject && len(s.Query) > 0 { // relative paths are meant from here, wherever it is used
					if e.Dir, err = os.Getwd(); err != nil {
						return err
					}
				}
			}
			if e.Env, err = pairs(env); err != nil {
				return err
			}
			for _, line := range headers {
				name, value, err := config.ParseHeader(line)
				if err != nil {
					return usageError{err}
				}
				if e.Headers == nil {
					e.Headers = map[string]string{}
				}
				e.Headers[name] = value
			}
			file, err := p.configFile(toProject)
			if err != nil {
				return err
			}
			if err := config.Add(file, args[0], e); err != nil {
				return usageError{err}
			}
			p.note("%s was added to %s", args[0], file)
			return nil
		},
	}
	c.Flags().StringArrayVarP(&env, "env", "e", nil, "a variable for the program: `NAME=value`; ${VAR} in it is filled in at each start")
	c.Flags().StringArrayVarP(&headers, "header", "H", nil, "a header for the server: `'Name: value'`; ${VAR} in it is filled in each time")
	c.Flags().BoolVar(&toProject, "to-project", false, "add it to .mcp.json of the project instead of your own file")
	return c
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
				return usagef("say which server to remove; tenon config lists them")
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
					p.note("%s was removed from %s", e.Name, e.Source.File)
					return nil
				}
			}
			return usagef("there is no server %q%s", args[0], suggest(args[0], c.Names()))
		},
	}
}

func (p *program) configImport() *cobra.Command {
	var dry bool
	c := &cobra.Command{
		Use:   "import APP",
		Short: "Import the servers of claude-desktop, claude-code, vscode or cursor",
		Long: `Import servers that another application knows. Each one is shown, and added to
your tenon.json only if you say so (or with --yes). Names that are taken stay as
they are.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("say from where: claude-desktop, claude-code, vscode or cursor")
			}
			found, warnings, err := config.Import(args[0], &config.Options{Dir: p.project, UserDir: p.userDir})
			if err != nil {
				return usageError{err}
			}
			for _, w := range warnings {
				p.note("warning: %s", w)
			}
			return p.importAll(cmd, found, dry)
		},
	}
	c.Flags().BoolVar(&dry, "dry-run", false, "show what would be added, and add nothing")
	return c
}

func (p *program) importAll(cmd *cobra.Command, found []config.Entry, dry bool) error {
	c, err := p.config()
	if err != nil {
		return err
	}
	file, err := p.configFile(false)
	if err != nil {
		return err
	}
	taken := map[string]bool{}
	for _, n := range c.Names() {
		taken[n] = true
	}
	for _, e := range found {
		fmt.Fprintf(p.out, "%s  %s\n", visible.Line(e.Name), e.CommandLine())
		switch {
		case taken[e.Name]:
			p.note("  there is a server of this name already: left as it is")
			continue
		case dry:
			continue
		case e.Source.Project && !p.interactive():
			p.note("  it came with the project %s: left out, since in your own file it would be trusted everywhere. In a terminal you are asked about it", e.Source.File)
			continue
		case !p.yes && !p.interactive():
			return usagef("nobody is here to approve each server: add --yes, or --dry-run to only look")
		case !p.yes || e.Source.Project:
			question := "  Add it? (yes/no) "
			if e.Source.Project {
				question = "  It came with the project. In your own file it is trusted everywhere. Add it? (yes/no) "
			}
			yes, err := p.ask(cmd.Context(), question)
			if err != nil {
				return err
			}
			if !yes {
				continue
			}
		}
		if err := config.Add(file, e.Name, e); err != nil {
			return usageError{err}
		}
		p.note("  added to %s", file)
	}
	return nil
}

func (p *program) configApprove() *cobra.Command {
	return &cobra.Command{
		Use:   "approve NAME …",
		Short: "Look at servers of the project and approve them",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("say which server to approve; tenon config lists them")
			}
			for _, name := range args {
				if _, err := p.named(cmd.Context(), name); err != nil {
					return err
				}
				p.note("%s is approved", name)
			}
			return nil
		},
	}
}
