package jsonrpc

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
)

func TestBatches(t *testing.T) {
	note := `{"jsonrpc":"2.0","method":"n"}`
	for _, c := range []struct {
		name, send string
		want       []string // parts of the one frame that comes; none means nothing comes
	}{
		{"answers in one frame", `[` + ask(1, "m") + `,` + note + `,` + ask(2, "m") + `]`, []string{`[{`, `"id":1,"result"`, `"id":2,"result"`, `}]`}},
		{"only notifications", `[` + note + `,` + note + `]`, nil},
		{"errors inside", `[5,` + ask(1, "m") + `,{"jsonrpc":"2.0","id":2}]`, []string{`"code":-32600`, `"id":1,"result"`, `"id":2,"error"`}},
		{"only errors", `[5]`, []string{`[{"jsonrpc":"2.0","error":{"code":-32600`}},
		{"malformed notification", `[{"jsonrpc":"2.0","method":"n","params":5}]`, nil},
		{"the same id twice", `[` + ask(1, "wait") + `,` + ask(1, "m") + `,` + ask(2, "free") + `]`, []string{`"id":1,"error":{"code":-32600`, `"id":1,"result"`, `"id":2,"result"`}},
		{"a panic inside", `[` + ask(1, "panic") + `,` + ask(2, "m") + `]`, []string{`"id":1,"error":{"code":-32603`, `"id":2,"result"`}},
		{"an answer inside", `[{"jsonrpc":"2.0","id":77,"result":{}}]`, nil},
		{"empty", `[]`, []string{`{"jsonrpc":"2.0","error":{"code":-32600,"message":"the batch is empty"`}},
		{"not JSON", `[{]`, []string{`"code":-32700`}},
		{"too long", `[` + strings.Repeat(note+",", 100) + ask(1, "m") + `]`, []string{`"code":-32600,"message":"the batch has more than 100`}},
		{"ignored member", `[` + ask(1, "ignore") + `,` + ask(2, "m") + `]`, []string{`[{"jsonrpc":"2.0","id":2,"result":{}}]`}},
		{"all ignored", `[` + ask(1, "ignore") + `]`, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				free := make(chan struct{})
				r := newRig(t, serving{request: func(_ context.Context, x *Exchange) {
					switch x.Method {
					case "panic":
						panic("in a batch")
					case "ignore":
						x.Ignore()
						return
					case "wait":
						<-free
					case "free":
						close(free)
					}
					answer(x, `{}`)
				}}, &ConnOptions{RespondToInvalid: true, Batch: func() error { return nil }})
				r.send(c.send)
				got := r.take()
				if len(c.want) == 0 {
					if len(got) > 0 {
						t.Errorf("got %q, want nothing", got)
					}
				} else if len(got) != 1 {
					t.Errorf("got %d frames, want 1: %q", len(got), got)
				} else {
					for _, part := range c.want {
						if !strings.Contains(got[0], part) {
							t.Errorf("%s is not in %s", part, got[0])
						}
					}
				}
				r.endWell()
			})
		})
	}
}

func TestBatchWithACancelledMember(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := serving{
			request: func(ctx context.Context, x *Exchange) {
				if x.Method == "slow" {
					<-ctx.Done()
				}
				answer(x, `{}`)
			},
			notice: func(_ context.Context, c *Conn, m *Message) { c.Cancel(ID("2")) },
		}
		r := newRig(t, h, &ConnOptions{Batch: func() error { return nil }})
		r.send(`[` + ask(1, "m") + `,` + ask(2, "slow") + `]`)
		r.want()
		r.send(`{"jsonrpc":"2.0","method":"cancel"}`)
		r.want(`[{"jsonrpc":"2.0","id":1,"result":{}}]`)
		r.send(`[` + ask(2, "slow") + `,{"jsonrpc":"2.0","method":"cancel"}]`)
		r.want()
		r.endWell()
	})
}

func TestBatchThatIsNotWelcome(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, serving{}, &ConnOptions{RespondToInvalid: true, Batch: func() error { return errors.New("not now") }})
		r.send(`[` + ask(1, "m") + `]`)
		r.want(`{"jsonrpc":"2.0","error":{"code":-32600,"message":"not now"}}`)
		r.endWell()
		r = newRig(t, serving{}, &ConnOptions{RespondToInvalid: true})
		r.send(`[` + ask(1, "m") + `]`)
		r.want(`"code":-32600`)
		r.endWell()
	})
}

// A malformed answer inside a batch fails its call as one outside does.
func TestBatchOfAnswers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, serving{}, &ConnOptions{Batch: func() error { return nil }})
		first, second := r.call(t.Context(), "m"), r.call(t.Context(), "m")
		r.take()
		r.send(`[{"jsonrpc":"2.0","id":1,"result":null},{"jsonrpc":"2.0","id":2,"result":{}}]`)
		synctest.Wait()
		for _, c := range []chan outcome{first, second} {
			select {
			case <-c:
			default:
				t.Error("a call still waits")
			}
		}
		r.endWell()
	})
}

// The answers of a batch are not lost because the far end is slow.
func TestBatchWaitsForRoom(t *testing.T) {
	bubble(t, func(t *testing.T) {
		g := &gate{plug: *newPlug(), pass: make(chan struct{}), writes: make(chan string, 8)}
		conn := NewConn(g, serving{}, &ConnOptions{Batch: func() error { return nil }})
		ran := make(chan error, 1)
		go func() { ran <- conn.Run(context.Background()) }()
		for range 2 {
			if err := conn.Notify(t.Context(), "n", tenMiB); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		g.in <- []byte(`[` + ask(1, "m") + `,` + ask(2, "m") + `]`)
		synctest.Wait()
		for range 3 {
			g.pass <- struct{}{}
		}
		<-g.writes
		<-g.writes
		if last := <-g.writes; !strings.Contains(last, `"id":1,"result"`) || !strings.Contains(last, `"id":2,"result"`) {
			t.Errorf("the answers are %.200s", last)
		}
		g.Close()
		<-ran
	})
}

// Cancelling the last member of a batch, which sends the rest, does not hold up
// the reading when the far end is slow.
func TestCancelledBatchDoesNotHoldUpTheReading(t *testing.T) {
	bubble(t, func(t *testing.T) {
		g := &gate{plug: *newPlug(), pass: make(chan struct{}), writes: make(chan string, 8)}
		heard := 0
		conn := NewConn(g, serving{
			request: func(ctx context.Context, x *Exchange) {
				if x.Method == "slow" {
					<-ctx.Done()
				}
				answer(x, `{}`)
			},
			notice: func(_ context.Context, c *Conn, m *Message) { heard++; c.Cancel(ID("2")) },
		}, &ConnOptions{Batch: func() error { return nil }})
		ran := make(chan error, 1)
		go func() { ran <- conn.Run(context.Background()) }()
		g.in <- []byte(`[` + ask(1, "m") + `,` + ask(2, "slow") + `]`)
		for range 2 {
			if err := conn.Notify(t.Context(), "n", tenMiB); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		for range 2 {
			g.in <- []byte(`{"jsonrpc":"2.0","method":"cancel"}`)
			synctest.Wait()
		}
		if heard != 2 {
			t.Errorf("heard %d of 2 notifications", heard)
		}
		for range 3 {
			g.pass <- struct{}{}
		}
		<-g.writes
		<-g.writes
		if last := <-g.writes; last != `[{"jsonrpc":"2.0","id":1,"result":{}}]`+"\n" {
			t.Errorf("the answers are %s", last)
		}
		g.Close()
		<-ran
	})
}
