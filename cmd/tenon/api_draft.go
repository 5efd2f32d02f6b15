package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/tenon-mcp/tenon/builtin/api/draft"
)

func (p *program) apiDraftCommand() *cobra.Command {
	var o draft.Options
	var out string
	c := &cobra.Command{
		Use:   "draft SPEC",
		Short: "Write a first file from an OpenAPI description",
		Long: `Read an OpenAPI 3.0 or 3.1 description (JSON or YAML; - is standard input) and
print a file with at most 25 tools: lists, searches and single things of the most
central resources before changes, and nothing deprecated. What did not become a tool
is listed at the end of the file with the reason. Choose with --tag and --op.

A draft is a start. Shorten its descriptions and outputs, and check it with tenon
api check.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("name one description, or - for standard input; run \"tenon help api draft\"")
			}
			data, err := p.description(args[0])
			if err != nil {
				return err
			}
			r, err := draft.Draft(data, o)
			if err != nil {
				return usageError{err}
			}
			if err := p.writeDraft(out, r.File); err != nil {
				return err
			}
			p.note("%d of %d operations became tools; the end of the file lists %d, with reasons", len(r.Tools), r.Operations, len(r.LeftOut))
			for _, n := range r.Notes {
				p.note("%s", n)
			}
			return nil
		},
	}
	f := c.Flags()
	f.StringArrayVar(&o.Operations, "op", nil, "an operation that becomes a tool: its `id` or \"GET /path\", * matches any text (repeatable); default: chosen by use")
	f.StringArrayVar(&o.Tags, "tag", nil, "choose among the operations with this `tag` (repeatable)")
	f.IntVar(&o.Max, "max", draft.MaxTools, "how many operations become tools, at most 25")
	f.BoolVar(&o.ReadOnly, "read-only", false, "only operations that read")
	f.StringVar(&o.Name, "name", "", "the `name` of the server (default: from the title)")
	f.StringVar(&o.Base, "base", "", "the base `URL` of the API (default: the first server of the description)")
	f.StringVarP(&out, "output", "o", "", "write to this `file`, which must not exist, instead of standard output")
	return c
}

// maxDescription bounds the size of a description.
const maxDescription = 128 << 20

func (p *program) description(name string) ([]byte, error) {
	in := p.in
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, noFile(name, err)
		}
		defer f.Close()
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, maxDescription+1))
	if err == nil && len(data) > maxDescription {
		err = usagef("%s is larger than %d MiB", name, maxDescription>>20)
	}
	return data, err
}

func (p *program) writeDraft(name string, data []byte) error {
	if name == "" {
		_, err := p.out.Write(data)
		return err
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return usagef("%s exists already; name another file, or remove it", name)
	}
	if err != nil {
		return fmt.Errorf("write the file: %w", err)
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}
