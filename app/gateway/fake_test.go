package gateway

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
)

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// A fake is a server whose behaviour the test decides.
type fake struct {
	declares     string // capabilities; empty means tools and resources
	instructions string
	tools        func(ctx context.Context, c *mcp.Call) (mcp.Result, error)
	listen       func(ctx context.Context, c *mcp.Call) (mcp.Result, error)
	other        func(ctx context.Context, c *mcp.Call) (mcp.Result, error)
	dead         atomic.Bool
	mu           sync.Mutex   // guards the handlers of a fake that is in use; see change
	reads        atomic.Int32 // counts tools/list
	listens      atomic.Int32
}

// toolsOf returns a tools/list with these elements.
func toolsOf(elements string) func(context.Context, *mcp.Call) (mcp.Result, error) {
	return func(context.Context, *mcp.Call) (mcp.Result, error) {
		return mcp.Result{Body: json.RawMessage(`{"tools":[` + elements + `]}`)}, nil
	}
}

// block answers when its context ends.
func block(ctx context.Context, _ *mcp.Call) (mcp.Result, error) {
	<-ctx.Done()
	return mcp.Result{}, ctx.Err()
}

// ack acknowledges all that the call subscribes to.
func ack(c *mcp.Call) {
	c.Notify(mcp.Notification{Method: mcp.NotificationSubscriptionsAcknowledged, Params: c.Params})
}

// change changes the handlers of a fake that is in use.
func (f *fake) change(do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do()
}

func (f *fake) Serve(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	if f.dead.Load() {
		return mcp.Result{}, io.ErrUnexpectedEOF
	}
	f.mu.Lock()
	handle, tools, listen := f.other, f.tools, f.listen
	f.mu.Unlock()
	switch c.Method {
	case mcp.MethodDiscover:
		declares := f.declares
		if declares == "" {
			declares = `{"tools":{"listChanged":true},"resources":{"subscribe":true}}`
		}
		return mcp.Result{Body: json.RawMessage(`{"capabilities":` + declares + `,"instructions":"` + f.instructions + `"}`)}, nil
	case mcp.MethodToolsList:
		f.reads.Add(1)
		handle = tools
	case mcp.MethodSubscriptionsListen:
		f.listens.Add(1)
		handle = listen
		if handle == nil {
			handle = block
		}
	}
	if handle == nil {
		return mcp.Result{}, mcp.MethodNotFound(c.Method)
	}
	return handle(ctx, c)
}

// routed runs a test with a Router of fakes, with time that the test controls.
// The fakes are connected.
func routed(t *testing.T, servers map[string]*fake, test func(t *testing.T, r *Router)) {
	t.Helper()
	routedWith(t, Options{}, servers, test)
}

// routedWith is like routed with options.
func routedWith(t *testing.T, o Options, servers map[string]*fake, test func(t *testing.T, r *Router)) {
	t.Helper()
	if o.Log == nil {
		o.Log = quiet
	}
	synctest.Test(t, func(t *testing.T) {
		var ups []Upstream
		for name, f := range servers {
			ups = append(ups, Upstream{Name: name, Handler: f})
		}
		r, err := NewRouter(ups, &o)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		synctest.Wait()
		time.Sleep(2 * changeInterval) // a change is announced at once from now on
		test(t, r)
	})
}

// call makes a call at the Router.
func call(ctx context.Context, r *Router, method, params string) (string, error) {
	res, err := r.Serve(ctx, &mcp.Call{Method: method, Params: json.RawMessage(params)})
	return string(res.Body), err
}
