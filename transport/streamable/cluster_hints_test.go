package streamable_test

import (
	"bufio"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
)

// A change of one session that takes long does not hold up the hints of other
// replicas for other sessions; its own hint counts when it has ended.
func TestSlowChangesDoNotHoldUpHints(t *testing.T) {
	hang := make(chan struct{})
	inside := make(chan struct{}, 10)
	f := newFleetOf(t, 2, nil, func(n *node) mcp.Handler {
		return mcp.HandlerFunc(func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
			if strings.Contains(string(c.Params), "test://one") {
				inside <- struct{}{}
				<-hang
			}
			return n.server.Serve(ctx, c)
		})
	})
	a, b := f.nodes[0], f.nodes[1]
	slow, other := a.open(), a.open()
	a.raw("GET", slow, "")
	subscribed := make(chan string, 1)
	go func() {
		_, body := a.say("POST", slow, `{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"test://one"}}`)
		subscribed <- body
	}()
	receive(t, "the subscription", inside)
	if status, body := b.say("POST", slow, `{"jsonrpc":"2.0","id":2,"method":"logging/setLevel","params":{"level":"error"}}`); status != 200 || strings.Contains(body, `"error":{`) {
		t.Fatalf("a change elsewhere: %d %s", status, body)
	}
	atA := a.raw("GET", other, "")
	b.raw("GET", other, "")
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for in := bufio.NewScanner(atA.Body); in.Scan(); {
		}
	}()
	select { // its client has connected to b
	case <-ended:
	case <-time.After(time.Minute):
		t.Error("the stream of another session does not end")
	}
	close(hang)
	if body := receive(t, "the response", subscribed); strings.Contains(body, `"error":{`) {
		t.Errorf("the slow change: %s", body)
	}
}
