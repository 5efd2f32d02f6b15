package faults

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/builtin"
	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
	"github.com/tenon-mcp/tenon/transport/httpsse"
	"github.com/tenon-mcp/tenon/transport/socket"
	"github.com/tenon-mcp/tenon/transport/stdio"
	"github.com/tenon-mcp/tenon/transport/streamclient"
)

// roleVariable says what this test is, if it is started as a program.
const roleVariable = "TENON_FAULTS_ROLE"

// play is the program.
func play(what string) {
	name, rest, _ := strings.Cut(what, " ")
	if os.Getenv(stacksVariable) != "" {
		writeStacks()
	}
	switch name {
	case "echo":
		_ = stdio.Serve(context.Background(), echo(), nil)
	case "relay":
		relay(rest)
	case "client":
		playClient(strings.Fields(rest))
	case "socket":
		if err := serveSocket(strings.Fields(rest)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

type text struct {
	Text string `json:"text"`
}

// echo is a server that says what it is told.
func echo() *server.Server {
	s := server.New(mcp.Implementation{Name: "echo", Version: "1"}, nil)
	say := func(_ context.Context, _ *mcp.Call, in text) (text, error) {
		if in.Text == "later" { // so that its answer is not sent together with another
			time.Sleep(500 * time.Millisecond)
		}
		return in, nil
	}
	server.AddTool(s, "echo", "Return the text", say, nil)
	server.AddTool(s, "read", "Return the text", say, &server.ToolOptions{Annotations: server.ReadOnly()}) // which hosts call several times at once
	return s
}

// serveSocket serves a builtin server at an address: address, name, options.
func serveSocket(args []string) error {
	query, err := url.ParseQuery(strings.Join(args[2:], "&"))
	if err != nil {
		return err
	}
	b, err := builtin.Open(args[1], query)
	if err != nil {
		return err
	}
	defer b.Close()
	l, err := net.Listen("tcp", args[0])
	if err != nil {
		return err
	}
	s, err := era.NewServer(b, nil)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	fmt.Printf("Serving %s at %s\n", args[1], l.Addr())
	return socket.Serve(ctx, l, func(ctx context.Context, stream jsonrpc.Stream) { _ = s.ServeStream(ctx, stream) }, nil)
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

// dialer connects to a server at an address. Over stdio, what listens there
// passes on the pipes.
func dialer(transport, address string, header http.Header) mcp.Dialer {
	switch transport {
	case overHTTP:
		return &streamclient.Endpoint{URL: "http://" + address + "/mcp", Header: header}
	case overSSE:
		return &httpsse.Endpoint{URL: "http://" + address + "/sse", Header: header}
	}
	return lines{address}
}

// dial connects a client, which is closed with the test at the latest.
func dial(t *testing.T, d mcp.Dialer, o *client.Options) *client.Client {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), long)
	defer cancel()
	c, err := client.Dial(ctx, d, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}
