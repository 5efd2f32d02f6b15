package page

import (
	"context"
	"errors"
	"maps"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"testing"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/connect"
	"github.com/tenon-mcp/tenon/app/host"
	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/app/llm/keyword"
	"github.com/tenon-mcp/tenon/app/sample"
	"github.com/tenon-mcp/tenon/app/web"
	"github.com/tenon-mcp/tenon/app/workspace"
	"github.com/tenon-mcp/tenon/builtin"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// A fixture is a workspace with its page, in this process, so that a test can
// reach behind the page.
type fixture struct {
	work *workspace.Workspace
	web  *web.Server
	url  string
	dir  string
}

// address returns an address that works once.
func (h *fixture) address() string { return h.url + "/#token=" + h.web.NewToken() }

type setup struct {
	servers []config.Server
	builtin func(name string, q url.Values) (connect.Builtin, error)
	model   llm.Model
	pending []web.Pending
	eras    bool
	models  map[string]llm.Model // that can be chosen
	rules   []config.Rule
	pairs   []config.Pair // between which data is sensitive
	add     *web.Proposal // what any text would add
	folder  string        // of the project
	dir     string        // of sessions and approvals; empty: a new one
}

func newFixture(t *testing.T, p setup) *fixture {
	t.Helper()
	h := &fixture{}
	if p.builtin == nil {
		p.builtin = builtins
	}
	if p.model == nil {
		p.model = keyword.Model{}
	}
	o := &web.Options{Pending: func() []web.Pending { return p.pending }, Approve: func(context.Context, string, string) error { return errors.New("not in this test") }}
	if p.eras {
		o.Eras = func(ctx context.Context, server string, r mcp.Revision, see func(bool, []byte)) (mcp.Handler, func() error, error) {
			return inEra(ctx, h, server, r, see)
		}
	}
	if p.models != nil {
		o.Models = func(context.Context) []string { return slices.Sorted(maps.Keys(p.models)) }
		o.Choose = func(_ context.Context, name string) (llm.Model, error) {
			if m := p.models[name]; m != nil {
				return m, nil
			}
			return nil, errors.New("there is no model " + name)
		}
	}
	if p.add != nil {
		o.Propose = func(context.Context, web.Addition) ([]web.Proposal, error) { return []web.Proposal{*p.add}, nil }
		o.Add = func(context.Context, web.Addition, string) (string, error) { return "", errors.New("not in this test") }
		o.Providers = func(context.Context) []web.Provider {
			return []web.Provider{{Name: "anthropic", URL: "https://api.anthropic.com", Key: true, Variable: "ANTHROPIC_API_KEY"}, {Name: "ollama", URL: "http://127.0.0.1:11434/v1"}}
		}
		o.Connect = func(context.Context, web.Connection) (llm.Model, string, error) {
			return nil, "", errors.New("not in this test")
		}
	}
	h.web = web.New(o)
	if p.dir == "" {
		p.dir = filepath.Join(t.TempDir(), "host")
	}
	h.dir = p.dir
	var err error
	h.work, err = workspace.Open(workspace.Options{
		Dir: p.dir, Settings: config.Settings{Rules: p.rules, Sensitive: p.pairs}, Servers: p.servers, Model: p.model, Builtin: p.builtin, Host: host.Options{Views: true, Folder: p.folder},
		Event: h.web.Event, State: h.web.State, OpenPage: func(string, string) error { return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	h.web.Show(h.work)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h.url = "http://" + l.Addr().String()
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- h.web.Serve(ctx, l) }()
	t.Cleanup(func() {
		stop()
		<-done
		if err := h.work.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

func builtinServer(name, builtin string, q url.Values) config.Server {
	return config.Server{Name: name, Kind: config.Builtin, Builtin: builtin, Query: q}
}

// samples are the servers that tenon up begins with.
func samples(t *testing.T) []config.Server {
	t.Helper()
	place, err := sample.Fill(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return []config.Server{
		builtinServer("calc", "calc", nil),
		builtinServer("files", "fs", url.Values{"root": {place.Files}}),
		builtinServer("notes", "notes", url.Values{"vault": {place.Vault}}),
		builtinServer("shop", "sql", url.Values{"dsn": {place.Shop}}),
	}
}

func (h *fixture) ready(t *testing.T, names ...string) {
	t.Helper()
	ctx, stop := context.WithTimeout(context.Background(), waitLimit)
	defer stop()
	if err := h.work.Ready(ctx, names...); err != nil {
		t.Fatal(err)
	}
}

func builtins(name string, q url.Values) (connect.Builtin, error) {
	s, err := builtin.Open(name, q)
	if err != nil {
		return nil, err // not s: a nil server in an interface is not nil
	}
	return s, nil
}

// frames shows a test's page the messages of a second connection.
type frames struct {
	connect.Watcher
	see func(sent bool, frame []byte)
}

func (f frames) Frame(d jsonrpc.Direction, frame []byte) {
	f.see(d == jsonrpc.Out, frame)
	f.Watcher.Frame(d, frame)
}

func inEra(ctx context.Context, h *fixture, server string, r mcp.Revision, see func(bool, []byte)) (mcp.Handler, func() error, error) {
	s, err := connect.Open(ctx, h.work.Fleet.Get(server).Entry(), &connect.Options{
		Client: h.work.Host.ClientOptions(server), Builtin: builtins, Known: r, Once: true, NoLogin: true,
		Watch: func(name string) connect.Watcher { return frames{h.work.Log.Wire(name + " (" + string(r) + ")"), see} },
	})
	if err != nil {
		return nil, nil, err
	}
	return s, s.Close, nil
}
