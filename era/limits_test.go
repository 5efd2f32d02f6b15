package era_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// L25: on a pipe a client has a limit of its own, with the same error as over
// HTTP, and its other calls go on.
func TestSubscriptionsOfAPipeAreBounded(t *testing.T) {
	acknowledged := make(chan bool, 9)
	s, err := era.NewServer(mcp.HandlerFunc(func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
		if c.Method == mcp.MethodSubscriptionsListen {
			acknowledged <- true
			<-ctx.Done()
		}
		return mcp.Result{Body: json.RawMessage(`{}`)}, nil
	}), &era.ServerOptions{MaxSubscriptionsPerClient: 2})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // connections
		near, far := jsonrpc.Pipe()
		ended := make(chan error, 1)
		go func() { ended <- s.ServeStream(context.Background(), far) }()
		p, err := era.Dial(t.Context(), near, nil, &era.DialOptions{Known: mcp.Rev20260728})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		listen := func() error {
			_, err := p.Serve(ctx, &mcp.Call{Method: mcp.MethodSubscriptionsListen, Params: json.RawMessage(`{"notifications":{}}`), OnNotification: func(mcp.Notification) {}})
			return err
		}
		for range 2 {
			go listen()
			<-acknowledged
		}
		if err := listen(); err == nil || !strings.Contains(err.Error(), "this client has 2 open, the limit") {
			t.Errorf("one too many: %v", err)
		}
		if _, err := p.Serve(t.Context(), &mcp.Call{Method: mcp.MethodToolsList}); err != nil {
			t.Error(err)
		}
		cancel()
		p.Close()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}
