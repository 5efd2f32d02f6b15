package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/llm/choose"
	"github.com/tenon-mcp/tenon/app/recording"
	"github.com/tenon-mcp/tenon/app/web"
	"github.com/tenon-mcp/tenon/app/wirelog"
	"github.com/tenon-mcp/tenon/app/workspace"
	"github.com/tenon-mcp/tenon/auth/login"
	"github.com/tenon-mcp/tenon/internal/visible"
	"github.com/tenon-mcp/tenon/mcp"
)

// page opens a workspace with these servers and serves its page.
func (p *program) page(ctx context.Context, v *pageRun, servers []config.Server) error {
	l, err := listenLocal("--addr", v.addr, v.remote)
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
	models := &modelRegistry{p: p, open: choice}
	defer models.close()
	var w *workspace.Workspace
	options := web.Options{
		Models: models.list, Choose: models.choose, Only: v.only, Hosts: pageHosts(l),
		Pending: func() []web.Pending { return p.waiting(w) },
		Approve: func(ctx context.Context, name, pin string) error { return p.approvePending(ctx, w, name, pin) },
		Eras: func(ctx context.Context, server string, r mcp.Revision, see func(bool, []byte)) (mcp.Handler, func() error, error) {
			return p.inEra(ctx, w, server, r, see)
		},
	}
	if pageHosts(l) == nil && v.only == "" { // what runs programs is not for other machines
		options.Providers, options.Connect = models.providers, models.connect
		options.Propose = func(ctx context.Context, a web.Addition) ([]web.Proposal, error) { return p.propose(ctx, w, a) }
		options.Add = func(ctx context.Context, a web.Addition, pin string) (string, error) {
			return p.addPasted(ctx, w, a, pin)
		}
	}
	s := web.New(&options)
	if v.workspace == "" {
		p.noteOldFiles()
	}
	o, err := p.workspaceOptions(&v.hostFlags, v.workspace)
	if err != nil {
		return err
	}
	o.Settings, o.Servers, o.Model, o.Event, o.State = settings, servers, choice.Model, s.Event, s.State
	o.Host.Folder, o.Host.NoInstructions, o.Host.Views = folder(), v.noInstructions || settings.NoInstructions, true
	if w, err = workspace.Open(o); err != nil {
		return folderError(v.workspace, err)
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

// announce prints the addresses of the page, and opens the first one in the
// browser.
func (p *program) announce(l net.Listener, s *web.Server, choice *choose.Choice, noBrowser bool) {
	text := fmt.Sprintf("Model: %s\n", visible.Line(label(choice)))
	token, first := s.NewToken(), ""
	for i, at := range pageAddresses(l) {
		page := fmt.Sprintf("http://%s/#token=%s", at, token)
		if i == 0 {
			first = page
			text += fmt.Sprintf("Open   %s\n", page)
		} else {
			text += fmt.Sprintf("or     %s\n", page)
		}
	}
	fmt.Fprint(p.out, text)
	if noBrowser {
		return
	}
	if err := login.OpenBrowser(first); err != nil {
		p.note("Could not open a browser: %v. Open the address yourself.", err)
	}
}

// pageAddresses lists the host:port under which the page is served, for a
// browser of this machine first. An address for every interface, such as
// 0.0.0.0, is not among them: the page is not served under that name.
func pageAddresses(l net.Listener) []string {
	at, ok := l.Addr().(*net.TCPAddr)
	if !ok || !at.IP.IsUnspecified() {
		return []string{l.Addr().String()}
	}
	port := strconv.Itoa(at.Port)
	all := []string{net.JoinHostPort("127.0.0.1", port)}
	for _, host := range pageHosts(l) {
		if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() && !ip.IsLinkLocalUnicast() {
			all = append(all, net.JoinHostPort(host, port))
		}
	}
	return all
}

func (p *program) onEnter(again func()) {
	in := bufio.NewScanner(p.in)
	for in.Scan() {
		again()
	}
}

func (p *program) receive(ctx context.Context, log *wirelog.Log) {
	socket, err := p.tapSocket()
	if err == nil {
		p.note("Showing the traffic of tenon tap.")
		err = recording.Receive(ctx, socket, log)
	}
	if err != nil {
		p.note("Cannot show the traffic of tenon tap: %v", err)
	}
}

// tapSocket returns the path of the socket on which tenon up --tap receives traffic.
func (p *program) tapSocket() (string, error) {
	dir, err := p.configDir()
	return filepath.Join(dir, "tap.sock"), err
}

// listenLocal listens on the loopback address of a flag, or on any address with
// --remote.
func listenLocal(flag, addr string, remote bool) (net.Listener, error) {
	at, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		return nil, listenError(flag, addr, "127.0.0.1:7071", err)
	}
	if !at.IP.IsLoopback() && !remote { // asked before anything listens
		return nil, usagef("other machines can reach %s, and anyone with the page can start your servers: use 127.0.0.1, or add --remote to allow it", addr)
	}
	l, err := net.ListenTCP("tcp", at)
	if err != nil {
		return nil, listenError(flag, addr, "127.0.0.1:7071", err)
	}
	return l, nil
}

// pageHosts returns the host names under which other machines reach the page: the
// addresses and the name of this machine. On loopback it returns none.
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
