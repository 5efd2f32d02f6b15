package taskstore_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/app/store/taskstore"
	"github.com/tenon-mcp/tenon/ext/tasks"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
	"github.com/tenon-mcp/tenon/transport/streamable"
)

// hangGuard is how long something may take that never does.
const hangGuard = time.Minute

// A child is another process of this test.
type child struct {
	cmd    *exec.Cmd
	stderr bytes.Buffer
	stdin  io.Closer
	url    string // of a server
	ended  chan struct{}
}

// start starts a process that does what a mode says, with a file.
func start(t *testing.T, mode, file string, env ...string) *child {
	t.Helper()
	c := &child{cmd: exec.Command(os.Args[0], file), ended: make(chan struct{})}
	c.cmd.Env = append(append(os.Environ(), "TASKSTORE_CHILD="+mode), env...)
	c.cmd.Stderr = &c.stderr
	var err error
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if mode != "serve" {
		if err := c.cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return c
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		c.cmd.Wait()
		t.Fatalf("the server does not start: %v: %s", err, c.stderr.String())
	}
	c.url = strings.TrimSpace(line)
	return c
}

// kill ends the process without a word.
func (c *child) kill() {
	c.cmd.Process.Kill()
	c.cmd.Wait()
	close(c.ended)
}

// stop ends the server as its user does.
func (c *child) stop(t *testing.T) {
	c.stdin.Close()
	if err := c.cmd.Wait(); err != nil {
		t.Errorf("the server ended with %v: %s", err, c.stderr.String())
	}
	close(c.ended)
}

// serve serves tools that are tasks over HTTP until the standard input ends. The
// name of a client is its principal.
func serve(file string) {
	store, err := taskstore.Open(file, nil)
	check(err)
	s := server.New(mcp.Implementation{Name: "test", Version: "1"}, &server.Options{Middleware: []mcp.Middleware{func(next mcp.Handler) mcp.Handler {
		return mcp.HandlerFunc(func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
			if c.Caller.Client == nil {
				return next.Serve(ctx, c)
			}
			named := *c
			named.Caller.Principal = &mcp.Principal{ID: c.Caller.Client.Name, Issuer: "test"}
			return next.Serve(ctx, &named)
		})
	}}})
	ttl, err := time.ParseDuration(os.Getenv("TASKSTORE_TTL"))
	check(err)
	m, err := tasks.NewManager(s, &tasks.Options{Store: store, TTL: ttl, PollInterval: 20 * time.Millisecond, MaxTasks: 1 << 20})
	check(err)
	type input struct {
		Millis int `json:"millis"`
	}
	pause := func(ctx context.Context, in input) error {
		select {
		case <-time.After(time.Duration(in.Millis) * time.Millisecond):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	server.AddTool(s, "work", "Work for a while", func(ctx context.Context, c *mcp.Call, in input) (string, error) {
		server.Progress(c, 1, 2, "half")
		return "worked for " + strconv.Itoa(in.Millis), pause(ctx, in)
	}, m.Tool(tasks.Required, nil))
	server.AddTool(s, "ask", "Ask twice", func(ctx context.Context, c *mcp.Call, in input) (string, error) {
		var got []string
		for _, key := range []string{"k1", "k2"} {
			f, err := server.Elicit[struct {
				Name string `json:"name"`
			}](c, key, "Name?")
			if err != nil {
				return "", err
			}
			got = append(got, f.Name)
		}
		return "heard " + strings.Join(got, " "), pause(ctx, in)
	}, m.Tool(tasks.Required, nil))
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	check(streamable.ListenAndServe(ctx, "127.0.0.1:0", s, nil, func(a net.Addr) { fmt.Println("http://" + a.String() + streamable.Path) }))
	check(s.Close())
	check(store.Close())
}

// An rpcError is an error that a server returned.
type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *rpcError) Error() string { return fmt.Sprint(e.Code, " ", e.Message) }

// A peer makes requests to servers. A response counts only if it was received
// whole.
type peer struct {
	http *http.Client
	mu   sync.Mutex
	id   int
}

func newPeer(t *testing.T) *peer {
	p := &peer{http: &http.Client{Transport: &http.Transport{}, Timeout: hangGuard}}
	t.Cleanup(p.http.CloseIdleConnections)
	return p
}

// call makes a request as a principal and decodes the result into out.
func (p *peer) call(url, principal, method, routed string, params map[string]any, out any) error {
	p.mu.Lock()
	p.id++
	id := p.id
	p.mu.Unlock()
	params["_meta"] = map[string]any{
		"io.modelcontextprotocol/protocolVersion": "2026-07-28",
		"io.modelcontextprotocol/clientInfo":      map[string]string{"name": principal, "version": "1"},
		"io.modelcontextprotocol/clientCapabilities": map[string]any{
			"elicitation": map[string]any{}, "extensions": map[string]any{tasks.ExtensionID: map[string]any{}},
		},
	}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	if err != nil {
		return err
	}
	req, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method, "Mcp-Name": routed,
	} {
		req.Header.Set(name, value)
	}
	res, err := p.http.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	var m struct {
		ID     int
		Result json.RawMessage
		Error  *rpcError
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		return fmt.Errorf("%w: %s", err, raw)
	}
	if m.Error != nil {
		return m.Error
	}
	return json.Unmarshal(m.Result, out)
}

func (p *peer) create(url, principal, tool string, millis int) (t tasks.Task, err error) {
	err = p.call(url, principal, mcp.MethodToolsCall, tool, map[string]any{"name": tool, "arguments": map[string]any{"millis": millis}}, &t)
	return t, err
}

func (p *peer) get(url, principal, id string) (t tasks.Task, err error) {
	err = p.call(url, principal, tasks.MethodGet, id, map[string]any{"taskId": id}, &t)
	return t, err
}

func (p *peer) cancel(url, principal, id string) error {
	return p.call(url, principal, tasks.MethodCancel, id, map[string]any{"taskId": id}, &struct{}{})
}

func (p *peer) answer(url, principal, id, key, name string) error {
	return p.call(url, principal, tasks.MethodUpdate, id, map[string]any{"taskId": id, "inputResponses": map[string]any{
		key: map[string]any{"action": "accept", "content": map[string]string{"name": name}},
	}}, &struct{}{})
}

// until polls until a task has a status.
func (p *peer) until(t *testing.T, url, principal, id string, want func(*tasks.Task) bool) *tasks.Task {
	t.Helper()
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		got, err := p.get(url, principal, id)
		if err != nil {
			t.Fatal(err)
		}
		if want(&got) {
			return &got
		}
		if time.Since(began) > hangGuard {
			t.Fatalf("it stays %+v", got)
		}
	}
}

func final(t *tasks.Task) bool { return t.Status.Final() }

// A restart keeps what has ended, and what was interrupted is failed at once.
func TestRestart(t *testing.T) {
	file := t.TempDir() + "/tasks.db"
	p := newPeer(t)
	s := start(t, "serve", file, "TASKSTORE_TTL=1h")
	done, err := p.create(s.url, "ada", "work", 1)
	if err != nil {
		t.Fatal(err)
	}
	ended := p.until(t, s.url, "ada", done.ID, final)
	working, err := p.create(s.url, "ada", "work", 3600_000)
	if err != nil {
		t.Fatal(err)
	}
	asking, err := p.create(s.url, "ada", "ask", 1)
	if err != nil {
		t.Fatal(err)
	}
	p.until(t, s.url, "ada", asking.ID, func(t *tasks.Task) bool { return t.Status == tasks.InputRequired })
	if err := p.answer(s.url, "ada", asking.ID, "k1", "x"); err != nil {
		t.Fatal(err)
	}
	s.kill()

	s = start(t, "serve", file, "TASKSTORE_TTL=1h")
	defer s.kill()
	if got, err := p.get(s.url, "ada", done.ID); err != nil || got.Status != tasks.Completed || string(got.Result) != string(ended.Result) {
		t.Errorf("the task that had ended: %+v, %v", got, err)
	}
	for _, id := range []string{working.ID, asking.ID} {
		got, err := p.get(s.url, "ada", id)
		if err != nil || got.Status != tasks.Failed || got.StatusMessage != "the server stopped while it was running the task" || got.Error == nil || got.InputRequests != nil {
			t.Errorf("a task that was interrupted, at the first look: %+v, %v", got, err)
		}
	}
	if _, err := p.get(s.url, "bob", done.ID); err == nil || !strings.Contains(err.Error(), "-32602") {
		t.Errorf("a task of another: %v", err)
	}
	after, err := p.create(s.url, "ada", "ask", 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"k1", "k2"} {
		p.until(t, s.url, "ada", after.ID, func(t *tasks.Task) bool { _, ok := t.InputRequests[key]; return ok })
		if err := p.answer(s.url, "ada", after.ID, key, key); err != nil {
			t.Fatal(err)
		}
	}
	if got := p.until(t, s.url, "ada", after.ID, final); !strings.Contains(string(got.Result), "heard k1 k2") {
		t.Errorf("%+v %s", got, got.Result)
	}
}

// One process can answer, cancel and watch what another runs.
func TestRequestsReachTheProcessThatRuns(t *testing.T) {
	file := t.TempDir() + "/tasks.db"
	p := newPeer(t)
	a, b := start(t, "serve", file, "TASKSTORE_TTL=1h"), start(t, "serve", file, "TASKSTORE_TTL=1h")
	task, err := p.create(a.url, "ada", "ask", 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"k1", "k2"} {
		p.until(t, b.url, "ada", task.ID, func(t *tasks.Task) bool { _, ok := t.InputRequests[key]; return ok })
		if err := p.answer(b.url, "ada", task.ID, key, key); err != nil {
			t.Fatal(err)
		}
	}
	if got := p.until(t, b.url, "ada", task.ID, final); !strings.Contains(string(got.Result), "heard k1 k2") {
		t.Errorf("%+v %s", got, got.Result)
	}
	if task, err = p.create(a.url, "ada", "work", 3600_000); err != nil {
		t.Fatal(err)
	}
	if err := p.cancel(b.url, "ada", task.ID); err != nil {
		t.Fatal(err)
	}
	if got, err := p.get(a.url, "ada", task.ID); err != nil || got.Status != tasks.Cancelled {
		t.Errorf("%+v, %v", got, err)
	}
	a.stop(t) // which would wait for the tool, had it not been cancelled
	b.stop(t)
}
