package main

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/tenon-mcp/tenon/app/audit"
	"github.com/tenon-mcp/tenon/app/show"
	"github.com/tenon-mcp/tenon/app/workspace"
)

func (p *program) auditCommand() *cobra.Command {
	c := &cobra.Command{Use: "audit", Short: "Look after the log of what was called", Args: noWords, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	c.AddCommand(&cobra.Command{
		Use:   "verify [FILE]",
		Short: "Check that nothing was changed in, taken out of or put into the audit log",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			out, err := p.printer()
			if err != nil {
				return err
			}
			dir, err := p.hostDir("")
			if err != nil {
				return err
			}
			c, err := p.config()
			if err != nil {
				return err
			}
			file := workspace.AuditFile(dir)
			switch set := c.Settings().Audit.File; {
			case len(args) == 1:
				file = args[0]
			case set != "":
				file = set
			}
			lines, hash, err := audit.Verify(file)
			if errors.Is(err, fs.ErrNotExist) {
				return usagef("there is no audit log at %s: it begins with the first call; that of tenon up --workspace is there, as host/audit.jsonl", file)
			}
			if out.Format != show.Text {
				result := map[string]any{"file": file, "lines": lines, "hash": hash, "ok": err == nil}
				if err != nil {
					result["problem"] = err.Error()
				}
				if e := out.Value(result); e != nil {
					return e
				}
			} else if err != nil {
				fmt.Fprintln(p.out, out.Red("broken: ")+err.Error())
			} else {
				fmt.Fprintf(p.out, "%s is whole: %d lines, the last has the hash %s\n", file, lines, hash)
			}
			if err != nil {
				return errFound
			}
			return nil
		},
	})
	return c
}
