package faults

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/transport/httpsse"
	"github.com/tenon-mcp/tenon/transport/socket"
	"github.com/tenon-mcp/tenon/transport/streamable"
)

// A faulty server is one that says what it is told, with a fault in what it says.
type faulty struct {
	address string // empty over stdio
	command string // over stdio
	env     map[string]string
	proxy   *proxy   // nil over stdio
	network *network // nil if the network has no fault
}

// newFaulty starts a server. Faults that are not of a server do nothing to it.
func newFaulty(t *testing.T, transport, fault string) *faulty {
	t.Helper()
	if transport == overStdio {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		return &faulty{command: self, env: map[string]string{roleVariable: "relay " + fault, cellVariable: t.Name()}}
	}
	f := &faulty{}
	if fault == halfOpen {
		f.network = newNetwork(t)
	}
	var at string
	if transport == overSocket {
		at = echoSocket(t)
	} else {
		at = echoHTTP(t)
	}
	f.proxy = newProxy(t, tcp(at), fault, false, f.network)
	f.address = f.proxy.address()
	return f
}

func echoSocket(t *testing.T) string {
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

func echoHTTP(t *testing.T) string {
	t.Helper()
	modern, err := streamable.NewHandler(echo(), &streamable.Options{AnyHost: true})
	if err != nil {
		t.Fatal(err)
	}
	older, err := httpsse.NewHandler(echo(), &httpsse.Options{AnyHost: true})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", modern)
	mux.Handle("/sse", older)
	web := httptest.NewServer(mux)
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
	})
	return web.Listener.Addr().String()
}

// entry is the server in a configuration.
func (f *faulty) entry(transport, timeout string) map[string]any {
	e := map[string]any{"timeout": timeout}
	switch transport {
	case overStdio:
		e["command"], e["env"] = f.command, f.env
	case overHTTP:
		e["url"] = "http://" + f.address + "/mcp"
	case overSSE:
		e["url"], e["type"] = "http://"+f.address+"/sse", "sse"
	}
	return e
}

// mend ends the fault: what hangs ends, the network passes packets, what was
// killed is there again.
func (f *faulty) mend(t *testing.T) {
	t.Helper()
	if f.network != nil {
		f.network.mend()
	}
	if f.proxy != nil {
		f.proxy.restart(t)
	}
}

// configure writes tenon.json into a home folder.
func configure(t *testing.T, home string, config map[string]any) {
	t.Helper()
	raw, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(home+"/tenon", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(home+"/tenon/tenon.json", raw, 0o600); err != nil {
		t.Fatal(err)
	}
}

// timeout is the idle timeout of the user of a faulty server: short where the cell
// is about it, and else longer than the cell.
func timeout(fault string) time.Duration {
	if fault == hangs || fault == halfOpen {
		return idle
	}
	return long
}
