package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tenon-mcp/tenon/internal/version"
)

// manCommand writes the manual pages.
func (p *program) manCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "man FOLDER",
		Short: "Write manual pages to a folder",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("missing FOLDER, such as ~/.local/share/man/man1")
			}
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			return manPages(cmd.Root(), args[0])
		},
	}
}

func manPages(c *cobra.Command, dir string) error {
	if c.Hidden {
		return nil
	}
	name := strings.ReplaceAll(c.CommandPath(), " ", "-")
	f, err := os.Create(filepath.Join(dir, name+".1"))
	if err != nil {
		return err
	}
	manPage(f, c, name)
	if err := f.Close(); err != nil {
		return err
	}
	for _, sub := range c.Commands() {
		if err := manPages(sub, dir); err != nil {
			return err
		}
	}
	return nil
}

// manPage writes one page in roff.
func manPage(w io.Writer, c *cobra.Command, name string) {
	fmt.Fprintf(w, ".TH %q 1 \"\" \"tenon %s\"\n", strings.ToUpper(name), version.String())
	fmt.Fprintf(w, ".SH NAME\n%s \\- %s\n", roff(name), roff(c.Short))
	fmt.Fprintf(w, ".SH SYNOPSIS\n.B %s\n", roff(c.UseLine()))
	long := cmp.Or(c.Long, c.Short+".")
	fmt.Fprintf(w, ".SH DESCRIPTION\n.nf\n%s\n.fi\n", roff(long))
	flags := func(title string, set *pflag.FlagSet) {
		if !set.HasAvailableFlags() {
			return
		}
		fmt.Fprintf(w, ".SH %s\n", title)
		set.VisitAll(func(f *pflag.Flag) {
			if f.Hidden {
				return
			}
			value, about := pflag.UnquoteUsage(f)
			short := ""
			if f.Shorthand != "" {
				short = "-" + f.Shorthand + ", "
			}
			fmt.Fprintf(w, ".TP\n.B %s\n%s\n", roff(strings.TrimSpace(short+"--"+f.Name+" "+value)), roff(about))
		})
	}
	flags("OPTIONS", c.NonInheritedFlags())
	flags("COMMON OPTIONS", c.InheritedFlags())
	if c.Example != "" {
		fmt.Fprintf(w, ".SH EXAMPLES\n.nf\n%s\n.fi\n", roff(c.Example))
	}
	fmt.Fprintf(w, ".SH EXIT STATUS\n.nf\n%s.fi\n", roff(strings.TrimPrefix(exitCodesHelp, "Exit codes\n\n")))
}

// roff escapes text for roff.
func roff(s string) string {
	s = strings.ReplaceAll(s, `\`, `\e`)
	s = strings.ReplaceAll(s, "-", `\-`)
	var out []string
	for line := range strings.SplitSeq(s, "\n") {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			line = `\&` + line
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}
