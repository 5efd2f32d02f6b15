package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
)

// updated runs a test with a Router that notes the servers it releases, and with
// time that the test controls.
func updated(t *testing.T, servers []Upstream, test func(t *testing.T, r *Router, released func() []string)) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var released []string
		r, err := NewRouter(servers, &Options{Log: quiet, Released: func(u Upstream) {
			mu.Lock()
			defer mu.Unlock()
			released = append(released, u.Name)
		}})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		synctest.Wait()
		test(t, r, func() []string {
			mu.Lock()
			defer mu.Unlock()
			return slices.Clone(released)
		})
	})
}

// TestUpdateDrainsRemovedServers removes a server during a call: the call ends,
// and then the server is released. New calls do not reach it.
func TestUpdateDrainsRemovedServers(t *testing.T) {
	var finish chan struct{}
	old := &fake{tools: toolsOf(`{"name":"x"}`), other: func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
		select {
		case <-finish:
			return mcp.Result{Body: json.RawMessage(`{"content":[]}`)}, nil
		case <-ctx.Done():
			return mcp.Result{}, ctx.Err()
		}
	}}
	kept := &fake{tools: toolsOf(`{"name":"y"}`)}
	updated(t, []Upstream{{Name: "kept", Handler: kept}, {Name: "old", Handler: old}}, func(t *testing.T, r *Router, released func() []string) {
		finish = make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		got, ended := listening(ctx, r, `{"toolsListChanged":true}`)
		synctest.Wait()
		done := make(chan error, 1)
		go func() { _, err := call(t.Context(), r, mcp.MethodToolsCall, `{"name":"old__x"}`); done <- err }()
		synctest.Wait()
		if err := r.Update([]Upstream{{Name: "kept", Handler: kept}, {Name: "new", Handler: &fake{tools: toolsOf(`{"name":"z"}`)}}}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if len(released()) != 0 {
			t.Fatal("the server was released during a call")
		}
		wantTools(t, r, `{"name":"kept__y"},{"name":"new__z"}`)
		if _, err := call(t.Context(), r, mcp.MethodToolsCall, `{"name":"old__x"}`); err == nil || !strings.Contains(err.Error(), "unknown tool") {
			t.Errorf("a call of the removed server: %v", err)
		}
		close(finish)
		if err := <-done; err != nil {
			t.Errorf("the open call: %v", err)
		}
		synctest.Wait()
		if !slices.Equal(released(), []string{"old"}) {
			t.Errorf("released %q", released())
		}
		if n := kept.listens.Load(); n != 1 {
			t.Errorf("the server that stays was connected %d times", n)
		}
		cancel()
		<-ended
		if !slices.Contains(*got, mcp.NotificationToolsListChanged+" ") {
			t.Errorf("notifications %q", *got)
		}
	})
}

// TestUpdateKeepsSubscriptions replaces a server whose resource a client has
// subscribed to.
func TestUpdateKeepsSubscriptions(t *testing.T) {
	live := func(ctx context.Context, c *mcp.Call) (mcp.Result, error) { ack(c); return block(ctx, c) }
	a, b := &fake{listen: live}, &fake{listen: live}
	updated(t, []Upstream{{Name: "s", Handler: a}}, func(t *testing.T, r *Router, _ func() []string) {
		ctx, cancel := context.WithCancel(t.Context())
		got, ended := listening(ctx, r, `{"resourceSubscriptions":["s+file:///x"]}`)
		synctest.Wait()
		if err := r.Update([]Upstream{{Name: "s", Handler: b}}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if n := b.listens.Load(); n != 2 { // one of the Router, one of the client
			t.Errorf("%d subscriptions at the new server", n)
		}
		// A removed server may come back.
		if err := r.Update(nil); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if err := r.Update([]Upstream{{Name: "s", Handler: a}}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(lastRetry)
		synctest.Wait()
		cancel()
		<-ended
		updated := mcp.NotificationResourceUpdated + ` {"uri":"s+file:///x"}`
		if len(*got) != 3 || (*got)[1] != updated || (*got)[2] != updated {
			t.Errorf("notifications %q", *got)
		}
	})
}

// TestUpdateKeepsServersThatWaitForInput replaces a server between two rounds of
// a call that only the old connection can continue.
func TestUpdateKeepsServersThatWaitForInput(t *testing.T) {
	asks := func(_ context.Context, c *mcp.Call) (mcp.Result, error) {
		if c.State == "" {
			return mcp.Result{}, &mcp.InputRequired{State: "parked", Abandon: func() {}}
		}
		return mcp.Result{Body: json.RawMessage(`{"content":[]}`)}, nil
	}
	refuses := func(context.Context, *mcp.Call) (mcp.Result, error) {
		return mcp.Result{}, errors.New("unknown state")
	}
	for how, want := range map[string]string{"answered": "", "abandoned": "unknown state", "expired": "unknown state"} {
		t.Run(how, func(t *testing.T) {
			updated(t, []Upstream{{Name: "s", Handler: &fake{other: asks}}}, func(t *testing.T, r *Router, released func() []string) {
				_, err := call(t.Context(), r, mcp.MethodToolsCall, `{"name":"s__x"}`)
				if err := r.Update([]Upstream{{Name: "s", Handler: &fake{other: refuses}}}); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if len(released()) != 0 {
					t.Fatal("the server was released between two rounds")
				}
				switch how {
				case "abandoned":
					mcp.Abandon(err)
				case "expired":
					time.Sleep(holdLimit + time.Second)
				}
				_, err = r.Serve(t.Context(), &mcp.Call{Method: mcp.MethodToolsCall, Params: json.RawMessage(`{"name":"s__x"}`), State: "parked"})
				if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
					t.Errorf("the next round: %v", err)
				}
				synctest.Wait()
				if len(released()) != 1 {
					t.Errorf("released %q after the last round", released())
				}
			})
		})
	}
}

// TestUpdateDropsNoCall makes calls while servers are replaced all the time. A
// server that was released refuses calls.
func TestUpdateDropsNoCall(t *testing.T) {
	type closing struct {
		*fake
		closed bool // guarded by mu
		mu     sync.RWMutex
	}
	var servers sync.Map
	open := func(n int) *fake {
		s := &closing{}
		s.fake = &fake{other: func(context.Context, *mcp.Call) (mcp.Result, error) {
			s.mu.RLock()
			defer s.mu.RUnlock()
			if s.closed {
				return mcp.Result{}, fmt.Errorf("server %d is closed", n)
			}
			return mcp.Result{Body: json.RawMessage(`{"content":[]}`)}, nil
		}}
		servers.Store(s.fake, s)
		return s.fake
	}
	r, err := NewRouter([]Upstream{{Name: "s", Handler: open(0)}}, &Options{Log: quiet, Released: func(u Upstream) {
		found, _ := servers.Load(u.Handler)
		s := found.(*closing)
		s.mu.Lock()
		s.closed = true
		s.mu.Unlock()
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var callers sync.WaitGroup
	for range 4 {
		callers.Go(func() {
			for range 2000 {
				if _, err := call(t.Context(), r, mcp.MethodToolsCall, `{"name":"s__x"}`); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for n := range 200 {
		if err := r.Update([]Upstream{{Name: "s", Handler: open(n + 1)}}); err != nil {
			t.Fatal(err)
		}
	}
	callers.Wait()
}

func TestUpdateRefusesEqualNames(t *testing.T) {
	f := &fake{tools: toolsOf(`{"name":"x"}`)}
	updated(t, []Upstream{{Name: "a", Handler: f}}, func(t *testing.T, r *Router, _ func() []string) {
		if err := r.Update([]Upstream{{Name: "b", Handler: f}, {Name: "b", Handler: f}}); err == nil {
			t.Error("two servers have the same name")
		}
		wantTools(t, r, `{"name":"a__x"}`)
		r.Close()
		if err := r.Update([]Upstream{{Name: "b", Handler: f}}); !errors.Is(err, errClosed) {
			t.Errorf("an update after Close: %v", err)
		}
	})
}

// TestSwitchDrains replaces the Handler of a Switch during a call.
func TestSwitchDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s Switch
		if _, err := s.Serve(t.Context(), &mcp.Call{Method: mcp.MethodPing}); err == nil {
			t.Error("a Switch without a Handler serves calls")
		}
		<-s.Set(&fake{other: block})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { _, err := s.Serve(ctx, &mcp.Call{Method: mcp.MethodPing}); ended <- err }()
		synctest.Wait()
		if n := s.InFlight(); n != 1 {
			t.Errorf("%d calls in flight", n)
		}
		drained := s.Set(&fake{other: toolsOf("")})
		if _, err := s.Serve(t.Context(), &mcp.Call{Method: mcp.MethodPing}); err != nil {
			t.Error(err)
		}
		select {
		case <-drained:
			t.Error("drained during a call")
		default:
		}
		cancel()
		<-ended
		<-drained
	})
}
