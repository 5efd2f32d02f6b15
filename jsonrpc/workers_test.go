package jsonrpc

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// However many handlers are stuck, those of requests that came in the same
// write are served, and their answers are written meanwhile.
func TestStuckHandlersHoldUpNobody(t *testing.T) {
	for _, inline := range []bool{false, true} {
		for stuck := range 6 { // which of six requests hang, or answer and hang then
			t.Run(fmt.Sprint(inline, stuck), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					block := make(chan struct{})
					r := newRig(t, serving{request: func(_ context.Context, x *Exchange) {
						switch x.Method {
						case "hang":
							<-block
							answer(x, `{"late":true}`)
						case "linger":
							answer(x, `{"early":true}`)
							<-block
						default:
							answer(x, `{"soon":true}`)
						}
					}}, &ConnOptions{WriteInline: inline})
					var lines, want []string
					for i := range 6 {
						method, now := "m", `"soon"`
						switch {
						case i == stuck:
							method, now = "hang", ""
						case i > stuck:
							method, now = "linger", `"early"`
						}
						lines = append(lines, ask(i, method))
						if now != "" {
							want = append(want, now)
						}
					}
					r.send(lines...)
					r.want(want...)
					close(block)
					r.want(`"late"`)
					r.endWell()
				})
			})
		}
	}
}

// What was read is served before more is waited for, also if nothing but empty
// lines or a part of a line came after it.
func TestServedBeforeWaiting(t *testing.T) {
	for _, rest := range []string{"", "\n", " \r\n\t\n", `{"jsonrpc"`, "\n" + `{"jsonrpc"`} {
		bubble(t, func(t *testing.T) {
			in, feed := io.Pipe()
			out, w := io.Pipe()
			conn := NewConn(Lines(in, w, in, 0), serving{}, &ConnOptions{WriteInline: true})
			ran := make(chan error, 1)
			go func() { ran <- conn.Run(context.Background()) }()
			go io.WriteString(feed, ask(1, "m")+"\n"+ask(2, "m")+"\n"+rest)
			got := ""
			buf := make([]byte, 1024)
			for strings.Count(got, "\n") < 2 {
				n, err := out.Read(buf)
				if err != nil {
					t.Fatalf("after %q: %v", rest, err)
				}
				got += string(buf[:n])
			}
			feed.Close()
			if err := <-ran; err != nil {
				t.Errorf("after %q: %v", rest, err)
			}
			synctest.Wait()
		})
	}
}

// Answers to what came together are written together where the handlers are
// quick: far fewer writes than answers.
func TestAnswersAreGathered(t *testing.T) {
	near, far := Pipe()
	s := &counted{Stream: near}
	h := serving{request: func(_ context.Context, x *Exchange) { answer(x, `{}`) }}
	conn := NewConn(s, h, &ConnOptions{WriteInline: true})
	ran := make(chan error, 1)
	go func() { ran <- conn.Run(context.Background()) }()
	const rounds, each = 50, 60
	for range rounds {
		var lines strings.Builder
		for i := range each {
			lines.WriteString(ask(i, "m") + "\n")
		}
		if err := far.Write([]byte(lines.String())); err != nil {
			t.Fatal(err)
		}
		for range each {
			if _, err := far.Read(); err != nil {
				t.Fatal(err)
			}
		}
	}
	far.Close()
	if err := <-ran; err != nil {
		t.Error(err)
	}
	if s.writes > rounds*each/2 {
		t.Errorf("%d writes for %d answers", s.writes, rounds*each)
	}
}

// counted counts writes; only one goroutine writes at a time.
type counted struct {
	Stream
	writes int
}

func (c *counted) more() bool { return hasMore(c.Stream) }

func (c *counted) Write(frames []byte) error {
	c.writes++
	return c.Stream.Write(frames)
}

// A sender that must not wait writes to a stream in memory itself as long as
// that has room, and is not held up when it has none.
func TestFullPipeHoldsUpNoSender(t *testing.T) {
	bubble(t, func(t *testing.T) {
		near, far := Pipe()
		conn := NewConn(near, serving{}, &ConnOptions{Grace: -1})
		ran := make(chan error, 1)
		go func() { ran <- conn.Run(context.Background()) }()
		const n = 3 * pipeRoom
		for range n {
			if err := conn.Notify(t.Context(), "n", nil); err != nil {
				t.Fatal(err)
			}
		}
		for range n {
			if _, err := far.Read(); err != nil {
				t.Fatal(err)
			}
		}
		far.Close()
		if err := <-ran; err != nil {
			t.Error(err)
		}
	})
}

// Where handlers keep all processors busy, answers are not left for long: the
// first is out before most of the others were begun.
func TestBusyHandlersLetAnswersOut(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	near, far := Pipe()
	var begun atomic.Int32
	conn := NewConn(near, serving{request: func(_ context.Context, x *Exchange) {
		begun.Add(1)
		for start := time.Now(); time.Since(start) < 200*time.Microsecond; {
		}
		answer(x, `{}`)
	}}, &ConnOptions{WriteInline: true})
	ran := make(chan error, 1)
	go func() { ran <- conn.Run(context.Background()) }()
	const n = 60
	var lines strings.Builder
	for i := range n {
		lines.WriteString(ask(i, "m") + "\n")
	}
	if err := far.Write([]byte(lines.String())); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if _, err := far.Read(); err != nil {
			t.Fatal(err)
		}
		if b := begun.Load(); i == 0 && b > n/2 {
			t.Errorf("the first answer came when %d of %d requests were begun", b, n)
		}
	}
	far.Close()
	if err := <-ran; err != nil {
		t.Error(err)
	}
}
