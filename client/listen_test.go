package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
)

func drain[T any](list iter.Seq2[*T, error]) error {
	_, err := client.All(list)
	return err
}

// A visit is what happens at one attempt to listen.
type visit func(ctx context.Context, c *mcp.Call) error

// shaky is a server that can be listened to once for each visit, and goes away
// each time.
type shaky struct {
	mu     sync.Mutex
	visits []visit
	at     []time.Time
}

func (s *shaky) Serve(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	s.mu.Lock()
	s.at = append(s.at, time.Now())
	v := s.visits[0]
	s.visits = s.visits[1:]
	s.mu.Unlock()
	return mcp.Result{}, v(ctx, c)
}

func ack(c *mcp.Call) {
	c.Notify(mcp.Notification{Method: mcp.NotificationSubscriptionsAcknowledged, Params: c.Params})
}

func stay(ctx context.Context, c *mcp.Call) error {
	ack(c)
	<-ctx.Done()
	return ctx.Err()
}

func TestListenSurvivesARestart(t *testing.T) {
	down := func(context.Context, *mcp.Call) error { return errors.New("connection closed") }
	s := &shaky{visits: []visit{
		func(_ context.Context, c *mcp.Call) error {
			ack(c)
			c.Notify(mcp.Notification{Method: mcp.NotificationToolsListChanged})
			return nil // a shutdown in order
		},
		down, down,
		func(_ context.Context, c *mcp.Call) error { return mcp.Errorf(mcp.CodeInternal, "starting up") },
		stay,
	}}
	synctest.Test(t, func(t *testing.T) {
		var heard []string
		var w warnings
		c := client.New(s, &client.Options{Warn: w.add})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		begun := time.Now()
		go func() {
			ended <- c.Listen(ctx, mcp.SubscriptionFilter{ToolsListChanged: true, ResourceSubscriptions: []string{"x:a", "x:b"}}, func(n mcp.Notification) {
				heard = append(heard, strings.TrimPrefix(n.Method, "notifications/")+" "+string(n.Params))
			})
		}()
		time.Sleep(time.Hour)
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("ended with %v", err)
		}
		sub := `{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["x:a","x:b"]}}`
		want := []string{
			"subscriptions/acknowledged " + sub,
			"tools/list_changed ",
			"subscriptions/acknowledged " + sub,
			"tools/list_changed ",
			`resources/updated {"uri":"x:a"}`,
			`resources/updated {"uri":"x:b"}`,
		}
		if strings.Join(heard, "\n") != strings.Join(want, "\n") {
			t.Errorf("heard\n%s\nwant\n%s", strings.Join(heard, "\n"), strings.Join(want, "\n"))
		}
		// 1 s after a subscription that had worked, then twice as long each
		// time, and up to half of it more.
		at := begun
		for i, least := range []time.Duration{0, 1, 2, 4, 8} {
			pause := s.at[i].Sub(at)
			if least *= time.Second; pause < least || pause > least*3/2 {
				t.Errorf("attempt %d came after %v, want %v to %v", i, pause, least, least*3/2)
			}
			at = s.at[i]
		}
		if len(w.list) != 4 {
			t.Errorf("warned %v, want one warning for each interruption", w.list)
		}
	})
}

// Each time a subscription has worked, the next attempt comes soon.
func TestListenComesBackSoon(t *testing.T) {
	s := &shaky{}
	for range 10 {
		s.visits = append(s.visits, func(_ context.Context, c *mcp.Call) error { ack(c); return nil })
	}
	s.visits = append(s.visits, stay)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if err := client.New(s, nil).Listen(ctx, allNews, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("ended with %v", err)
		}
		for i := 1; i < len(s.at); i++ {
			if pause := s.at[i].Sub(s.at[i-1]); pause > 1500*time.Millisecond {
				t.Errorf("waited %v before attempt %d", pause, i)
			}
		}
	})
}

// Nobody hears of changes while the server cannot be listened to, so what was
// kept before is not used, and what is kept meanwhile goes afterwards.
func TestAGapInvalidates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lists := &newsServer{calls: map[string]int{}}
		restart := make(chan struct{})
		s := &shaky{visits: []visit{func(_ context.Context, c *mcp.Call) error { ack(c); <-restart; return nil }, stay}}
		c := client.New(mcp.HandlerFunc(func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
			if c.Method == mcp.MethodSubscriptionsListen {
				return s.Serve(ctx, c)
			}
			return lists.Serve(ctx, c)
		}), nil)
		ended := make(chan error)
		go func() { ended <- c.Listen(t.Context(), mcp.SubscriptionFilter{ToolsListChanged: true}, nil) }()
		synctest.Wait()
		for i, next := range []func(){
			func() { close(restart); synctest.Wait() }, // before the gap
			func() { time.Sleep(time.Minute) },         // in it
			func() {},                                  // after it
		} {
			for range 2 {
				if err := drain(c.Tools(t.Context())); err != nil {
					t.Fatal(err)
				}
			}
			if got := lists.calls[mcp.MethodToolsList]; got != i+1 {
				t.Errorf("phase %d: %d calls, want %d", i, got, i+1)
			}
			next()
		}
		c.Close()
		<-ended
	})
}

func TestListenNeverWaitsTooLong(t *testing.T) {
	s := &shaky{}
	for range 100 {
		s.visits = append(s.visits, func(context.Context, *mcp.Call) error { return errors.New("down") })
	}
	s.visits = append(s.visits, stay)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
		defer cancel()
		first := true
		err := client.New(s, nil).Listen(ctx, allNews, func(n mcp.Notification) {
			if n.Method != mcp.NotificationSubscriptionsAcknowledged || !first {
				t.Errorf("told of a gap that nobody was in: %+v", n)
			}
			first = false
		})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("ended with %v", err)
		}
		for i := 1; i < len(s.at); i++ {
			if pause := s.at[i].Sub(s.at[i-1]); pause < time.Second || pause > 30*time.Second {
				t.Errorf("waited %v before attempt %d", pause, i)
			}
		}
	})
}

func TestListenEnds(t *testing.T) {
	refuse := func(err error) visit { return func(context.Context, *mcp.Call) error { return err } }
	tests := []struct {
		name  string
		visit visit
		want  string
	}{
		{"no such method", refuse(mcp.MethodNotFound("subscriptions/listen")), "unknown method"},
		{"bad filter", refuse(mcp.InvalidParams("no such kind of news")), "no such kind"},
		{"missing capability", refuse(mcp.MissingCapability(&mcp.ClientCapabilities{}, "declare it")), "declare it"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := client.New(&shaky{visits: []visit{tt.visit}}, nil).Listen(t.Context(), allNews, func(mcp.Notification) {})
			wantError(t, err, tt.want)
		})
	}
	t.Run("gone for good", func(t *testing.T) {
		h := &shaky{visits: []visit{refuse(&mcp.ClosedError{Cause: errors.New("the process has died")})}}
		wantError(t, client.New(h, nil).Listen(t.Context(), allNews, nil), "the process has died")
	})
	t.Run("closed", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := client.New(&shaky{visits: []visit{stay}}, nil)
			time.AfterFunc(time.Hour, func() { c.Close() })
			if err := c.Listen(t.Context(), allNews, func(mcp.Notification) {}); !errors.Is(err, client.ErrClosed) {
				t.Errorf("ended with %v", err)
			}
		})
	})
}

func TestListenDropsWhatWasNotAskedFor(t *testing.T) {
	var late func(mcp.Notification)
	s := &shaky{visits: []visit{func(_ context.Context, c *mcp.Call) error {
		ack(c)
		for _, m := range []string{mcp.NotificationToolsListChanged, mcp.NotificationPromptsListChanged, mcp.NotificationProgress, mcp.NotificationMessage, "notifications/odd"} {
			c.Notify(mcp.Notification{Method: m})
		}
		c.Notify(mcp.Notification{Method: mcp.NotificationResourceUpdated, Params: json.RawMessage(`{"uri":"x:a"}`)})
		late = c.Notify
		return mcp.MethodNotFound("enough")
	}}}
	var heard []string
	var w warnings
	c := client.New(s, &client.Options{Warn: w.add})
	wantError(t, c.Listen(t.Context(), mcp.SubscriptionFilter{PromptsListChanged: true}, func(n mcp.Notification) { heard = append(heard, n.Method) }), "enough")
	late(mcp.Notification{Method: mcp.NotificationPromptsListChanged})
	if got := strings.Join(heard, " "); got != mcp.NotificationSubscriptionsAcknowledged+" "+mcp.NotificationPromptsListChanged {
		t.Errorf("heard %s", got)
	}
	if len(w.list) != 5 {
		t.Errorf("warned %v", w.list)
	}
}

// A server that takes the subscription and never says so is tried again.
func TestListenWithoutAcknowledgement(t *testing.T) {
	s := &shaky{visits: []visit{func(ctx context.Context, _ *mcp.Call) error { <-ctx.Done(); return ctx.Err() }, stay}}
	synctest.Test(t, func(t *testing.T) {
		var w warnings
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		err := client.New(s, &client.Options{Warn: w.add}).Listen(ctx, allNews, func(mcp.Notification) {})
		if !errors.Is(err, context.DeadlineExceeded) || len(s.visits) != 0 || !strings.Contains(w.String(), "no response from the server for 60s") {
			t.Errorf("ended with %v, warned %v", err, w.list)
		}
	})
}
