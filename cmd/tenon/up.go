package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/spf13/cobra"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/connect"
	"github.com/tenon-mcp/tenon/app/inspect"
	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/app/llm/choose"
	"github.com/tenon-mcp/tenon/app/sample"
	"github.com/tenon-mcp/tenon/app/web"
	"github.com/tenon-mcp/tenon/app/workspace"
	"github.com/tenon-mcp/tenon/auth/login"
	"github.com/tenon-mcp/tenon/internal/visible"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// A pageRun is what the flags of up and inspect say.
type pageRun struct {
	desk
	workspace string
	addr      string
	noBrowser bool
	remote    bool
	tap       bool
	only      string // the server of tenon inspect
}

func (v *pageRun) pageFlags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&v.addr, "addr", "127.0.0.1:0", "where to serve the page; port 0 takes a free one")
	f.BoolVar(&v.noBrowser, "no-browser", false, "print the address and open no browser")
	f.BoolVar(&v.remote, "remote", false, "allow an address that other machines can reach")
}

func (p *program) upCommand() *cobra.Command {
	var v pageRun
	c := &cobra.Command{
		Use:   "up",
		Short: "Start the host with its servers, and open the page that shows everything",
		Long: `Start the host and open a page on this machine: the host, its servers, every
message between them, tools to drive, and a chat. It needs no key, no network and
no set-up: a workspace with a sample vault, a folder of files and a small shop is
made in your data folder, and what is in your configuration is there as well.
Servers that the project's .mcp.json adds wait in the page for your approval.

The page is opened with a token that works once. Press Enter for another address.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.up(cmd.Context(), &v) },
	}
	v.flags(c)
	v.pageFlags(c)
	c.Flags().StringVar(&v.workspace, "workspace", "", "the `folder` of samples, sessions and approvals (default: in your data folder)")
	c.Flags().BoolVar(&v.tap, "tap", false, "also show what real hosts send through tenon tap")
	return c
}

func (p *program) inspectCommand() *cobra.Command {
	var v pageRun
	c := &cobra.Command{
		Use:   "inspect SERVER",
		Short: "Open the page on one server",
		RunE: func(cmd *cobra.Command, args []string) error {
			entry, rest, err := p.target(cmd, args)
			if err != nil {
				return err
			}
			if len(rest) > 0 {
				return usagef("%q is one word too many", rest[0])
			}
			v.only = entry.Name
			return p.page(cmd.Context(), &v, []config.Server{entry})
		},
	}
	v.flags(c)
	v.pageFlags(c)
	c.Flags().StringVar(&v.workspace, "workspace", "", "the `folder` of sessions and approvals (default: in your data folder)")
	return c
}

// up starts the samples and everything of the person's own configuration.
func (p *program) up(ctx context.Context, v *pageRun) error {
	var err error
	if v.workspace, err = workspaceDir(v.workspace); err != nil {
		return err
	}
	place, err := sample.Fill(v.workspace)
	if err != nil {
		return err
	}
	servers := []config.Server{
		embedded("calc", "calc", nil),
		embedded("files", "fs", url.Values{"root": {place.Files}}),
		embedded("notes", "notes", url.Values{"vault": {place.Vault}}),
		embedded("shop", "sql", url.Values{"dsn": {place.Shop}}),
	}
	more, err := p.ownServers(ctx, v)
	if err != nil {
		return err
	}
	for _, s := range more {
		servers = slices.DeleteFunc(servers, func(o config.Server) bool { return o.Name == s.Name }) // the person's own counts
		servers = append(servers, s)
	}
	return p.page(ctx, v, servers)
}

func embedded(name, builtin string, q url.Values) config.Server {
	return config.Server{Name: name, Kind: config.Builtin, Builtin: builtin, Query: q}
}

// ownServers are those of the person's file, and those of the project that are
// approved; the others wait in the page.
func (p *program) ownServers(ctx context.Context, v *pageRun) ([]config.Server, error) {
	if len(v.servers) > 0 {
		return p.chosen(ctx, v.servers)
	}
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
			_, verdict, verr := p.verdict(s)
			if verr != nil || !verdict.Approved {
				continue
			}
			if verdict.Program != "" {
				s.Command = verdict.Program
			}
		}
		if err != nil {
			p.note("%s is left out: %v", e.Name, err)
			continue
		}
		all = append(all, s)
	}
	return all, nil
}

// page opens a workspace with these servers and serves its page.
func (p *program) page(ctx context.Context, v *pageRun, servers []config.Server) error {
	dir, err := workspaceDir(v.workspace)
	if err != nil {
		return err
	}
	l, err := listenLocal(v.addr, v.remote)
	if err != nil {
		return err
	}
	defer l.Close()
	choice, err := p.choose(ctx, v.model)
	if err != nil {
		return err
	}
	c, err := p.config()
	if err != nil {
		return err
	}
	settings, err := v.settings(c.Settings())
	if err != nil {
		return err
	}
	models := &modelShelf{p: p, open: choice}
	defer models.close()
	var w *workspace.Workspace
	s := web.New(&web.Options{
		Models: models.list, Choose: models.choose, Only: v.only, Hosts: pageHosts(l),
		Pending: func() []web.Pending { return p.waiting(w) },
		Approve: func(ctx context.Context, name, pin string) error { return p.approvePending(ctx, w, name, pin) },
		Eras: func(ctx context.Context, server string, r mcp.Revision, see func(bool, []byte)) (mcp.Handler, func() error, error) {
			return p.inEra(ctx, w, server, r, see)
		},
	})
	o := workspace.Options{
		Dir: filepath.Join(dir, "host"), Settings: settings, Servers: servers, Model: choice.Model, Builtin: openBuiltin, Tokens: logins(dir),
		Event: s.Event, State: s.State, Revision: mcp.Revision(p.revision),
	}
	o.Host.System, o.Host.CallIdle = v.system, p.timeout
	if w, err = workspace.Open(o); err != nil {
		return err
	}
	defer w.Close()
	s.Show(w)
	var more sync.WaitGroup
	defer more.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if v.tap {
		more.Go(func() { p.receive(ctx, w.Log) })
	}
	p.announce(l, s, choice, v.noBrowser)
	if p.interactive() {
		go p.onEnter(func() { p.announce(l, s, choice, true) }) // ends with the program
	}
	return s.Serve(ctx, l)
}

// announce prints the address, and opens it.
func (p *program) announce(l net.Listener, s *web.Server, choice *choose.Choice, noBrowser bool) {
	page := fmt.Sprintf("http://%s/#token=%s", l.Addr(), s.NewToken())
	fmt.Fprintf(p.out, "Model: %s\nOpen   %s\n", visible.Line(label(choice)), page)
	if noBrowser {
		return
	}
	if err := login.OpenBrowser(page); err != nil {
		p.note("No browser could be opened (%v): open the address yourself.", err)
	}
}

func (p *program) onEnter(again func()) {
	in := bufio.NewScanner(p.in)
	for in.Scan() {
		again()
	}
}

func (p *program) receive(ctx context.Context, log *inspect.Log) {
	socket, err := p.tapSocket()
	if err == nil {
		p.note("Showing what passes through tenon tap.")
		err = inspect.Receive(ctx, socket, log)
	}
	if err != nil {
		p.note("tenon tap cannot be shown: %v", err)
	}
}

// tapSocket is where tenon up --tap hears from tenon tap.
func (p *program) tapSocket() (string, error) {
	dir, err := p.configDir()
	return filepath.Join(dir, "tap.sock"), err
}

// workspaceDir is where samples and sessions are kept.
func workspaceDir(given string) (string, error) {
	if given != "" {
		return filepath.Abs(given)
	}
	if d := os.Getenv("XDG_DATA_HOME"); d != "" {
		return filepath.Join(d, "tenon"), nil
	}
	if home, err := os.UserHomeDir(); err == nil && os.Getenv("APPDATA") == "" {
		return filepath.Join(home, ".local", "share", "tenon"), nil
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", usagef("there is no folder for your data (%w): use --workspace", err)
	}
	return filepath.Join(dir, "tenon", "workspace"), nil
}

// listenLocal listens on an address of this machine alone, unless the person
// says otherwise.
func listenLocal(addr string, remote bool) (net.Listener, error) {
	at, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		return nil, usageError{err}
	}
	if !at.IP.IsLoopback() && !remote { // asked before anything listens
		return nil, usagef("%s can be reached from other machines, and whoever has the page can start your servers: use 127.0.0.1, or say --remote if that is what you want", addr)
	}
	l, err := net.ListenTCP("tcp", at)
	if err != nil {
		return nil, usageError{err}
	}
	return l, nil
}

// pageHosts are the names that a page may be reached under from elsewhere: the
// addresses of this machine and its name. There are none on the loopback.
func pageHosts(l net.Listener) []string {
	at, ok := l.Addr().(*net.TCPAddr)
	if !ok || at.IP.IsLoopback() {
		return nil
	}
	hosts := []string{at.IP.String()}
	if at.IP.IsUnspecified() {
		hosts = nil
		addrs, err := net.InterfaceAddrs()
		if err != nil {
			return nil
		}
		for _, a := range addrs {
			if ip, ok := a.(*net.IPNet); ok {
				hosts = append(hosts, ip.IP.String())
			}
		}
	}
	if name, err := os.Hostname(); err == nil {
		hosts = append(hosts, name)
	}
	return hosts
}

// waiting lists the servers of the project that are not approved.
func (p *program) waiting(w *workspace.Workspace) []web.Pending {
	all := []web.Pending{}
	c, err := config.Load(&config.Options{Dir: p.project, UserDir: p.userDir, Input: unanswered})
	if err != nil {
		return append(all, web.Pending{Name: ".mcp.json", Refused: err.Error()})
	}
	for _, e := range c.Entries() {
		if !e.Source.Project || e.Shadowed != "" || e.Disabled || w != nil && w.Fleet.Get(e.Name) != nil {
			continue
		}
		one := web.Pending{Name: visible.Line(e.Name), File: e.Source.File}
		s, err := c.Server(e.Name)
		if err != nil {
			one.Refused = err.Error()
			all = append(all, one)
			continue
		}
		one.Command = s.CommandLine()
		_, verdict, err := p.verdict(s)
		one.Pin, one.Warnings, one.Refused = verdict.Pin, verdict.Warnings, verdict.Refused
		for _, c := range verdict.Changed {
			one.Changed = append(one.Changed, web.Change(c))
		}
		if err != nil && one.Refused == "" {
			one.Refused = err.Error()
		}
		if len(e.Inputs) > 0 {
			one.Refused = fmt.Sprintf("it asks for %s: set TENON_INPUT_%s, or approve it once with tenon config approve %s", e.Inputs[0].ID, e.Inputs[0].ID, e.Name)
		}
		all = append(all, one)
	}
	return all
}

// approvePending starts a project's server that the person has looked at in
// the page. It must still be what they have looked at.
func (p *program) approvePending(_ context.Context, w *workspace.Workspace, name, pin string) error {
	c, err := p.config()
	if err != nil {
		return err
	}
	s, err := c.Server(name)
	if err != nil {
		return err
	}
	approvals, verdict, err := p.verdict(s)
	switch {
	case err != nil:
		return err
	case verdict.Refused != "":
		return errors.New(verdict.Refused)
	case verdict.Pin != pin:
		return errors.New("it has changed since you looked at it: look again")
	}
	if err := approvals.Approve(s); err != nil {
		return err
	}
	if verdict.Program != "" {
		s.Command = verdict.Program
	}
	return w.Add(s)
}

// eraWatch shows the frames of one connection.
type eraWatch struct {
	*inspect.Wire
	see func(sent bool, frame []byte)
}

func (e eraWatch) Frame(d jsonrpc.Direction, frame []byte) {
	e.see(d == jsonrpc.Out, frame)
	e.Wire.Frame(d, frame)
}

// inEra opens a second connection to a server in a revision of the person's
// choice.
func (p *program) inEra(ctx context.Context, w *workspace.Workspace, server string, r mcp.Revision, see func(bool, []byte)) (mcp.Handler, func() error, error) {
	one := w.Fleet.Get(server)
	if one == nil {
		return nil, nil, fmt.Errorf("there is no server named %s", server)
	}
	entry := one.Entry()
	s, err := connect.Open(ctx, entry, &connect.Options{
		Client: w.Host.ClientOptions(server), Builtin: openBuiltin, Known: r, Once: true, NoLogin: true,
		Watch: func(name string) connect.Watcher {
			return eraWatch{w.Log.Wire(fmt.Sprintf("%s (%s)", name, r)), see}
		},
	})
	if err != nil {
		return nil, nil, err
	}
	return s, s.Close, nil
}

// A modelShelf has the models that can be chosen in the page, and closes the
// one that is put back.
type modelShelf struct {
	p    *program
	mu   sync.Mutex
	open *choose.Choice
}

func (m *modelShelf) list(ctx context.Context) []string {
	names := []string{"none"}
	for _, f := range choose.Survey(ctx, nil) {
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

func (m *modelShelf) choose(ctx context.Context, name string) (llm.Model, error) {
	c, err := m.p.choose(ctx, name)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	old := m.open
	m.open = c
	m.mu.Unlock()
	return c.Model, closeChoice(old)
}

func (m *modelShelf) close() {
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
