package era_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// A slowStream writes while it can take the token from its gate.
type slowStream struct {
	jsonrpc.Stream
	gate chan struct{}
}

func (s *slowStream) Write(frames []byte) error {
	<-s.gate
	defer func() { s.gate <- struct{}{} }()
	return s.Stream.Write(frames)
}

// A call that is cancelled while the server does not read, and more waits for it
// than fits, is cancelled at the server once it reads again.
func TestCancelReachesASlowServer(t *testing.T) {
	for name, opts := range speaks {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { cancelWhileSlow(t, opts) })
		})
	}
}

func cancelWhileSlow(t *testing.T, opts *era.ServerOptions) {
	cancelled := make(chan bool, 1)
	s, err := era.NewServer(discoverable(func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
		if strings.Contains(string(c.Params), `"hang"`) {
			<-ctx.Done()
			cancelled <- true
		}
		return text("ok"), nil
	}), opts)
	if err != nil {
		t.Fatal(err)
	}
	near, far := jsonrpc.Pipe()
	served := make(chan error, 1)
	go func() { served <- s.ServeStream(context.Background(), far) }()
	slow := &slowStream{Stream: near, gate: make(chan struct{}, 1)}
	slow.gate <- struct{}{}
	p, err := era.Dial(t.Context(), slow, able, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var calls sync.WaitGroup
	calls.Go(func() { p.Serve(ctx, call("hang")) })
	synctest.Wait()

	<-slow.gate
	large := call("large")
	large.Params = json.RawMessage(`{"name":"large","arguments":{"x":"` + strings.Repeat("x", 2<<20) + `"}}`)
	for range 2 { // the first is being written, the second fills the outbox
		calls.Go(func() {
			if _, err := p.Serve(t.Context(), large); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
	}
	cancel()
	synctest.Wait()
	slow.gate <- struct{}{}
	calls.Wait()
	synctest.Wait()
	select {
	case <-cancelled:
	default:
		t.Error("the call goes on at the server")
	}
	p.Close()
	if err := <-served; err != nil {
		t.Errorf("serving: %v", err)
	}
}
