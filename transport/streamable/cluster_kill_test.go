package streamable_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// holder returns the node at which the tool hold or slow has begun.
func (f *fleet) holder() *node {
	f.t.Helper()
	found := make(chan *node, len(f.nodes))
	ctx, cancel := context.WithCancel(f.t.Context())
	defer cancel()
	for _, n := range f.nodes {
		go func() {
			select {
			case <-n.started:
				found <- n
			case <-ctx.Done():
			}
		}()
	}
	return receive(f.t, "the call at a replica", found)
}

// A client of any revision whose replica is killed gets an error for its open
// call, and goes on at another replica in the same session.
func TestKilledReplicaWithAnOpenCall(t *testing.T) {
	for _, rev := range mcp.Revisions() {
		t.Run(string(rev), func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, 3, nil)
			v := f.visit(rev)
			ended := make(chan error, 1)
			go func() {
				_, err := v.call("hold", &client.CallOptions{Progress: func(mcp.ProgressParams) {}})
				ended <- err
			}()
			f.holder().kill()
			err := receive(t, "the end of the call", ended)
			if err == nil || errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("the call ended with %v", err)
			}
			t.Logf("open call: %v", err)
			v.goesOn()
		})
	}
}

// goesOn checks that calls, also those that ask, are served by the other replicas.
func (v *visitor) goesOn() {
	v.t.Helper()
	for range 3 {
		if _, err := v.call("who", nil); err != nil {
			v.t.Errorf("a later call: %v", err)
		}
		v.want("roots", "file:///srv")
	}
}

// A client that answers a question of a killed replica gets an error for its call.
func TestKilledReplicaWithAQuestion(t *testing.T) {
	for _, rev := range mcp.Revisions() {
		if rev < mcp.Rev20250618 {
			continue // which has no elicitation
		}
		t.Run(string(rev), func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, 3, nil)
			v := f.visit(rev)
			asked := make(chan struct{}, 1)
			killed := make(chan struct{})
			v.mu.Lock()
			v.asking = func() { asked <- struct{}{}; <-killed }
			v.mu.Unlock()
			type end struct {
				text string
				err  error
			}
			ended := make(chan end, 1)
			go func() {
				text, err := v.call("question", nil)
				ended <- end{text, err}
			}()
			receive(t, "the question", asked)
			f.holder().kill()
			v.mu.Lock()
			v.asking = nil
			v.mu.Unlock()
			close(killed)
			e := receive(t, "the end of the call", ended)
			if rev == mcp.Rev20260728 { // the state travels with the call: another replica continues it
				if e.err != nil || e.text != "First" {
					t.Errorf("the call ended with %q, %v", e.text, e.err)
				}
			} else if e.err == nil || errors.Is(e.err, context.DeadlineExceeded) {
				t.Errorf("the call ended with %q, %v", e.text, e.err)
			}
			t.Logf("open question: %q %v", e.text, e.err)
			v.goesOn()
		})
	}
}

// A client whose subscription was at a killed replica hears of changes at the
// others, or of the end of its subscription.
func TestKilledReplicaWithASubscription(t *testing.T) {
	for _, rev := range mcp.Revisions() {
		t.Run(string(rev), func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, 3, nil)
			v := f.visit(rev)
			l := v.listen(mcp.SubscriptionFilter{ToolsListChanged: true, ResourceSubscriptions: []string{"test://one"}})
			defer l.stop()
			f.nodes[0].server.ResourceUpdated("test://one")
			receive(t, "an update", l.heard)
			for _, n := range f.nodes[:2] { // one of three is left
				n.kill()
			}
			left := f.nodes[2]
			for i := 0; ; i++ {
				left.server.ResourceUpdated("test://one")
				server.AddTool(left.server, "grown", "Is new", func(context.Context, *mcp.Call, struct{}) (string, error) { return "", nil }, nil)
				select {
				case got := <-l.heard:
					if !strings.Contains(got, "test://one") && !strings.Contains(got, "list_changed") {
						t.Errorf("heard %s", got)
					}
					t.Logf("subscription: heard %s after %d tries", got, i)
					return
				case err := <-l.ended:
					t.Logf("subscription: ended with %v", err)
					again := v.listen(mcp.SubscriptionFilter{ToolsListChanged: true})
					again.stop()
					return
				case <-time.After(20 * time.Millisecond):
				}
				if i > 3000 {
					t.Fatal("neither a change nor the end in a minute")
				}
			}
		})
	}
}
