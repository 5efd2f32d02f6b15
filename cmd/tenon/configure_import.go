package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/internal/visible"
)

func (p *program) configImport() *cobra.Command {
	var dry, all bool
	c := &cobra.Command{
		Use:   "import APP",
		Short: "Import servers from another program",
		Long: `Import the servers of another program: ` + strings.Join(config.Apps, ", ") + `.
With --all, of each of these that is found.

Each server is shown and added to your tenon.json if you confirm (or with --yes).
Existing servers are not replaced.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if all != (len(args) == 0) || len(args) > 1 {
				return usagef("name one APP, or use --all: %s", strings.Join(config.Apps, ", "))
			}
			i, err := p.newImporter(dry || all && !p.yes && !p.interactive())
			if err != nil {
				return err
			}
			if all {
				return i.all(cmd)
			}
			return i.from(cmd, args[0])
		},
	}
	c.Flags().BoolVar(&dry, "dry-run", false, "show what would be added without adding it")
	c.Flags().BoolVar(&all, "all", false, "import from every program that is found; without a terminal, only show it")
	return c
}

// An importer adds the servers of other programs to the user's file.
type importer struct {
	p    *program
	dry  bool
	file string
	have map[string]config.Entry
	new  int // servers that would be added, if dry
}

func (p *program) newImporter(dry bool) (*importer, error) {
	c, err := p.config()
	if err != nil {
		return nil, err
	}
	file, err := p.configFile(false)
	if err != nil {
		return nil, err
	}
	i := &importer{p: p, dry: dry, file: file, have: map[string]config.Entry{}}
	for _, e := range c.Entries() {
		if e.Shadowed == "" {
			i.have[e.Name] = e
		}
	}
	return i, nil
}

// all imports from every program that is found.
func (i *importer) all(cmd *cobra.Command) error {
	found, bad := 0, 0
	for _, app := range config.Apps {
		entries, warnings, err := i.read(app)
		if errors.Is(err, config.ErrNoFile) {
			continue
		}
		found++
		if err != nil {
			bad++
			i.p.note("%v", err)
			continue
		}
		fmt.Fprintf(i.p.out, "%s:\n", app)
		if err := i.add(cmd, entries, warnings); err != nil {
			return err
		}
	}
	switch {
	case found == 0:
		i.p.note("Found the configuration of none of %s.", strings.Join(config.Apps, ", "))
	case i.dry && i.new > 0:
		i.p.note("Nothing was added. Without --dry-run, at a terminal or with --yes, %d would be.", i.new)
	}
	if bad > 0 {
		return usagef("what is named above could not be read; fix it, or import the other programs one by one")
	}
	return nil
}

func (i *importer) read(app string) ([]config.Entry, []string, error) {
	return config.Import(app, &config.Options{Dir: i.p.project, UserDir: i.p.userDir})
}

// from imports from one program.
func (i *importer) from(cmd *cobra.Command, app string) error {
	entries, warnings, err := i.read(app)
	if err != nil {
		return usageError{err}
	}
	return i.add(cmd, entries, warnings)
}

func (i *importer) add(cmd *cobra.Command, entries []config.Entry, warnings []string) error {
	for _, w := range warnings {
		i.p.note("warning: %s", w)
	}
	for _, e := range entries {
		fmt.Fprintf(i.p.out, "%s  %s\n", visible.Line(e.Name), e.CommandLine())
		if mine, ok := i.have[e.Name]; ok {
			if members := e.Differences(mine); len(members) > 0 {
				i.p.note("  skipped: a server of this name exists, with other %s", strings.Join(members, ", "))
			} else {
				i.p.note("  skipped: it exists")
			}
			continue
		}
		if i.dry {
			i.new++
			i.have[e.Name] = e
			continue
		}
		yes, err := i.confirm(cmd, e)
		if err != nil {
			return err
		}
		if !yes {
			continue
		}
		if err := config.Add(i.file, e.Name, e); err != nil {
			return usageError{err}
		}
		i.have[e.Name] = e
		i.p.note("  added to %s", i.file)
	}
	return nil
}

// confirm reports whether a server is to be added.
func (i *importer) confirm(cmd *cobra.Command, e config.Entry) (bool, error) {
	switch {
	case e.Source.Project && !i.p.interactive():
		i.p.note("  skipped: it comes from the project %s, and in your own file it would be trusted everywhere. To add it, run this in a terminal", e.Source.File)
		return false, nil
	case e.Source.Project:
		return i.p.ask(cmd.Context(), "  It comes from the project. In your own file it is trusted everywhere. Add it? (yes/no) ")
	case i.p.yes:
		return true, nil
	case !i.p.interactive():
		return false, usagef("cannot ask for confirmation: not a terminal; use --yes, or --dry-run to add nothing")
	}
	return i.p.ask(cmd.Context(), "  Add it? (yes/no) ")
}
