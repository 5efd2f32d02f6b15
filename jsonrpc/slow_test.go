package jsonrpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"
)

var tenMiB = append(append([]byte(`{"x":"`), bytes.Repeat([]byte{'x'}, 10<<20)...), `"}`...)

// C60, C62: a far end that never reads holds up nobody longer than their
// context, and does not keep the Conn from ending.
func TestFarEndThatNeverReads(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPlug()
		conn := NewConn(p, serving{}, &ConnOptions{Grace: -1})
		ctx, stop := context.WithCancel(context.Background())
		ran := make(chan error, 1)
		go func() { ran <- conn.Run(ctx) }()
		for i := range 3 { // the first is being written, the second fills the outbox, the third finds no room
			callCtx, cancel := context.WithTimeout(t.Context(), time.Minute)
			begin := time.Now()
			_, err := conn.Call(callCtx, "m", tenMiB)
			cancel()
			if !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != time.Minute {
				t.Errorf("call %d: %v after %s", i, err, time.Since(begin))
			}
		}
		if !conn.Push("", func(dst []byte) []byte { return append(dst, `{}`...) }) {
			t.Error("Push dropped something")
		}
		stopped, cancel := context.WithCancel(t.Context())
		cancel()
		if err := conn.Notify(stopped, "n", nil); err != nil {
			t.Errorf("Notify: %v", err)
		}
		if _, err := conn.Call(stopped, "m", nil); !errors.Is(err, context.Canceled) {
			t.Errorf("Call: %v", err)
		}
		stop()
		if err := <-ran; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

// A server whose client takes nothing still hears it, also when it is told to
// cancel, and ends.
func TestReadingGoesOnWhenNothingCanBeWritten(t *testing.T) {
	for _, inline := range []bool{false, true} {
		t.Run(fmt.Sprint("inline ", inline), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := newPlug()
				heard := 0
				h := serving{
					request: func(ctx context.Context, x *Exchange) {
						x.Respond(func(dst []byte) []byte { return AppendResult(dst, x.ID, tenMiB) })
					},
					notice: func(_ context.Context, c *Conn, m *Message) {
						heard++
						c.Cancel(IntID(int64(heard)))
					},
				}
				conn := NewConn(p, h, &ConnOptions{WriteInline: inline, RespondToInvalid: true, MaxServing: 4, Batch: func() error { return nil }})
				ran := make(chan error, 1)
				go func() { ran <- conn.Run(context.Background()) }()
				for i := range 50 {
					p.in <- []byte(ask(i+1, "m"))
					p.in <- []byte(`not json`)
					p.in <- []byte(`[` + ask(1000+i, "m") + `,5]`)
					p.in <- []byte(`[5]`)
					p.in <- []byte(`{"jsonrpc":"2.0","method":"n"}`)
					synctest.Wait()
				}
				if heard != 50 {
					t.Errorf("heard %d of 50 notifications", heard)
				}
				p.Close()
				if err := <-ran; err != nil {
					t.Errorf("Run: %v", err)
				}
			})
		})
	}
}

// gate is a stream whose writes pass one by one.
type gate struct {
	plug
	pass   chan struct{}
	writes chan string
}

func (g *gate) Write(b []byte) error {
	select {
	case <-g.pass:
		g.writes <- string(b)
		return nil
	case <-g.closed:
		return io.ErrClosedPipe
	}
}

func TestMessagesThatWaitAreWrittenTogether(t *testing.T) {
	bubble(t, func(t *testing.T) {
		g := &gate{plug: *newPlug(), pass: make(chan struct{}), writes: make(chan string, 8)}
		conn := NewConn(g, serving{}, nil)
		ran := make(chan error, 1)
		go func() { ran <- conn.Run(context.Background()) }()
		for i := range 5 {
			if err := conn.Notify(t.Context(), fmt.Sprint("n", i), nil); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		g.pass <- struct{}{}
		g.pass <- struct{}{}
		first, second := <-g.writes, <-g.writes
		if n := bytes.Count([]byte(first), []byte{'\n'}); n != 1 {
			t.Errorf("the first write has %d messages, want 1", n)
		}
		if n := bytes.Count([]byte(second), []byte{'\n'}); n != 4 {
			t.Errorf("the second write has %d messages, want 4:\n%s", n, second)
		}
		g.Close()
		<-ran
	})
}

// Senders wait for room, and go on when there is some.
func TestBackpressure(t *testing.T) {
	bubble(t, func(t *testing.T) {
		g := &gate{plug: *newPlug(), pass: make(chan struct{}), writes: make(chan string, 8)}
		conn := NewConn(g, serving{}, nil)
		ran := make(chan error, 1)
		go func() { ran <- conn.Run(context.Background()) }()
		sent := make(chan int, 3)
		for i := range 3 {
			go func() {
				if err := conn.Notify(context.Background(), "n", tenMiB); err != nil {
					t.Error(err)
				}
				sent <- i
			}()
			synctest.Wait()
		}
		if len(sent) != 2 {
			t.Errorf("%d were sent, want one that is written and one that waits", len(sent))
		}
		g.pass <- struct{}{}
		synctest.Wait()
		if len(sent) != 3 {
			t.Errorf("%d were sent after there was room", len(sent))
		}
		g.pass <- struct{}{}
		g.pass <- struct{}{}
		g.Close()
		<-ran
	})
}
