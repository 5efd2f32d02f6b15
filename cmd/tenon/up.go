package main

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"sync"

	"github.com/spf13/cobra"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/connect"
	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/app/llm/choose"
	"github.com/tenon-mcp/tenon/app/sample"
	"github.com/tenon-mcp/tenon/app/wirelog"
	"github.com/tenon-mcp/tenon/app/workspace"
	"github.com/tenon-mcp/tenon/internal/redact"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
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
files, a small shop and its order service) are created in your data folder and run beside your
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
			if err := checkBuiltin(entry); err != nil {
				return usage(err)
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
	if service, err := p.startOrders(ctx, place.Orders); err != nil {
		p.note("The sample of orders is not available: %v", err)
	} else {
		defer service.stop()
		servers = append(servers, embedded("orders", "orders", url.Values{"base": {service.base}}))
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

// eraWatch reports the frames of one connection, without secrets.
type eraWatch struct {
	*wirelog.Wire
	known *redact.Values
	see   func(sent bool, frame []byte)
}

func (e eraWatch) Frame(d jsonrpc.Direction, frame []byte) {
	e.see(d == jsonrpc.Out, e.known.JSON(frame))
	e.Wire.Frame(d, frame)
}

// inEra opens a second connection to a server with a chosen revision.
func (p *program) inEra(ctx context.Context, w *workspace.Workspace, server string, r mcp.Revision, see func(bool, []byte)) (mcp.Handler, func() error, error) {
	one := w.Fleet.Get(server)
	if one == nil {
		return nil, nil, fmt.Errorf("no server %q", server)
	}
	entry := one.Entry()
	s, err := connect.Open(ctx, entry, &connect.Options{
		Client: w.Host.ClientOptions(server), Builtin: p.openBuiltin, Known: r, Once: true, NoLogin: true, Secrets: &p.secrets,
		Watch: func(name string) connect.Watcher {
			return eraWatch{w.Log.Wire(fmt.Sprintf("%s (%s)", name, r)), &p.secrets, see}
		},
	})
	if err != nil {
		return nil, nil, err
	}
	return s, s.Close, nil
}

// A modelRegistry opens the models that the page offers, and closes a model when
// another replaces it.
type modelRegistry struct {
	p    *program
	mu   sync.Mutex
	open *choose.Choice
}

func (m *modelRegistry) list(ctx context.Context) []string {
	names := []string{"none"}
	for _, f := range choose.Survey(ctx, m.p.modelOptions()) {
		if f.Problem != "" {
			continue
		}
		if len(f.Models) == 0 {
			names = append(names, f.Provider)
		}
		for _, one := range f.Models {
			names = append(names, f.Provider+"/"+one)
		}
	}
	return names
}

func (m *modelRegistry) choose(ctx context.Context, name string) (llm.Model, error) {
	c, err := m.p.choose(ctx, name)
	if err != nil {
		return nil, err
	}
	return c.Model, m.use(c)
}

// use makes a model the open one, and closes the one before.
func (m *modelRegistry) use(c *choose.Choice) error {
	m.mu.Lock()
	old := m.open
	m.open = c
	m.mu.Unlock()
	return closeChoice(old)
}

func (m *modelRegistry) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := closeChoice(m.open); err != nil {
		m.p.note("%v", err)
	}
}

func closeChoice(c *choose.Choice) error {
	if c == nil || c.Close == nil {
		return nil
	}
	return c.Close()
}
