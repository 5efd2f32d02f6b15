package era_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// Many calls that ask, report progress and are cancelled at the same time on
// one connection, in each era: every one comes to its own end.
func TestManyCallsAtOnce(t *testing.T) {
	for name, opts := range speaks {
		t.Run(name, func(t *testing.T) {
			h := discoverable(func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
				var in struct{ Name string }
				if err := json.Unmarshal(c.Params, &in); err != nil {
					return mcp.Result{}, err
				}
				c.Notify(mcp.Notification{Method: mcp.NotificationProgress, Params: json.RawMessage(`{"progress":1,"message":"` + in.Name + `"}`)})
				if in.Name == "hang" {
					<-ctx.Done()
					return mcp.Result{}, ctx.Err()
				}
				q := mcp.InputRequest{Method: mcp.MethodElicit, Params: json.RawMessage(`{"message":"your name?","requestedSchema":{"type":"object","properties":{}}}`)}
				for _, key := range []string{"first", "second"} {
					if _, err := c.Ask(key, q); err != nil {
						return mcp.Result{}, err
					}
				}
				return text(in.Name), nil
			})
			s, err := era.NewServer(h, opts)
			if err != nil {
				t.Fatal(err)
			}
			near, far := jsonrpc.Pipe()
			served := make(chan error, 1)
			go func() { served <- s.ServeStream(context.Background(), far) }()
			p, err := era.Dial(t.Context(), near, able, nil)
			if err != nil {
				t.Fatal(err)
			}
			asking := mcp.HandleInput(p, answers(map[string]string{mcp.MethodElicit: `{"action":"accept","content":{}}`}), 0)
			var wg sync.WaitGroup
			for i := range 40 {
				wg.Go(func() {
					for n := range 5 {
						own := fmt.Sprintf("call %d.%d", i, n)
						c := call(own)
						c.Progress = true
						c.OnNotification = func(n mcp.Notification) {
							var in struct{ Message string }
							if n.Method != mcp.NotificationProgress || json.Unmarshal(n.Params, &in) != nil || in.Message != own {
								t.Errorf("%s heard %s %s", own, n.Method, n.Params)
							}
						}
						res, err := asking.Serve(t.Context(), c)
						if err != nil || string(res.Body) != string(text(own).Body) {
							t.Errorf("%s came to %s, %v", own, res.Body, err)
						}
						ctx, cancel := context.WithCancel(t.Context())
						hang := call("hang")
						hang.Progress, hang.OnNotification = true, func(mcp.Notification) { cancel() }
						if _, err := asking.Serve(ctx, hang); err == nil {
							t.Error("a cancelled call came to a result")
						}
						cancel()
					}
				})
			}
			wg.Wait()
			p.Close()
			if err := <-served; err != nil {
				t.Errorf("serving: %v", err)
			}
		})
	}
}
