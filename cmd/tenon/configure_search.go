package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tenon-mcp/tenon/app/discovery"
	"github.com/tenon-mcp/tenon/app/show"
	"github.com/tenon-mcp/tenon/internal/visible"
)

// A foundServer is the JSON form of a server that was found in a registry.
type foundServer struct {
	Name        string   `json:"name"`
	Version     string   `json:"version"`
	Title       string   `json:"title,omitempty"`
	Description string   `json:"description"`
	Status      string   `json:"status,omitempty"`
	Options     []string `json:"options"`
}

func (p *program) configSearch() *cobra.Command {
	var registry string
	var limit int
	c := &cobra.Command{
		Use:     "search TEXT",
		Short:   "Find servers in a registry",
		Long:    "List the servers of an MCP registry whose names contain TEXT. Add one with tenon config add.",
		Example: "  tenon config search weather --registry https://registry.example.com",
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) != 1:
				return usagef("missing TEXT, a part of the server's name")
			case registry == "":
				return usagef("missing --registry URL")
			case limit < 1:
				return usagef("--limit must be at least 1")
			}
			r, err := discovery.NewRegistry(registry, p.timeout)
			if err != nil {
				return usageError{err}
			}
			found, more, invalid, err := r.Search(cmd.Context(), args[0], limit)
			if err != nil {
				return describeError(err)
			}
			if invalid > 0 {
				p.note("%d entries of the registry are not valid and left out.", invalid)
			}
			if more {
				p.note("There are more; use a longer text, or --limit.")
			}
			return p.printFound(found)
		},
	}
	c.Flags().StringVar(&registry, "registry", "", "the `URL` of the MCP registry")
	c.Flags().IntVar(&limit, "limit", 30, "list at most this `number` of servers")
	return c
}

// printFound prints the servers that were found.
func (p *program) printFound(found []*discovery.Listing) error {
	out, err := p.printer()
	if err != nil {
		return err
	}
	all := []foundServer{}
	for _, l := range found {
		f := foundServer{Name: l.Server.Name, Version: l.Server.Version, Title: l.Server.Title, Description: l.Server.Description, Status: l.Status, Options: []string{}}
		for _, o := range l.Server.Describe("").Options {
			f.Options = append(f.Options, o.Summary())
		}
		all = append(all, f)
	}
	switch out.Format {
	case show.Text:
	case show.JSONL:
		for _, f := range all {
			if err := out.Value(f); err != nil {
				return err
			}
		}
		return nil
	default:
		return out.Value(map[string]any{"servers": all})
	}
	for _, f := range all {
		status := ""
		if f.Status != "" && f.Status != "active" {
			status = "  " + out.Yellow(visible.Line(f.Status))
		}
		fmt.Fprintf(p.out, "%s  %s%s\n", out.Bold(visible.Line(f.Name)), visible.Line(f.Version), status)
		if !p.quiet {
			fmt.Fprintf(p.out, "  %s\n", visible.Line(f.Description))
			for _, o := range f.Options {
				fmt.Fprintf(p.out, "  %s\n", out.Dim(visible.Line(o)))
			}
		}
	}
	if len(all) == 0 {
		p.note("No servers found.")
	}
	return nil
}
