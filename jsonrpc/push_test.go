package jsonrpc

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
)

func notification(method string) func(dst []byte) []byte {
	return func(dst []byte) []byte { return AppendNotification(dst, method, nil) }
}

// L7: while the far end does not read, notifications are merged by key and
// errors for refused requests wait. None is lost once it reads again.
func TestPushedMessagesAreNotLost(t *testing.T) {
	bubble(t, func(t *testing.T) {
		g := &gate{plug: *newPlug(), pass: make(chan struct{}), writes: make(chan string, 8)}
		held := make(chan struct{})
		h := serving{request: func(ctx context.Context, x *Exchange) { <-held }}
		conn := NewConn(g, h, &ConnOptions{RespondToInvalid: true, MaxServing: 1})
		ran := make(chan error, 1)
		go func() { ran <- conn.Run(context.Background()) }()
		g.in <- []byte(ask(1, "m"))
		for range 2 { // the first is being written, the second fills the outbox
			if err := conn.Notify(t.Context(), "large", tenMiB); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		for range 100 {
			conn.Push("tools", notification("tools"))
			conn.Push("prompts", notification("prompts"))
		}
		for i := range 50 {
			g.in <- []byte(ask(1000+i, "m"))
			synctest.Wait()
		}
		g.in <- []byte(`not json`)
		synctest.Wait()
		conn.Push("", notification("cancelled"))
		conn.Push("", notification("cancelled"))
		var got strings.Builder
		for range 3 {
			g.pass <- struct{}{}
			got.WriteString(<-g.writes)
		}
		synctest.Wait()
		for part, want := range map[string]int{`"tools"`: 1, `"prompts"`: 1, `"cancelled"`: 2, "too many requests at once": 50, "-32700": 1} {
			if n := strings.Count(got.String(), part); n != want {
				t.Errorf("%s came %d times, want %d", part, n, want)
			}
		}
		close(held)
		g.Close()
		<-ran
	})
}

// What is sent with a context that has ended, such as a cancellation, does not
// wait and is not lost while the far end is slow.
func TestEndedContextLosesNoMessage(t *testing.T) {
	bubble(t, func(t *testing.T) {
		g := &gate{plug: *newPlug(), pass: make(chan struct{}), writes: make(chan string, 8)}
		conn := NewConn(g, serving{}, nil)
		ran := make(chan error, 1)
		go func() { ran <- conn.Run(context.Background()) }()
		for range 2 { // the first is being written, the second fills the outbox
			if err := conn.Notify(t.Context(), "large", tenMiB); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if err := conn.Notify(ended, "cancelled", nil); err != nil {
			t.Errorf("Notify: %v", err)
		}
		if p, err := conn.Start(ended, conn.NextID(), "unsubscribe", nil); err != nil {
			t.Errorf("Start: %v", err)
		} else {
			p.Cancel()
		}
		for range 2 {
			g.pass <- struct{}{}
			<-g.writes
		}
		g.pass <- struct{}{}
		if got := <-g.writes; !strings.Contains(got, `"cancelled"`) || !strings.Contains(got, `"unsubscribe"`) {
			t.Errorf("sent %s", got)
		}
		g.Close()
		<-ran
	})
}

// A far end that never reads cannot fill the memory: it is given up.
func TestFarEndThatNeverReadsIsGivenUp(t *testing.T) {
	for name, push := range map[string]func(c *Conn, i int) bool{
		"responses": func(c *Conn, i int) bool {
			return c.Push("", func(dst []byte) []byte { return append(dst, bytes.Repeat([]byte{'x'}, 1<<20)...) })
		},
		"changes": func(c *Conn, i int) bool { return c.Push(fmt.Sprint(i), notification("n")) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				conn := NewConn(newPlug(), serving{}, nil)
				ran := make(chan error, 1)
				go func() { ran <- conn.Run(context.Background()) }()
				for range 2 {
					if err := conn.Notify(t.Context(), "large", tenMiB); err != nil {
						t.Fatal(err)
					}
					synctest.Wait()
				}
				taken := 0
				for taken < 2000 && push(conn, taken) {
					taken++
				}
				if taken != 15 && taken != 1024 {
					t.Errorf("%d were taken", taken)
				}
				<-ran
				if err := conn.Notify(t.Context(), "n", nil); err == nil || !strings.Contains(err.Error(), "does not read") {
					t.Errorf("afterwards %v", err)
				}
			})
		})
	}
}
