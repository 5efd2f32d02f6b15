package soak

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/app/store/taskstore"
	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/ext/tasks"
	"github.com/tenon-mcp/tenon/internal/freeport"
	"github.com/tenon-mcp/tenon/internal/tasktest"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
	"github.com/tenon-mcp/tenon/transport/stdio"
	"github.com/tenon-mcp/tenon/transport/streamable"
)

// The variables of a server that this program plays.
const (
	playVar = "SOAK_PLAY"
	addrVar = "SOAK_ADDR" // where it serves; empty: on standard input and output
	eraVar  = "SOAK_ERA"  // "modern", "legacy" or "" for both
	dirVar  = "SOAK_DIR"  // of its tasks and its journal
)

type said struct {
	Text string `json:"text"`
}

// playShop serves tools that return what their callers say.
func playShop() {
	ctx := context.Background()
	s := newShop()
	o := era.ServerOptions{ModernOnly: os.Getenv(eraVar) == "modern", LegacyOnly: os.Getenv(eraVar) == "legacy"}
	if os.Getenv(addrVar) == "" {
		tasktest.Check(stdio.Serve(ctx, s, &o))
		return
	}
	// Its address is in use for a moment after a kill.
	var l net.Listener
	var err error
	for begin := time.Now(); time.Since(begin) < hangs; time.Sleep(50 * time.Millisecond) {
		if l, err = net.Listen("tcp", os.Getenv(addrVar)); err == nil {
			break
		}
	}
	tasktest.Check(err)
	tasktest.Check(streamable.Serve(ctx, l, s, &streamable.Options{Era: o, Sessions: streamable.SessionLimits{Idle: time.Minute}, Store: &streamable.Memory{Events: 1 << 20}}, nil))
}

func newShop() *server.Server {
	s := server.New(mcp.Implementation{Name: "shop", Version: "1"}, nil)
	dir := os.Getenv(dirVar)
	store, err := taskstore.Open(filepath.Join(dir, "tasks.db"), nil)
	tasktest.Check(err)
	m, err := tasks.NewManager(s, &tasks.Options{Store: store, TTL: 6 * time.Hour, PollInterval: 200 * time.Millisecond, MaxTasks: 1 << 20})
	tasktest.Check(err)
	yes := true
	server.AddTool(s, "echo", "Return the text", func(_ context.Context, _ *mcp.Call, in said) (string, error) {
		return in.Text, nil
	}, &server.ToolOptions{Annotations: server.ReadOnly()})
	server.AddTool(s, "ask", "Return the text and the name of the user", func(_ context.Context, c *mcp.Call, in said) (string, error) {
		answer, err := server.Elicit[struct {
			Who string `json:"who"`
		}](c, "who", "Who says "+in.Text+"?")
		return in.Text + " " + answer.Who, err
	}, nil)
	server.AddTool(s, "slow", "Return the text after a while", func(ctx context.Context, c *mcp.Call, in said) (string, error) {
		for i := range 4 {
			server.Progress(c, float64(i+1), 4, in.Text)
			select {
			case <-time.After(20 * time.Millisecond):
			case <-ctx.Done():
				return "", ctx.Err()
			}
		}
		return in.Text, nil
	}, &server.ToolOptions{Annotations: server.ReadOnly()})
	server.AddTool(s, "big", "Return the text 10,000 times", func(_ context.Context, _ *mcp.Call, in said) (string, error) {
		return strings.Repeat(in.Text+"\n", 10_000), nil
	}, &server.ToolOptions{Annotations: server.ReadOnly()})
	journal := sync.OnceValues(func() (*os.File, error) {
		return os.OpenFile(filepath.Join(dir, "orders"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	})
	server.AddTool(s, "order", "Write the text down, which must not be done twice", func(_ context.Context, _ *mcp.Call, in said) (string, error) {
		f, err := journal()
		if err == nil {
			_, err = f.WriteString(in.Text + "\n")
		}
		return in.Text, err
	}, nil)
	server.AddTool(s, "job", "Return the text, as a task", func(ctx context.Context, _ *mcp.Call, in said) (string, error) {
		select {
		case <-time.After(300 * time.Millisecond):
			return in.Text, nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}, m.Tool(tasks.Optional, &server.ToolOptions{Annotations: &mcp.ToolAnnotations{IdempotentHint: &yes}}))
	return s
}

// shop returns the process of a server over HTTP.
func (r *run) shop(name, addr, revisions string) *process {
	return &process{name: name, args: []string{r.self}, env: r.shopEnv(name, addr, revisions), ready: func() error { return listens(addr) }}
}

// shopEnv returns the variables of a server, whose tasks and journal are in a
// folder that is named after it.
func (r *run) shopEnv(name, addr, revisions string) []string {
	dir := filepath.Join(r.dir, name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		r.t.Fatal(err)
	}
	return []string{playVar + "=shop", roleVar + "=" + name, statsVar + "=" + r.stats, addrVar + "=" + addr, eraVar + "=" + revisions, dirVar + "=" + dir}
}

func listens(addr string) error {
	c, err := net.DialTimeout("tcp", addr, time.Second)
	if err == nil {
		c.Close()
	}
	return err
}

// environment returns variables as the member env of an entry.
func environment(vars []string) map[string]string {
	all := map[string]string{}
	for _, v := range vars {
		name, value, _ := strings.Cut(v, "=")
		all[name] = value
	}
	return all
}

// gateway returns the process of a gateway, and writes its configuration.
func (r *run) gateway(name string) *process {
	addr, ops, dir := freeport.ForTest(r.t), freeport.ForTest(r.t), filepath.Join(r.dir, name)
	r.configure(dir, name, false)
	return &process{
		name: name,
		args: []string{r.tenon, "gateway", "--addr", addr, "--ops-addr", ops, "--page", "off", "--log-level", "error", "--drain", "5s", "--project", r.dir},
		env:  []string{"TENON_CONFIG_DIR=" + dir, "TENON_REDIS=", statsVar + "=" + r.stats, roleVar + "=" + name},
		ready: func() error {
			return ok("http://" + ops + "/readyz")
		},
	}
}

// addr returns the address in the arguments of a gateway.
func addrOf(p *process) string { return p.args[3] }

// configure writes the configuration of a gateway. One more server is in it if
// more is set.
func (r *run) configure(dir, name string, more bool) {
	type m = map[string]any
	child := r.shopEnv(name+"-stdio", "", "")
	servers := m{
		"modern": m{"url": "http://" + r.links["modern"].Addr + "/mcp"},
		"legacy": m{"url": "http://" + r.links["legacy"].Addr + "/mcp", "connection": m{"scope": "user", "max": 120, "idle": "10s"}},
		"frail":  m{"url": "http://" + r.links["frail"].Addr + "/mcp"},
		"stdio":  m{"command": r.self, "env": environment(child)},
		"files":  m{"command": r.tenon, "args": []string{"serve", "fs", "root=" + filepath.Join(r.dir, "files"), "ask=never"}, "env": environment([]string{statsVar + "=" + r.stats, roleVar + "=" + name + "-files"})},
		"notes":  m{"builtin": fmt.Sprintf("notes?vault=%s/vault", r.dir)},
		"sql":    m{"builtin": fmt.Sprintf("sql?dsn=%s/log.db&writes=1", r.dir)},
		"api":    m{"builtin": fmt.Sprintf("api?file=%s/api.yaml", r.dir)},
		"who":    m{"builtin": fmt.Sprintf("api?file=%s/who.yaml", r.dir)},
	}
	if more {
		servers["calc"] = m{"builtin": "calc"}
	}
	settings := m{"keys": filepath.Join(r.dir, "keys.json"), "sets": m{"host": m{"tools": []string{"*__echo"}}}, "audit": m{"off": true}}
	r.write(filepath.Join(dir, "tenon.json"), m{"mcpServers": servers, "gateway": settings})
}
