package lesson

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/builtin/calc"
	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// pipes are a server in this process and the two ends that its client has: what
// stdin and stdout of a child process are.
type pipes struct {
	in   *os.File // to write to
	out  *os.File // to read from
	done chan error
}

// serve starts a server behind two pipes of the system.
func serve(ctx context.Context, h mcp.Handler) (*pipes, error) {
	served, err := era.NewServer(h, nil)
	if err != nil {
		return nil, err
	}
	serverIn, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	out, serverOut, err := os.Pipe()
	if err != nil {
		serverIn.Close()
		in.Close()
		return nil, err
	}
	p := &pipes{in: in, out: out, done: make(chan error, 1)}
	go func() {
		err := served.ServeStream(ctx, jsonrpc.Lines(serverIn, serverOut, serverOut, 0))
		serverIn.Close()
		p.done <- err
	}()
	return p, nil
}

// Close ends the server and waits for it.
func (p *pipes) Close() error {
	p.in.Close()
	<-p.done
	return p.out.Close()
}

// Batch sends two requests in one array and returns the run. Only revision
// 2025-03-26 has batches; no client of Tenon sends any, so this one is written by
// hand.
func (l *Lessons) Batch(ctx context.Context, n Numbers) (*Run, error) {
	h, err := calc.New(calc.Config{})
	if err != nil {
		return nil, err
	}
	defer h.Close()
	p, err := serve(ctx, h)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	stop := context.AfterFunc(ctx, func() { p.in.Close(); p.out.Close() })
	defer stop()
	run := &Run{Server: Example{Builtin: "calc"}.Server(), Revision: mcp.Rev20250326}
	wire := l.opts.Log.Wire(run.Server)
	run.Conn = wire.Conn()
	answers := bufio.NewReader(p.out)
	began := time.Now()
	for _, line := range []struct {
		frame   string
		answers bool
	}{
		{`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"` + string(mcp.Rev20250326) + `","capabilities":{},"clientInfo":{"name":"tenon","version":"1"}}}`, true},
		{`{"jsonrpc":"2.0","method":"notifications/initialized"}`, false},
		{strings.Join(strings.Fields(fmt.Sprintf(`[{"jsonrpc":"2.0","id":2,"method":"ping"},
			{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"add","arguments":{"a":%v,"b":%v}}}]`, n.A, n.B)), ""), true},
	} {
		wire.Frame(jsonrpc.Out, []byte(line.frame))
		if _, err := p.in.WriteString(line.frame + "\n"); err != nil {
			return nil, err
		}
		if !line.answers {
			continue
		}
		answer, err := answers.ReadBytes('\n')
		if err != nil {
			return nil, errNoAnswer
		}
		wire.Frame(jsonrpc.In, bytes.TrimSpace(answer))
	}
	run.Took = time.Since(began)
	return run, nil
}
