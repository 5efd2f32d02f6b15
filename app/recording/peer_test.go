package recording

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/app/speccheck"
	"github.com/tenon-mcp/tenon/app/wirelog"
	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/transport/stdio"
)

// everything is the command line of the reference server, if it is installed.
func everything(t *testing.T) []string {
	t.Helper()
	script := filepath.Join("..", "..", "test", "peers", "node", "node_modules", "@modelcontextprotocol", "server-everything", "dist", "index.js")
	node, err := exec.LookPath("node")
	if err == nil {
		_, err = os.Stat(script)
	}
	if err != nil {
		if os.Getenv("MUST_RUN") == "1" {
			t.Fatalf("the reference server must be there: %v", err)
		}
		t.Skipf("the reference server is not installed: %v", err)
	}
	return []string{node, script, "stdio"}
}

// A tappedDialer dials a server through a tap, as a host would.
type tappedDialer struct {
	o  TapOptions
	wg sync.WaitGroup
}

func (d *tappedDialer) Dial(ctx context.Context, p *mcp.ClientProfile) (mcp.Conn, error) {
	hostIn, serverOut := io.Pipe()
	serverIn, hostOut := io.Pipe()
	o := d.o
	o.In, o.Out = serverIn, serverOut
	d.wg.Go(func() {
		Tap(context.WithoutCancel(ctx), o)
		serverOut.Close()
		serverIn.Close()
	})
	return era.Dial(ctx, jsonrpc.Lines(hostIn, hostOut, closers{hostOut, hostIn}, 0), p, nil)
}

type closers []io.Closer

func (c closers) Close() error {
	for _, x := range c {
		x.Close()
	}
	return nil
}

// A real server through the tap: nothing that our client says breaks a rule, the
// recording can be served in its stead, and the server answers it again in the
// same way.
func TestARealServerThroughTheTap(t *testing.T) {
	l := wirelog.NewLog(nil)
	var file bytes.Buffer
	d := &tappedDialer{o: TapOptions{Command: everything(t), Err: io.Discard, Wire: l.Wire("everything")}}
	first := tour(t, d)
	d.wg.Wait()

	ms, _ := l.Since(0, 0)
	for _, m := range ms {
		for _, p := range m.Problems {
			if m.Dir == speccheck.ToServer && m.Kind != speccheck.KindRequest {
				t.Errorf("our client breaks %+v with %s", p, m.Frame)
			}
			t.Logf("%s %s %s breaks %s at %s: %s", m.Dir, m.Kind, m.Method, p.Rule, p.Pointer, p.Text)
		}
	}
	if err := Write(&file, NewRecording(ms), nil); err != nil {
		t.Fatal(err)
	}
	rec, err := Read(&file)
	if err != nil {
		t.Fatal(err)
	}
	mock, err := NewMock(rec, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := &pipe{serve: func(ctx context.Context, s jsonrpc.Stream) { mock.Serve(ctx, s) }}
	if second := tour(t, p); second != first {
		t.Errorf("the mock answers\n%s\nand the server\n%s", second, first)
	}
	p.wg.Wait()

	command := everything(t)
	child, err := (&stdio.Command{Path: command[0], Args: command[1:]}).Start()
	if err != nil {
		t.Fatal(err)
	}
	defer child.Close()
	report, err := Replay(t.Context(), child.Stream(), rec, nil)
	if err != nil || !report.OK() || len(report.Steps) < 4 {
		t.Errorf("the replay ends with %v and %d steps", err, len(report.Steps))
		for _, s := range report.Steps {
			t.Logf("%s: %v %s", s.Request.Method, s.Err, differences(s.Differences))
		}
	}
}

// tour asks a server for this and that and returns what it said.
func tour(t *testing.T, d mcp.Dialer) (said string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c, err := client.Dial(ctx, d, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for tool, err := range c.Tools(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		said += tool.Name + "\n"
	}
	for r, err := range c.Resources(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		said += r.URI + "\n"
	}
	for p, err := range c.Prompts(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		said += p.Name + "\n"
	}
	r, err := c.CallTool(ctx, "echo", map[string]string{"message": "hi"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	raw, _ := mcp.Marshal(r.Content)
	return said + string(raw)
}
