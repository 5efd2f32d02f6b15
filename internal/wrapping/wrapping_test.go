package wrapping

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
)

// patience bounds every wait in these tests.
const patience = time.Minute

// A person answers the input requests of a client.
type person struct {
	leave    func() // if set, it is called in place of filling in a form, and gives the call up
	rejected bool   // sampling requests are rejected
}

// options are those of a client whose input requests a person answers.
func options(p *person) *client.Options {
	return &client.Options{
		Elicit: func(ctx context.Context, e *client.Elicitation) (*mcp.ElicitResult, error) {
			if p.leave != nil {
				p.leave()
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return e.Accept(answer{"Ada"})
		},
		Sampling: &client.Sampling{Create: func(context.Context, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
			if p.rejected {
				return nil, client.ErrSamplingRejected
			}
			return &mcp.CreateMessageResult{Role: mcp.RoleAssistant, Model: "m", Content: mcp.SamplingContent{Blocks: mcp.Contents{&mcp.TextContent{Text: "ho"}}}}, nil
		}},
		Roots: func(context.Context) ([]mcp.Root, error) { return []mcp.Root{{URI: "file:///x"}}, nil },
	}
}

// A caller is a client of a Handler that is wrapped.
type caller struct {
	*client.Client
	way     string
	gateway string   // the era that a gateway before the Handler speaks; empty if there is none
	speaks  string   // the era of the server
	person  *person  // who answers
	end     func()   // ends the Handler for good
	conn    mcp.Conn // the Handler, or the connection to the gateway
}

// everyWay runs a test for every Handler that the library makes, wrapped: called
// directly, and served again by a gateway of each era.
func everyWay(t *testing.T, test func(t *testing.T, c *caller)) {
	for name, connect := range ways {
		for speaks := range eras {
			for _, gateway := range []string{"", "modern", "legacy"} {
				title := fmt.Sprintf("%s %s", speaks, name)
				if gateway != "" {
					title = fmt.Sprintf("%s gateway before %s", gateway, title)
				}
				t.Run(title, func(t *testing.T) {
					t.Parallel() // most of the time is waiting
					person := new(person)
					o := options(person)
					conn := connect(t, speaks, o.Profile())
					if gateway != "" {
						conn = overPipe(t, forward(conn), gateway, o.Profile())
					}
					made := client.New(forward(conn), o)
					t.Cleanup(func() { made.Close() })
					test(t, &caller{Client: made, way: name, gateway: gateway, speaks: speaks, person: person, conn: conn, end: func() { conn.Close() }})
				})
			}
		}
	}
}

// text calls a tool and returns what it says.
func (c *caller) text(t *testing.T, tool string, o *client.CallOptions) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	res, err := c.CallTool(ctx, tool, nil, o)
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	return res.Content.Text()
}

func TestInputRequestsThroughWrappers(t *testing.T) {
	everyWay(t, func(t *testing.T, c *caller) {
		if got := c.text(t, "ask", nil); got != "Ada m file:///x" {
			t.Errorf("got %q", got)
		}
	})
}

// A server hears a client's own notifications, in order, and one that it does
// not know or that panics costs nothing.
func TestNotificationsThroughWrappers(t *testing.T) {
	everyWay(t, func(t *testing.T, c *caller) {
		for i := range 3 {
			for _, method := range []string{"notifications/x.test/unknown", "notifications/x.test/panic", "notifications/x.test/hello"} {
				if err := c.Notify(t.Context(), method, map[string]int{"n": i}); err != nil {
					t.Fatal(err)
				}
			}
		}
		for i := range 3 {
			if got, want := c.text(t, "heard", nil), fmt.Sprintf(`{"n":%d} from tenon-client`, i); got != want {
				t.Errorf("heard %s, want %s", got, want)
			}
		}
		if _, err := c.Do(t.Context(), "notifications/x.test/hello", nil, nil); err == nil {
			t.Error("a request was taken for a notification")
		}
	})
}

// A server whose sampling request was rejected does without it, if its era has a
// way to tell it: the call goes on, and later rounds know of the rejection, too.
// Otherwise the caller gets the rejection.
func TestRefusalsThroughWrappers(t *testing.T) {
	everyWay(t, func(t *testing.T, c *caller) {
		c.person.rejected = true
		if c.speaks == "legacy" && c.gateway != "modern" {
			if got, want := c.text(t, "fallback", nil), "Ada without a model: User rejected sampling request (-1)"; got != want {
				t.Errorf("got %q, want %q", got, want)
			}
			return
		}
		_, err := c.CallTool(t.Context(), "fallback", nil, nil)
		if err == nil || !strings.Contains(err.Error(), "User rejected sampling request") {
			t.Errorf("got %v", err)
		}
	})
}

// What a tool does once it does once, however many rounds there are, and its
// value is there in each of them.
func TestOnceThroughWrappers(t *testing.T) {
	everyWay(t, func(t *testing.T, c *caller) {
		for _, want := range []string{"1 of 1", "2 of 2"} {
			if got := c.text(t, "once", nil); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		}
	})
}

// A connection to an older server parks a call while its caller is asked, and
// no more than 256 of them. A caller that does not come back releases its call.
func TestAbandoningThroughWrappers(t *testing.T) {
	everyWay(t, func(t *testing.T, c *caller) {
		calls := 260
		if c.gateway == "modern" {
			calls = 3 // in this era a client cannot say that it does not come back
		}
		for i := range calls {
			ctx, leave := context.WithCancel(t.Context())
			c.person.leave = leave
			if _, err := c.CallTool(ctx, "hold", nil, nil); !errors.Is(err, context.Canceled) {
				t.Fatalf("call %d: %v", i, err)
			}
		}
		c.person.leave = nil
		if got := c.text(t, "ask", nil); got != "Ada m file:///x" {
			t.Errorf("after it: %q", got)
		}
	})
}

// listen subscribes in the background. The channels get what is heard and the
// error at the end.
func (c *caller) listen(t *testing.T) (heard chan string, ended chan error, stop context.CancelFunc) {
	t.Helper()
	heard, ended = make(chan string, 100), make(chan error, 1)
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		ended <- c.Listen(ctx, mcp.SubscriptionFilter{ToolsListChanged: true, ResourceSubscriptions: []string{watched}}, func(n mcp.Notification) {
			heard <- n.Method
		})
	}()
	await(t, heard, mcp.NotificationSubscriptionsAcknowledged)
	return heard, ended, stop
}

// await waits until everything named was heard, in any order.
func await(t *testing.T, heard chan string, want ...string) {
	t.Helper()
	missing := map[string]bool{}
	for _, w := range want {
		missing[w] = true
	}
	hang := time.After(patience)
	for len(missing) > 0 {
		select {
		case got := <-heard:
			delete(missing, got)
		case <-hang:
			t.Fatalf("never heard %v", missing)
		}
	}
}

// touch changes something until both kinds of change were heard: a legacy
// gateway acknowledges a subscription before it has one itself.
func (c *caller) touch(t *testing.T, heard chan string) {
	t.Helper()
	missing := map[string]bool{mcp.NotificationToolsListChanged: true, mcp.NotificationResourceUpdated: true}
	for start := time.Now(); len(missing) > 0; {
		if time.Since(start) > patience {
			t.Fatalf("never heard %v", missing)
		}
		c.text(t, "touch", nil)
		for again := time.After(time.Second); len(missing) > 0 && again != nil; {
			select {
			case got := <-heard:
				delete(missing, got)
			case <-again:
				again = nil
			}
		}
	}
}

func TestSubscriptionsThroughWrappers(t *testing.T) {
	everyWay(t, func(t *testing.T, c *caller) {
		heard, ended, stop := c.listen(t)
		c.touch(t, heard)
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("ended with %v", err)
		}
	})
}

// Somebody who listens to a connection that ends for good hears of it, and is
// not left to try again for ever.
func TestTheEndOfAConnectionThroughWrappers(t *testing.T) {
	everyWay(t, func(t *testing.T, c *caller) {
		_, ended, stop := c.listen(t)
		defer stop()
		c.end()
		select {
		case err := <-ended:
			if _, ok := errors.AsType[*mcp.ClosedError](err); !ok {
				t.Errorf("ended with %v", err)
			}
		case <-time.After(patience):
			t.Error("still listens")
		}
		_, err := c.CallTool(t.Context(), "step", nil, nil)
		if _, ok := errors.AsType[*mcp.ClosedError](err); !ok {
			t.Errorf("a call after the end: %v", err)
		}
	})
}

// The end of a process is not the end of one that is supervised.
func TestARestartThroughWrappers(t *testing.T) {
	everyWay(t, func(t *testing.T, c *caller) {
		if c.way != "supervised" {
			t.Skip("nothing starts it again")
		}
		heard, ended, stop := c.listen(t)
		if _, err := c.CallTool(t.Context(), "die", nil, nil); err == nil {
			t.Error("the process did not end")
		}
		if c.gateway != "legacy" { // an older gateway does not say that its subscription has ended
			await(t, heard, mcp.NotificationSubscriptionsAcknowledged)
			c.touch(t, heard)
		}
		c.text(t, "cancelled", nil)
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("ended with %v", err)
		}
	})
}

func TestCancellationThroughWrappers(t *testing.T) {
	everyWay(t, func(t *testing.T, c *caller) {
		ctx, cancel := context.WithCancel(t.Context())
		_, err := c.CallTool(ctx, "wait", nil, &client.CallOptions{Progress: func(mcp.ProgressParams) { cancel() }})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("ended with %v", err)
		}
		for start := time.Now(); c.text(t, "cancelled", nil) != "1"; time.Sleep(5 * time.Millisecond) {
			if time.Since(start) > patience {
				t.Fatal("the tool was never cancelled")
			}
		}
	})
}

func TestProgressThroughWrappers(t *testing.T) {
	everyWay(t, func(t *testing.T, c *caller) {
		var heard []float64
		c.text(t, "step", &client.CallOptions{Progress: func(p mcp.ProgressParams) { heard = append(heard, p.Progress) }})
		if fmt.Sprint(heard) != "[1 2 3 4]" {
			t.Errorf("heard %v", heard)
		}
	})
}

// A server behind wrappers is listened to without a goroutine that waits in it.
func TestDetachingThroughWrappers(t *testing.T) {
	h := forward(newFixture())
	ended, end := context.WithCancel(t.Context())
	end()
	heard := make(chan string, 100)
	var stop func()
	_, err := h.Serve(ended, &mcp.Call{
		Method:         mcp.MethodSubscriptionsListen,
		Params:         []byte(`{"notifications":{"toolsListChanged":true}}`),
		OnNotification: func(n mcp.Notification) { heard <- n.Method },
		Detach:         func(f func()) { stop = f },
	})
	if err != nil || stop == nil {
		t.Fatalf("it did not detach: %v", err)
	}
	if _, err := h.Serve(t.Context(), &mcp.Call{Method: mcp.MethodToolsCall, Params: []byte(`{"name":"touch"}`)}); err != nil {
		t.Fatal(err)
	}
	await(t, heard, mcp.NotificationSubscriptionsAcknowledged, mcp.NotificationToolsListChanged)
	stop()
}
