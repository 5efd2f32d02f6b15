package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
)

// busy is a server that works for a while and reports progress every so often.
func busy(work, report time.Duration) mcp.HandlerFunc {
	return func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
		end := time.After(work)
		for n := 1; ; n++ {
			select {
			case <-time.After(report):
				c.Notify(mcp.Notification{Method: mcp.NotificationProgress, Params: fmt.Appendf(nil, `{"progress":%d}`, n)})
			case <-end:
				return text("done"), nil
			case <-ctx.Done():
				return mcp.Result{}, ctx.Err()
			}
		}
	}
}

func TestTimeLimits(t *testing.T) {
	const never = 1000 * time.Hour
	hear := &client.CallOptions{Progress: func(mcp.ProgressParams) {}}
	tests := []struct {
		name  string
		o     *client.Options
		call  *client.CallOptions
		h     mcp.Handler
		takes time.Duration
		fails string
	}{
		{"in time", nil, nil, busy(59*time.Second, never), 59 * time.Second, ""},
		{"silent", nil, nil, busy(61*time.Second, never), 60 * time.Second, `tools/call "x": no response from the server for 60s`},
		{"progress that nobody wants to hear", nil, nil, busy(61*time.Second, time.Second), 60 * time.Second, "no response from the server"},
		{"progress extends the first limit", nil, hear, busy(5*time.Minute, 59*time.Second), 5 * time.Minute, ""},
		{"progress, then silence", nil, hear, busy(5*time.Minute, 61*time.Second), 60 * time.Second, "no response from the server"},
		{"C06 progress for ever", nil, hear, busy(never, 100*time.Millisecond), 10 * time.Minute, `tools/call "x": timed out after 10m`},
		{"limits of the client", &client.Options{IdleTimeout: time.Second, TotalTimeout: 3 * time.Second}, hear, busy(never, 900*time.Millisecond), 3 * time.Second, "after 3s"},
		{"limits of the call", &client.Options{IdleTimeout: time.Hour}, &client.CallOptions{IdleTimeout: 1500 * time.Millisecond}, busy(never, never), 1500 * time.Millisecond, "for 1.5s"},
		{"no first limit", &client.Options{IdleTimeout: -1, TotalTimeout: 90 * time.Minute}, nil, busy(never, never), 90 * time.Minute, "after 1h30m"},
		{"no limits", nil, &client.CallOptions{IdleTimeout: -1, TotalTimeout: -1}, busy(99*time.Hour, never), 99 * time.Hour, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				_, err := client.New(tt.h, tt.o).CallTool(t.Context(), "x", nil, tt.call)
				if took := time.Since(begun); took != tt.takes {
					t.Errorf("took %v, want %v", took, tt.takes)
				}
				if tt.fails == "" {
					if err != nil {
						t.Error(err)
					}
					return
				}
				wantError(t, err, tt.fails)
				if _, ok := errors.AsType[*client.TimeoutError](err); !ok || !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%T is not a timeout", err)
				}
			})
		})
	}
}

func TestCancelledByTheCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := client.New(busy(time.Hour, time.Hour), nil).CallTool(ctx, "x", nil, nil)
		if _, ours := errors.AsType[*client.TimeoutError](err); ours || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}

// A person may take their time; the server may not, before and after.
func TestAPersonMayTakeTheirTime(t *testing.T) {
	form := mcp.InputRequest{Method: mcp.MethodElicit, Params: json.RawMessage(`{"message":"?","requestedSchema":{"type":"object","properties":{}}}`)}
	ask := func(before, after time.Duration) mcp.Handler {
		return mcp.HandlerFunc(func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
			work := before
			if c.InputResponses != nil {
				work = after
			}
			select {
			case <-time.After(work):
			case <-ctx.Done():
				return mcp.Result{}, ctx.Err()
			}
			if _, err := c.Ask("k", form); err != nil {
				return mcp.Result{}, err
			}
			return text("thanks"), nil
		})
	}
	tests := []struct {
		name                  string
		before, person, after time.Duration
		fails                 string
		takes                 time.Duration
	}{
		{"slow person", 50 * time.Second, 5 * time.Minute, 50 * time.Second, "", 6*time.Minute + 40*time.Second},
		{"slow server after", time.Second, 5*time.Minute + 17*time.Second, 61 * time.Second, "no response from the server for 60s", 6*time.Minute + 18*time.Second},
		{"very slow person", time.Second, time.Hour, time.Second, "after 10m while waiting for input", 10 * time.Minute},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				c := client.New(ask(tt.before, tt.after), &client.Options{Elicit: func(ctx context.Context, e *client.Elicitation) (*mcp.ElicitResult, error) {
					select {
					case <-time.After(tt.person):
						return e.Accept(nil)
					case <-ctx.Done():
						return nil, ctx.Err()
					}
				}})
				_, err := c.CallTool(t.Context(), "x", nil, nil)
				if tt.fails != "" {
					wantError(t, err, tt.fails)
				} else if err != nil {
					t.Error(err)
				}
				if took := time.Since(begun); took != tt.takes {
					t.Errorf("took %v, want %v", took, tt.takes)
				}
			})
		})
	}
}

// C22: progress that does not go forward, or comes too late, is not told.
func TestProgressGoesForward(t *testing.T) {
	var tell func(mcp.Notification)
	h := mcp.HandlerFunc(func(_ context.Context, c *mcp.Call) (mcp.Result, error) {
		tell = c.Notify
		for _, p := range []string{`{"progress":0}`, `{"progress":2,"total":4,"message":"half"}`, `{"progress":2}`, `{"progress":1}`, `{"progress":"3"}`, `null`, ``, `{"progress":2.5}`} {
			c.Notify(mcp.Notification{Method: mcp.NotificationProgress, Params: json.RawMessage(p)})
		}
		c.Notify(mcp.Notification{Method: mcp.NotificationToolsListChanged})
		c.Notify(mcp.Notification{Method: mcp.NotificationMessage, Params: json.RawMessage(`{"level":"error","data":"not asked for"}`)})
		return text("ok"), nil
	})
	var got []mcp.ProgressParams
	var w warnings
	c := client.New(h, &client.Options{Warn: w.add})
	if _, err := c.CallTool(t.Context(), "x", nil, &client.CallOptions{Progress: func(p mcp.ProgressParams) { got = append(got, p) }}); err != nil {
		t.Fatal(err)
	}
	tell(mcp.Notification{Method: mcp.NotificationProgress, Params: json.RawMessage(`{"progress":9}`)})
	want := []mcp.ProgressParams{{}, {Progress: 2, Total: 4, Message: "half"}, {Progress: 2.5}}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("heard %v, want %v (warned %v)", got, want, w.list)
	}
}
