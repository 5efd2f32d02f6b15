package main

import (
	"context"
	"net/url"
	"slices"

	"github.com/spf13/cobra"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/sample"
)

// A pageRun holds the flags of up and inspect.
type pageRun struct {
	hostFlags
	workspace string
	addr      string
	noBrowser bool
	remote    bool
	tap       bool
	only      string // the server of tenon inspect
}

func (v *pageRun) pageFlags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&v.addr, "addr", "127.0.0.1:0", "the address of the page; port 0 picks a free port")
	f.BoolVar(&v.noBrowser, "no-browser", false, "print the address without opening a browser")
	f.BoolVar(&v.remote, "remote", false, "allow an address that other machines can reach")
}

func (p *program) upCommand() *cobra.Command {
	var v pageRun
	c := &cobra.Command{
		Use:   "up",
		Short: "Open a page with your servers, every message, and a chat",
		Long: `Open a page on this machine that shows your servers and every message, calls
tools, and has a chat. It needs no key, network or setup: sample servers (notes,
files and a small shop) are created in your data folder and run beside your
configured servers. Sessions, approvals, logins and the audit log are shared with
tenon chat and run. Servers from the project's .mcp.json wait in the page for your
approval.

The address of the page contains a token that works once. Press Enter for a new
address.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.up(cmd.Context(), &v) },
	}
	v.flags(c)
	v.pageFlags(c)
	c.Flags().StringVar(&v.workspace, "workspace", "", "the `folder` for samples, sessions and approvals (default: samples in your data folder, the rest shared with tenon chat)")
	c.Flags().BoolVar(&v.tap, "tap", false, "also show the traffic of tenon tap")
	return c
}

func (p *program) inspectCommand() *cobra.Command {
	var v pageRun
	c := &cobra.Command{
		Use:   "inspect SERVER",
		Short: "Open a page for one server",
		RunE: func(cmd *cobra.Command, args []string) error {
			entry, rest, err := p.target(cmd, args)
			if err != nil {
				return err
			}
			if len(rest) > 0 {
				return usagef("unexpected argument %q", rest[0])
			}
			v.only = entry.Name
			return p.page(cmd.Context(), &v, []config.Server{entry})
		},
	}
	v.flags(c)
	v.pageFlags(c)
	c.Flags().StringVar(&v.workspace, "workspace", "", "the `folder` for sessions and approvals (default: shared with tenon chat)")
	return c
}

// up starts the samples and the configured servers.
func (p *program) up(ctx context.Context, v *pageRun) error {
	if len(v.servers) > 0 { // only these
		servers, err := p.chosen(ctx, v.servers)
		if err != nil {
			return err
		}
		return p.page(ctx, v, servers)
	}
	dir, err := sampleDir(v.workspace)
	if err != nil {
		return err
	}
	place, err := sample.Fill(dir)
	if err != nil {
		return err
	}
	servers := []config.Server{
		embedded("calc", "calc", nil),
		embedded("files", "fs", url.Values{"root": {place.Files}}),
		embedded("notes", "notes", url.Values{"vault": {place.Vault}}),
		embedded("shop", "sql", url.Values{"dsn": {place.Shop}}),
	}
	more, err := p.ownServers()
	if err != nil {
		return err
	}
	for _, s := range more {
		servers = slices.DeleteFunc(servers, func(o config.Server) bool { return o.Name == s.Name }) // the user's own server replaces the sample
		servers = append(servers, s)
	}
	return p.page(ctx, v, servers)
}

func embedded(name, builtin string, q url.Values) config.Server {
	return config.Server{Name: name, Kind: config.Builtin, Builtin: builtin, Query: q}
}

// ownServers returns the servers of the user's file and the approved ones of the
// project; the others wait in the page for approval.
func (p *program) ownServers() ([]config.Server, error) {
	c, err := p.config()
	if err != nil {
		return nil, err
	}
	var all []config.Server
	for _, e := range c.Entries() {
		if e.Shadowed != "" || e.Disabled {
			continue
		}
		s, err := c.Server(e.Name)
		if err == nil && s.Source.Project {
			approvals, verdict, verr := p.verdict(s)
			if verr != nil || !verdict.Approved {
				continue
			}
			s = bound(s, approvals, verdict)
		}
		if err != nil {
			p.note("%s is not available: %v", e.Name, err)
			continue
		}
		all = append(all, s)
	}
	return all, nil
}
