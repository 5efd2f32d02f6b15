package faults

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
)

// serverRole is a server of which one client is faulty. In each cell but those
// over stdio another client calls it all the time and must notice nothing.
var serverRole = role{
	name: "server", title: "A server with a faulty client", run: atServer,
	rows: []row{
		{killed, "the client is killed during a call", []cell{{sees: ends}, {sees: cancels}, {sees: cancels}, {sees: cancels}}, true},
		{hangs, "the client hangs", same(later), false},
		{halfOpen, "the network drops everything", []cell{never(pipesOnly), {sees: probes}, {sees: probes}, {sees: probes}}, false},
		{slowReader, "the client reads slowly", same(eachSees), false},
		{slowWriter, "the client writes a byte at a time", same(sees), true},
		{garbage, "the client sends garbage before its request", []cell{{sees: sees}, {sees: sees}, {sees: fails}, {sees: fails}}, true},
		{truncated, "the client sends half of a request and ends", []cell{{sees: ends}, {sees: cancels}, {sees: cancels}, {sees: cancels}}, true},
		{duplicate, "the client sends its request twice", []cell{{sees: fails}, {sees: fails}, {sees: sees}, {sees: fails}}, true},
		{reordered, "the client answers questions in another order", []cell{{sees: eachSees}, {sees: eachSees}, never(ownRequest), never(ownRequest)}, true},
		{clockJump, "the clock of the server jumps by hours, both ways", same(sees), false},
		{diskFull, "the disk of the server is full", same(toolFails), true},
		{noDescriptors, "the server is out of descriptors", same(toolFails), true},
	},
}

// builtins are the servers, by fault; demo where there is none.
var builtins = map[string]string{slowReader: "fs", diskFull: "fs", noDescriptors: "fs", reordered: "calc"}

// token is for servers that are not only for this machine.
const token = "a-token-for-the-fault-matrix"

var bearer = http.Header{"Authorization": {"Bearer " + token}}

// serve starts the server of a cell and returns its address; over stdio there is none.
func serve(t *testing.T, transport, fault, home string, c *clock, n *network) (*process, string) {
	t.Helper()
	name, host := "demo", "127.0.0.1"
	if other, ok := builtins[fault]; ok {
		name = other
	}
	if n != nil {
		host = n.ours
	}
	args := []string{name}
	if name == "fs" {
		root := filepath.Join(home, "files")
		if err := os.MkdirAll(root, 0o700); err != nil {
			t.Fatal(err)
		}
		args = append(args, "root="+root)
	}
	if transport == overSocket {
		p := prepare(t, home, c, peer(t, c))
		p.cmd.Env = append(p.cmd.Env, roleVariable+"=socket "+host+":0 "+strings.Join(args, " "))
		p.start()
		return p, p.address()
	}
	args = append([]string{"serve"}, args...)
	if transport == overStdio {
		return prepare(t, home, c, tenon(t, c), args...).start(), ""
	}
	args = append(args, "--http", host+":0", "--sse", "--access-log", filepath.Join(home, "access.log"), "--auth-token", "FAULTS_TOKEN", "--auth-audience", "https://faults.example/mcp", "--host", host, "--host", "127.0.0.1")
	p := prepare(t, home, c, tenon(t, c), args...)
	p.cmd.Env = append(p.cmd.Env, "FAULTS_TOKEN="+token)
	p.start()
	return p, p.address()
}

// A served is a server with one faulty client.
type served struct {
	t         *testing.T
	transport string
	fault     string
	home      string
	p         *process
	address   string
	proxy     *proxy
	c         *client.Client // through the proxy
	clock     *clock
}

// atServer runs one cell.
func atServer(t *testing.T, transport, fault string) (saw string, left []string) {
	s := &served{t: t, transport: transport, fault: fault, home: t.TempDir()}
	var n *network
	switch fault {
	case halfOpen:
		n = newNetwork(t)
	case clockJump:
		s.clock = newClock(t)
	case diskFull:
		s.home = small(t, 4<<10)
	}
	s.p, s.address = serve(t, transport, fault, s.home, s.clock, n)
	to := tcp(s.address)
	switch {
	case transport == overStdio:
		to = func() (io.ReadWriteCloser, error) { return pipes{s.p.stdout, s.p.stdin}, nil }
	case n != nil:
		to = n.dial(s.address)
	}
	s.proxy = newProxy(t, to, fault, true, n)
	s.proxy.mu.Lock()
	s.proxy.http = transport == overHTTP || transport == overSSE
	s.proxy.mu.Unlock()
	options := &client.Options{CacheBytes: -1}
	if fault == reordered {
		options.Elicit = s.elicit
	}
	if transport == overStdio {
		s.c = dial(t, dialer(transport, s.proxy.address(), nil), options)
		saw = exercises[fault](s)
		s.c.Close()
		if code := s.p.ends(); code != 0 && saw != ends {
			left = append(left, fmt.Sprintf("the server ended with %d", code))
		}
		for name := range list(s.home) {
			left = append(left, "file "+name)
		}
		return saw, left
	}
	warm := dial(t, dialer(transport, s.address, bearer), nil)
	s.healthy(t.Context(), warm)
	warm.Close()
	b := s.p.measure()
	stop := s.others()
	s.c = dial(t, dialer(transport, s.proxy.address(), bearer), options)
	saw = exercises[fault](s)
	stop()
	within := long
	if fault == halfOpen {
		within = 2 * time.Minute
	} else {
		s.c.Close()
		s.proxy.close()
	}
	return saw, b.left(within)
}

// elicit answers the questions of calc.
func (s *served) elicit(_ context.Context, e *client.Elicitation) (*mcp.ElicitResult, error) {
	return e.Accept(map[string]any{"a": 31415926, "b": 31415928})
}

// healthy makes a call that needs nothing of the server.
func (s *served) healthy(ctx context.Context, c *client.Client) {
	for _, err := range c.Tools(ctx) {
		if err != nil {
			s.t.Errorf("another client: %v", err)
		}
	}
}

// others is a client without faults that calls the server until stop is called.
func (s *served) others() (stop func()) {
	c := dial(s.t, dialer(s.transport, s.address, bearer), &client.Options{CacheBytes: -1})
	return repeatedly(s.t, c, func() {
		ctx, cancel := context.WithTimeout(s.t.Context(), long)
		defer cancel()
		s.healthy(ctx, c)
	})
}

// repeatedly makes calls of a client until stop is called: at least one before
// and one after.
func repeatedly(t *testing.T, c *client.Client, call func()) (stop func()) {
	made, stopped := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		call()
		close(made)
		for last := false; !last; call() {
			select {
			case <-stopped:
				last = true
			case <-time.After(20 * time.Millisecond):
			}
		}
	})
	stop = sync.OnceFunc(func() {
		close(stopped)
		wg.Wait()
		c.Close()
	})
	t.Cleanup(stop)
	<-made
	return stop
}

// keepBusy makes a call every 20 ms until stop is called, so that a message comes
// after each.
func keepBusy(t *testing.T, c *client.Client) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		for ctx.Err() == nil {
			wg.Go(func() {
				for range c.Tools(ctx) {
				}
			})
			time.Sleep(20 * time.Millisecond)
		}
	})
	return func() {
		cancel()
		wg.Wait()
	}
}

// exercises are what the faulty client does, by fault. They return what it sees.
var exercises = map[string]func(*served) string{
	killed:        func(s *served) string { return s.vanishes(3600) },
	truncated:     func(s *served) string { return s.vanishes(3600) },
	halfOpen:      (*served).cutOff,
	hangs:         (*served).hang,
	slowReader:    (*served).readSlowly,
	slowWriter:    func(s *served) string { return s.report(0) },
	garbage:       func(s *served) string { return s.report(0) },
	duplicate:     func(s *served) string { return s.report(1) },
	reordered:     (*served).answerInAnotherOrder,
	clockJump:     (*served).jump,
	diskFull:      (*served).fillDisk,
	noDescriptors: (*served).exhaust,
}

// call calls a tool and says what the caller saw; the text is that of the result.
func call(t *testing.T, c *client.Client, tool string, args map[string]any) (saw, text string) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*long)
	defer cancel()
	r, err := c.CallTool(ctx, tool, args, nil)
	if err != nil {
		t.Logf("%s: %v", tool, err)
		switch {
		case ctx.Err() != nil:
			return "nothing in time", err.Error()
		case strings.Contains(err.Error(), idle.String()):
			return timesOut, err.Error()
		}
		return fails, err.Error()
	}
	for _, part := range r.Content {
		if p, ok := part.(*mcp.TextContent); ok {
			text += p.Text
		}
	}
	if r.IsError {
		t.Logf("%s failed: %s", tool, text)
		return toolFails, text
	}
	return sees, text
}

// idle is the timeout of clients, where a cell is about it.
const idle = 2 * time.Second

// report calls the slow tool of demo.
func (s *served) report(seconds int) string {
	saw, text := call(s.t, s.c, "slow_report", map[string]any{"topic": mark, "seconds": seconds})
	if saw == sees && !strings.Contains(text, mark) {
		return "the wrong result " + text
	}
	if saw == sees { // and the connection goes on
		if again, _ := call(s.t, s.c, "slow_report", map[string]any{"topic": "again", "seconds": 0}); again != sees {
			return "the result, then " + again
		}
	}
	return saw
}

// vanishes is a client that ends during a call. The server must not go on with it.
func (s *served) vanishes(seconds int) string {
	if saw := s.report(seconds); saw != fails {
		return saw
	}
	if s.transport == overStdio {
		s.p.ends()
		return ends
	}
	return cancels // which is seen by what is left
}

// cutOff is a client that is not there any more, of which no packet says so.
func (s *served) cutOff() string {
	ctx, cancel := context.WithCancel(s.t.Context())
	s.t.Cleanup(cancel)
	go s.c.CallTool(ctx, "slow_report", map[string]any{"topic": mark, "seconds": 3600}, nil)
	time.Sleep(time.Second)
	return probes // which is seen by what is left
}

// hang is a client that does not go on for a while.
func (s *served) hang() string {
	defer time.AfterFunc(3*time.Second, s.proxy.release).Stop()
	if saw := s.report(1); saw != sees {
		return saw
	}
	return later
}

// readSlowly makes calls with long results at once.
func (s *served) readSlowly() string {
	line := strings.Repeat("x", 99) + "\n"
	name := filepath.Join(s.home, "files", mark)
	if err := os.WriteFile(name, []byte(strings.Repeat(line, 5000)), 0o600); err != nil {
		s.t.Fatal(err)
	}
	defer os.Remove(name)
	var wg sync.WaitGroup
	var mu sync.Mutex
	worst := eachSees
	for i := range 8 {
		wg.Go(func() {
			saw, text := call(s.t, s.c, "read_text_file", map[string]any{"path": mark, "offset": i + 1})
			mu.Lock()
			defer mu.Unlock()
			if saw != sees {
				worst = saw
			} else if len(text) < 10_000 {
				worst = fmt.Sprintf("a result of %d bytes", len(text))
			}
		})
	}
	wg.Wait()
	return worst
}

// answerInAnotherOrder answers the questions of two calls, the second one first.
func (s *served) answerInAnotherOrder() string {
	stop := keepBusy(s.t, s.c)
	defer stop()
	var wg sync.WaitGroup
	saw := make([]string, 4)
	for i := range saw {
		wg.Go(func() {
			var text string
			if saw[i], text = call(s.t, s.c, "average", nil); saw[i] == sees && !strings.Contains(text, "3.1415927") {
				saw[i] = "the wrong result " + text
			}
		})
	}
	wg.Wait()
	for _, one := range saw {
		if one != sees {
			return one
		}
	}
	return eachSees
}

// jump lets the clock jump before, during and after a call.
func (s *served) jump() string {
	s.clock.set(s.t, time.Hour)
	defer time.AfterFunc(500*time.Millisecond, func() { s.clock.set(s.t, -2*time.Hour) }).Stop()
	if saw := s.report(1); saw != sees {
		return saw
	}
	s.clock.set(s.t, 24*time.Hour)
	return s.report(0)
}

// fillDisk writes files before, while and after the disk is full.
func (s *served) fillDisk() string {
	write := func(name string) string {
		saw, _ := call(s.t, s.c, "write_file", map[string]any{"path": name, "content": strings.Repeat("text\n", 8<<10)})
		return saw
	}
	if saw := write("before"); saw != sees {
		return saw
	}
	free := fill(s.t, s.home)
	saw := write("during")
	if kept, _ := call(s.t, s.c, "read_text_file", map[string]any{"path": "before"}); kept != sees {
		return kept + " of a file that was there"
	}
	if entries, err := os.ReadDir(filepath.Join(s.home, "files")); err != nil || len(entries) != 1 {
		s.t.Errorf("in the folder: %v, %v", entries, err)
	}
	free()
	if after := write("after"); after != sees {
		return after + " when the disk has room again"
	}
	for _, name := range []string{"before", "after"} { // are no leftovers
		if err := os.Remove(filepath.Join(s.home, "files", name)); err != nil {
			s.t.Error(err)
		}
	}
	return saw
}

// exhaust takes all descriptors from the server.
func (s *served) exhaust() string {
	name := filepath.Join(s.home, "files", "there")
	if err := os.WriteFile(name, []byte("text"), 0o600); err != nil {
		s.t.Fatal(err)
	}
	defer os.Remove(name)
	read := func(c *client.Client) string {
		saw, _ := call(s.t, c, "read_text_file", map[string]any{"path": "there"})
		return saw
	}
	if saw := read(s.c); saw != sees {
		return saw
	}
	free := s.p.descriptors(0)
	saw := read(s.c)
	var late chan *client.Client
	if s.transport != overStdio { // a client that comes now waits
		late = make(chan *client.Client, 1)
		go func() {
			ctx, cancel := context.WithTimeout(s.t.Context(), long)
			defer cancel()
			c, err := client.Dial(ctx, dialer(s.transport, s.address, bearer), nil)
			if err != nil {
				s.t.Errorf("a client that comes meanwhile: %v", err)
			}
			late <- c
		}()
		time.Sleep(500 * time.Millisecond)
	}
	free()
	if after := read(s.c); after != sees {
		return after + " when there are descriptors again"
	}
	if late != nil {
		if c := <-late; c != nil {
			if after := read(c); after != sees {
				return after + " for a client that came meanwhile"
			}
			c.Close()
		}
	}
	return saw
}
