package faults

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/internal/leaktest"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
	"github.com/tenon-mcp/tenon/transport/httpsse"
	"github.com/tenon-mcp/tenon/transport/socket"
	"github.com/tenon-mcp/tenon/transport/stdio"
	"github.com/tenon-mcp/tenon/transport/streamable"
	"github.com/tenon-mcp/tenon/transport/streamclient"
)

func TestMain(m *testing.M) {
	if fault := os.Getenv("TENON_FAULT"); fault != "" {
		serveStdio(fault)
		return
	}
	leaktest.Main(m)
}

// mark is in the answer that a fault is about.
const mark = "the-answer"

type in struct {
	Text string `json:"text"`
}

func echo() *server.Server {
	s := server.New(mcp.Implementation{Name: "echo", Version: "1"}, nil)
	server.AddTool(s, "echo", "Return the text", func(_ context.Context, _ *mcp.Call, i in) (in, error) { return i, nil }, nil)
	return s
}

// A fault changes the bytes of the answer on their way to the client. It returns
// false if nothing may be sent after it.
type fault func(w io.Writer, data []byte) bool

func pass(w io.Writer, data []byte) bool {
	_, err := w.Write(data)
	return err == nil
}

// quiet stands for a peer that hangs: nothing more is sent, and nothing is closed.
var quiet = make(chan struct{})

var faults = map[string]fault{
	"reordered": nil,
	"killed":    func(io.Writer, []byte) bool { return false },
	"hangs":     func(io.Writer, []byte) bool { <-quiet; return false },
	"garbage":   func(w io.Writer, data []byte) bool { return pass(w, []byte("\x00\xff}{ garbage\n")) && pass(w, data) },
	"truncated": func(w io.Writer, data []byte) bool { pass(w, data[:len(data)/2]); return false },
	"twice":     func(w io.Writer, data []byte) bool { return pass(w, bytes.Repeat(data, 2)) },
	"slowly": func(w io.Writer, data []byte) bool {
		for _, b := range data {
			time.Sleep(time.Millisecond)
			if !pass(w, []byte{b}) {
				return false
			}
		}
		return true
	},
}

// relay copies the pieces that read returns to w, with a fault in the first that
// has the mark. Without a fault, that piece changes its place with the next one.
func relay(w io.Writer, read func() ([]byte, error), f fault) {
	var held []byte
	for done := false; ; {
		data, err := read()
		change := pass
		if !done && bytes.Contains(data, []byte(mark)) {
			done, change = true, f
			if f == nil {
				held = bytes.Clone(data)
				continue
			}
		}
		if len(data) > 0 && !change(w, data) || held != nil && !pass(w, held) || err != nil {
			return
		}
		held = nil
	}
}

// serveStdio is a server whose standard output has a fault: it passes on what a
// server in another process writes, and ends with it.
func serveStdio(name string) {
	if name == "none" {
		_ = stdio.Serve(context.Background(), echo(), nil)
		return
	}
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	cmd := exec.Command(self)
	cmd.Env, cmd.Stdin = append(os.Environ(), "TENON_FAULT=none"), os.Stdin
	out, err := cmd.StdoutPipe()
	if err != nil {
		panic(err)
	}
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	buffer := make([]byte, 64<<10)
	relay(os.Stdout, func() ([]byte, error) {
		n, err := out.Read(buffer)
		return buffer[:n], err
	}, faults[name])
	_ = cmd.Process.Kill() // it may have ended
	_ = cmd.Wait()
	os.Exit(3)
}

// A proxy passes on connections to a server, with a fault in what comes back.
type proxy struct {
	listener net.Listener
	to       string
	fault    fault
	killed   bool // new connections are refused after the fault
	wg       sync.WaitGroup
	mu       sync.Mutex
	open     []net.Conn
}

func newProxy(t *testing.T, to, name string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l, to: to, fault: faults[name], killed: name == "killed"}
	if name == "hangs" {
		p.fault = func(w io.Writer, _ []byte) bool { // until the test ends
			io.Copy(io.Discard, w.(net.Conn))
			return false
		}
	}
	p.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			p.wg.Go(func() { p.serve(c) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		p.closeAll()
		p.wg.Wait()
	})
	return p
}

func (p *proxy) closeAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.open {
		c.Close()
	}
}

func (p *proxy) serve(c net.Conn) {
	defer c.Close()
	up, err := net.Dial("tcp", p.to)
	if err != nil {
		return
	}
	defer up.Close()
	p.mu.Lock()
	p.open = append(p.open, c, up)
	p.mu.Unlock()
	p.wg.Go(func() {
		io.Copy(up, c)
		up.Close()
	})
	buffer := make([]byte, 64<<10)
	relay(c, func() ([]byte, error) {
		n, err := up.Read(buffer)
		return buffer[:n], err
	}, p.change())
}

// change returns the fault, which ends everything if the server is killed.
func (p *proxy) change() fault {
	if !p.killed {
		return p.fault
	}
	return func(io.Writer, []byte) bool {
		p.listener.Close()
		p.closeAll()
		return false
	}
}

// What a caller sees.
const (
	sees     = "the result"
	errors   = "an error"
	timesOut = "an error after the idle timeout"
)

// clientCells is the part of the table for the role client. What a cell says is
// what the caller of a tool gets. Over HTTP answers have no order: each has a
// connection of its own.
var clientCells = map[string]map[string]string{
	"stdio":    {"killed": errors, "hangs": timesOut, "garbage": sees, "truncated": errors, "twice": sees, "slowly": sees, "reordered": sees},
	"socket":   {"killed": errors, "hangs": timesOut, "garbage": sees, "truncated": errors, "twice": sees, "slowly": sees, "reordered": sees},
	"HTTP":     {"killed": errors, "hangs": timesOut, "garbage": errors, "truncated": errors, "twice": sees, "slowly": sees},
	"HTTP+SSE": {"killed": errors, "hangs": timesOut, "garbage": errors, "truncated": errors, "twice": sees, "slowly": sees, "reordered": sees},
}

const idle = 2 * time.Second

func TestFaultsAtAClient(t *testing.T) {
	for transport, cells := range clientCells {
		for name, want := range cells {
			t.Run(transport+"/"+name, func(t *testing.T) {
				t.Parallel()
				c := dial(t, transport, name)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // far more than any cell takes
				defer cancel()
				start := time.Now()
				if name == "reordered" {
					others(ctx, t, c)
				}
				got, err := client.Call[in](ctx, c, "echo", in{mark}, nil)
				took := time.Since(start)
				saw := sees
				switch {
				case err != nil && ctx.Err() != nil:
					saw = "nothing, within a minute"
				case err != nil && strings.Contains(err.Error(), idle.String()):
					saw = timesOut
				case err != nil:
					saw = errors
				case got.Text != mark:
					saw = fmt.Sprintf("the wrong result %q", got.Text)
				}
				t.Logf("after %v: %v", took.Round(time.Millisecond), err)
				if saw != want {
					t.Errorf("the caller sees %s, not %s: %v", saw, want, err)
				}
				if want == sees { // and the connection goes on
					if got, err := client.Call[in](ctx, c, "echo", in{"again"}, nil); err != nil || got.Text != "again" {
						t.Errorf("the next call: %+v, %v", got, err)
					}
				}
				if err := c.Close(); err != nil {
					t.Log("closed:", err)
				}
			})
		}
	}
}

// others makes a call every 20 ms until the test ends, so that one is answered
// before a call that was made before it.
func others(ctx context.Context, t *testing.T, c *client.Client) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			wg.Go(func() {
				text := fmt.Sprintf("other %d", i)
				if got, err := client.Call[in](ctx, c, "echo", in{text}, nil); err == nil && got.Text != text {
					t.Errorf("call %q got the answer %q", text, got.Text)
				}
			})
			select {
			case <-ctx.Done():
			case <-time.After(20 * time.Millisecond):
			}
		}
	})
	t.Cleanup(func() {
		cancel()
		wg.Wait()
	})
}

// serveHTTP serves a handler behind a proxy and returns the address and a client.
func serveHTTP(t *testing.T, h http.Handler, name string) (string, *http.Client) {
	t.Helper()
	web := httptest.NewServer(h)
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
	})
	own := &http.Transport{}
	t.Cleanup(own.CloseIdleConnections)
	return "http://" + newProxy(t, web.Listener.Addr().String(), name).listener.Addr().String(), &http.Client{Transport: own}
}

// serveSocket serves lines over TCP and returns the address.
func serveSocket(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s, err := era.NewServer(echo(), nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = socket.Serve(ctx, l, func(ctx context.Context, stream jsonrpc.Stream) { _ = s.ServeStream(ctx, stream) }, &socket.Options{Grace: time.Millisecond})
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	return l.Addr().String()
}

// lines dials a server that speaks lines over TCP.
type lines struct{ address string }

func (l lines) Dial(ctx context.Context, p *mcp.ClientProfile) (mcp.Conn, error) {
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", l.address)
	if err != nil {
		return nil, err
	}
	return era.Dial(ctx, jsonrpc.Lines(c, c, c, 0), p, nil)
}

func dial(t *testing.T, transport, name string) *client.Client {
	t.Helper()
	o := &client.Options{IdleTimeout: idle}
	var d mcp.Dialer
	switch transport {
	case "stdio":
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		d = &stdio.Command{Path: self, Env: map[string]string{"TENON_FAULT": name}}
	case "socket":
		d = lines{newProxy(t, serveSocket(t), name).listener.Addr().String()}
	case "HTTP":
		h, err := streamable.NewHandler(echo(), nil)
		if err != nil {
			t.Fatal(err)
		}
		address, own := serveHTTP(t, h, name)
		d = &streamclient.Endpoint{URL: address, HTTP: own}
	case "HTTP+SSE":
		h, err := httpsse.NewHandler(echo(), nil)
		if err != nil {
			t.Fatal(err)
		}
		address, own := serveHTTP(t, h, name)
		d = &httpsse.Endpoint{URL: address, HTTP: own}
	}
	c, err := client.Dial(t.Context(), d, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
