package term

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/app/args"
	"github.com/tenon-mcp/tenon/app/connect"
	"github.com/tenon-mcp/tenon/app/host"
	"github.com/tenon-mcp/tenon/app/workspace"
	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
)

// listing bounds the time that a server has to list its features, and naming that of
// one that the user names.
const (
	listing = 5 * time.Second
	naming  = 30 * time.Second
)

// A talk is the shared part of both user interfaces: the workspace and the shown
// session. It is safe for concurrent use.
type talk struct {
	w   *workspace.Workspace
	o   Options
	ctx context.Context // of everything that runs

	terminal bool // the user interface is a full screen

	mu      sync.Mutex
	session *host.Session
	running map[int]context.CancelCauseFunc
	next    int
	all     sync.WaitGroup
	cached  map[string]*listed
	shown   map[string]string      // by server/tool: the digest of the definition shown by /approve
	asking  map[string]*sync.Mutex // by server: one request at a time
}

// listed has the prompts and resources of a server.
type listed struct {
	prompts   []*mcp.Prompt
	resources []*mcp.Resource
	templates []*mcp.ResourceTemplate
}

func newTalk(ctx context.Context, w *workspace.Workspace, o Options) *talk {
	t := &talk{w: w, o: o, ctx: ctx, session: o.Session, running: map[int]context.CancelCauseFunc{}, cached: map[string]*listed{}, shown: map[string]string{}, asking: map[string]*sync.Mutex{}}
	if t.session == nil {
		t.session = w.Host.NewSession()
	}
	return t
}

func (t *talk) now() *host.Session {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.session
}

// change switches to another session.
func (t *talk) change(s *host.Session) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.session = s
}

// do runs f, which the user can stop. If the program ends, so does the context of
// f, with the cause host.ErrLeaving.
func (t *talk) do(f func(ctx context.Context) error) error {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(t.ctx))
	defer cancel(nil)
	defer context.AfterFunc(t.ctx, func() { cancel(host.ErrLeaving) })()
	t.mu.Lock()
	t.next++
	id := t.next
	t.running[id] = cancel
	t.all.Add(1)
	t.mu.Unlock()
	defer func() {
		t.mu.Lock()
		delete(t.running, id)
		t.mu.Unlock()
		t.all.Done()
	}()
	return f(ctx)
}

// busy reports whether something runs that can be stopped.
func (t *talk) busy() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.running) > 0
}

// stop cancels everything that runs.
func (t *talk) stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, cancel := range t.running {
		cancel(nil)
	}
}

// wait waits until nothing runs.
func (t *talk) wait() { t.all.Wait() }

// server returns the client of a server.
func (t *talk) server(name string) (*client.Client, error) {
	s := t.w.Fleet.Get(name)
	if s == nil {
		return nil, fmt.Errorf("unknown server %q: %s", name, t.servers())
	}
	return s.Client(), nil
}

// servers lists the names of servers, for errors.
func (t *talk) servers() string {
	var names []string
	for _, s := range t.w.Fleet.All() {
		names = append(names, s.Name())
	}
	if len(names) == 0 {
		return "no servers are configured"
	}
	return "the servers are " + strings.Join(names, ", ")
}

// waitFor waits for the tools of the server in server/tool.
func (t *talk) waitFor(ctx context.Context, name string) {
	server, _, _ := strings.Cut(name, "/")
	s := t.w.Fleet.Get(server)
	if s == nil {
		return
	}
	if now := s.State(); !now.Usable() && now.Phase != connect.Starting {
		return
	}
	ctx, stop := context.WithTimeout(ctx, naming)
	defer stop()
	_ = t.w.Host.WaitForTools(ctx, server) // without them the tool is unknown, which the caller says
}

// tool finds a tool by server/tool, by the model's name for it, or by its own
// name if only one server has it.
func (t *talk) tool(ctx context.Context, name string) (*host.Tool, error) {
	server, own, parted := strings.Cut(name, "/")
	ctx, stop := context.WithTimeout(ctx, listing)
	defer stop()
	var found []host.Tool
	for _, tool := range t.w.Host.Tools(ctx) {
		switch {
		case parted && tool.Server == server && tool.Tool.Name == own, tool.Name == name:
			return &tool, nil
		case tool.Tool.Name == name:
			found = append(found, tool)
		}
	}
	switch {
	case len(found) == 1:
		return &found[0], nil
	case len(found) > 1:
		return nil, fmt.Errorf("several servers have a tool %q; write %s/%s", name, found[0].Server, name)
	case parted && t.w.Fleet.Get(server) == nil:
		return nil, fmt.Errorf("unknown server %q: %s", server, t.servers())
	case parted:
		if s := t.w.Fleet.Get(server).State(); !s.Usable() {
			return nil, fmt.Errorf("%s is %s: %s", server, s.Phase, s.Why)
		}
	}
	return nil, fmt.Errorf("unknown tool %q; /tools lists the tools", name)
}

// list returns the prompts and resources of a server. They are cached until the
// server changes.
func (t *talk) list(ctx context.Context, server string) (*listed, error) {
	t.mu.Lock()
	one := t.asking[server]
	if one == nil {
		one = &sync.Mutex{}
		t.asking[server] = one
	}
	t.mu.Unlock()
	one.Lock()
	defer one.Unlock()
	t.mu.Lock()
	known := t.cached[server]
	t.mu.Unlock()
	if known != nil {
		return known, nil
	}
	c, err := t.server(server)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithTimeout(ctx, listing)
	defer stop()
	about, err := c.Discover(ctx)
	if err != nil {
		return nil, err
	}
	found := &listed{}
	var errs [3]error
	var asked sync.WaitGroup
	if about.Capabilities.Prompts != nil {
		asked.Go(func() { found.prompts, errs[0] = client.All(c.Prompts(ctx)) })
	}
	if about.Capabilities.Resources != nil {
		asked.Go(func() { found.resources, errs[1] = client.All(c.Resources(ctx)) })
		asked.Go(func() { found.templates, errs[2] = client.All(c.ResourceTemplates(ctx)) })
	}
	asked.Wait()
	for _, err := range errs {
		if err != nil && !notOffered(err) {
			return found, err
		}
	}
	t.mu.Lock()
	t.cached[server] = found
	t.mu.Unlock()
	return found, nil
}

// notOffered reports whether a server does not implement a list: some have
// resources and no templates.
func notOffered(err error) bool {
	e, ok := errors.AsType[*mcp.Error](err)
	return ok && e.Code == mcp.CodeMethodNotFound
}

// forget removes the cached lists of a server.
func (t *talk) forget(server string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.cached, server)
}

// names returns the usable servers.
func (t *talk) names() []string {
	var all []string
	for _, s := range t.w.Fleet.All() {
		if s.State().Usable() {
			all = append(all, s.Name())
		}
	}
	return all
}

// call calls a tool for the user. Events report the outcome.
func (t *talk) call(ctx context.Context, server, tool string, args json.RawMessage) error {
	_, err := t.now().Call(ctx, server, tool, args)
	return err
}

// promptLine returns the line that uses a prompt.
func promptLine(server, name string, values map[string]string) string {
	text := "/" + server + ":" + name
	for _, k := range slices.Sorted(maps.Keys(values)) {
		text += " " + k + "=" + args.Quote(values[k])
	}
	return text
}

// question returns the question of an ask, with the address of the server.
func (t *talk) question(a host.Ask) *question {
	q := newQuestion(a)
	if s := t.w.Fleet.Get(a.Server); s != nil {
		q.where = s.Entry().Address()
	}
	return q
}
