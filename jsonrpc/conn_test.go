package jsonrpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// outcome is what a Call came to.
type outcome struct {
	m   Message
	err error
}

func (r *rig) call(ctx context.Context, method string) chan outcome {
	done := make(chan outcome, 1)
	go func() {
		m, err := r.conn.Call(ctx, method, nil)
		done <- outcome{m, err}
	}()
	return done
}

func TestAnswersFindTheirCalls(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, serving{}, nil)
		var calls [20]chan outcome
		for i := range calls {
			calls[i] = r.call(t.Context(), fmt.Sprint("m", i))
		}
		frames := r.take()
		if len(frames) != len(calls) {
			t.Fatalf("%d requests were sent, want %d", len(frames), len(calls))
		}
		slices.Reverse(frames)
		for _, f := range frames {
			m, err := Decode([]byte(f))
			if err != nil {
				t.Fatal(err)
			}
			r.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"to":%q}}`, m.ID, m.Method))
		}
		for i, c := range calls {
			o := <-c
			if want := fmt.Sprintf(`{"to":"m%d"}`, i); o.err != nil || string(o.m.Result) != want {
				t.Errorf("call %d: %s, %v; want %s", i, o.m.Result, o.err, want)
			}
		}
		if n := r.heard(); len(n) > 0 {
			t.Errorf("noise: %q", n)
		}
		r.endWell()
	})
}

func TestAnswersThatNobodyWaitsForAreNoise(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, serving{}, &ConnOptions{RespondToInvalid: true})
		done := r.call(t.Context(), "m")
		r.take()
		r.send(`{"jsonrpc":"2.0","id":1,"result":{"n":1}}`, `{"jsonrpc":"2.0","id":1,"result":{"n":2}}`)
		if o := <-done; string(o.m.Result) != `{"n":1}` {
			t.Errorf("got %s, %v", o.m.Result, o.err)
		}
		r.send(`{"jsonrpc":"2.0","id":99,"result":{}}`, `{"jsonrpc":"2.0","id":"1","result":{}}`,
			`{"jsonrpc":"2.0","id":-1,"error":{"code":1,"message":"x"}}`, `{"jsonrpc":"2.0","id":99999999999999999999,"result":{}}`,
			`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}`, `{"jsonrpc":"2.0","error":{"code":-32700,"message":"x"}}`)
		if n := r.heard(); len(n) != 7 || n[0] != "response with unknown id 1" || n[1] != "response with unknown id 99" || n[6] != "response without an id" {
			t.Errorf("%d noises, want 7: %q", len(n), n)
		}
		ctx, cancel := context.WithCancel(t.Context())
		late := r.call(ctx, "late")
		r.take()
		cancel()
		if o := <-late; !errors.Is(o.err, context.Canceled) {
			t.Errorf("a cancelled call gave %v", o.err)
		}
		r.send(`{"jsonrpc":"2.0","id":2,"result":{"late":true}}`)
		if n := r.heard(); len(n) != 1 || n[0] != ErrLateResponse.Error() {
			t.Errorf("a late answer made the noises %q", n)
		}
		r.send(`{"jsonrpc":"2.0","id":2,"result":{"late":true}}`)
		if n := r.heard(); len(n) != 1 || n[0] != "response with unknown id 2" {
			t.Errorf("a second late answer made the noises %q", n)
		}
		again := r.call(t.Context(), "again")
		r.take()
		r.send(`{"jsonrpc":"2.0","id":3,"result":{"n":3}}`)
		if o := <-again; string(o.m.Result) != `{"n":3}` {
			t.Errorf("a later call got %s, %v", o.m.Result, o.err)
		}
		r.want() // none of this was answered
		r.endWell()
	})
}

// C10: an answer that is not one fails its call, at both kinds of end.
func TestMalformedAnswersFailTheirCall(t *testing.T) {
	for _, bad := range []string{
		`{"jsonrpc":"2.0","id":1,"result":null}`,
		`{"jsonrpc":"2.0","id":1,"result":[]}`,
		`{"jsonrpc":"2.0","id":1,"result":"x"}`,
		`{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"x"}}`,
		`{"jsonrpc":"2.0","id":1}`,
		`{"jsonrpc":"2.0","id":1,"error":null}`,
		`{"jsonrpc":"2.0","id":1,"error":"boom"}`,
		`{"jsonrpc":"2.0","id":1,"error":{"code":1.5,"message":"x"}}`,
		`{"jsonrpc":"2.0","id":1,"error":{"message":"x"}}`,
		`{"jsonrpc":"1.0","id":1,"result":{}}`,
		`{"id":1,"result":{}}`,
	} {
		for _, server := range []bool{false, true} {
			t.Run(fmt.Sprint(bad, server), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					r := newRig(t, serving{}, &ConnOptions{RespondToInvalid: server})
					done := r.call(t.Context(), "m")
					r.take()
					r.send(bad)
					synctest.Wait()
					select {
					case o := <-done:
						if _, ok := errors.AsType[*DecodeError](o.err); !ok {
							t.Errorf("got %+v, %v; want a DecodeError", o.m, o.err)
						}
					default:
						t.Error("the call still waits")
					}
					r.want() // an answer is not answered
					r.endWell()
				})
			})
		}
	}
}

// What looks like a request is not taken for the answer to ours.
func TestMalformedRequestFailsNoCall(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, serving{}, &ConnOptions{RespondToInvalid: true})
		done := r.call(t.Context(), "m")
		r.take()
		r.send(`{"jsonrpc":"2.0","id":1,"method":5}`, `{"jsonrpc":"2.0","id":1,"method":"m","params":[]}`, `{"jsonrpc":"2.0","id":7}`)
		r.want(`"code":-32600`, `"code":-32602`, `"id":7`)
		select {
		case o := <-done:
			t.Errorf("the call came to %v", o.err)
		default:
		}
		r.send(`{"jsonrpc":"2.0","id":1,"result":{}}`)
		if o := <-done; o.err != nil {
			t.Error(o.err)
		}
		r.endWell()
	})
}

func TestErrorAnswersAreNotErrors(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, serving{}, nil)
		done := r.call(t.Context(), "m")
		r.take()
		r.send(`{"jsonrpc":"2.0","id":1,"error":{"code":0,"message":"no","data":[1]}}`)
		o := <-done
		if o.err != nil || o.m.Error == nil || o.m.Error.Code != 0 || string(o.m.Error.Data) != `[1]` {
			t.Errorf("got %+v, %v", o.m.Error, o.err)
		}
		r.endWell()
	})
}

func TestDuplicateIDIsRefused(t *testing.T) {
	bubble(t, func(t *testing.T) {
		release := make(chan struct{})
		r := newRig(t, serving{request: func(_ context.Context, x *Exchange) { <-release; answer(x, `{}`) }}, nil)
		r.send(`{"jsonrpc":"2.0","id":"\u0061","method":"m"}`, `{"jsonrpc":"2.0","id":"a","method":"m"}`, `{"jsonrpc":"2.0","id":-0,"method":"m"}`, `{"jsonrpc":"2.0","id":0,"method":"m"}`)
		r.want(`"id":"a","error":{"code":-32600`, `"id":0,"error":{"code":-32600`)
		close(release)
		r.want(`"id":"\u0061","result"`, `"id":-0,"result"`)
		r.send(`{"jsonrpc":"2.0","id":"a","method":"m"}`)
		r.want(`"id":"a","result"`)
		r.endWell()
	})
}

func TestMaxServing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		release := make(chan struct{})
		h := serving{
			request: func(_ context.Context, x *Exchange) { <-release; answer(x, `{}`) },
			notice: func(_ context.Context, c *Conn, m *Message) {
				var p struct{ ID int64 }
				json.Unmarshal(m.Params, &p)
				c.Cancel(IntID(p.ID))
			},
		}
		r := newRig(t, h, &ConnOptions{MaxServing: 2})
		req := func(id int) string { return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"m"}`, id) }
		r.send(req(1), req(2), req(3))
		r.want(`"id":3,"error":{"code":-32600,"message":"too many requests at once: the limit is 2"`)
		// A cancelled request whose handler goes on still counts.
		r.send(`{"jsonrpc":"2.0","method":"cancel","params":{"id":1}}`, req(4))
		r.want(`"id":4,"error"`)
		close(release)
		r.want(`"id":2,"result"`)
		r.send(req(5))
		r.want(`"id":5,"result"`)
		r.endWell()
	})
}

func TestAPanicCostsOneRequest(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := serving{
			request: func(_ context.Context, x *Exchange) {
				switch x.Method {
				case "panic":
					panic("secret")
				case "build":
					x.Respond(func([]byte) []byte { panic("secret") })
				case "after":
					answer(x, `{}`)
					panic("secret")
				case "forget":
					return
				case "ignore":
					x.Ignore()
					return
				case "twice":
					answer(x, `{"n":1}`)
					answer(x, `{"n":2}`)
					x.RespondError(&Error{Code: 1})
					return
				}
				answer(x, `{}`)
			},
			notice: func(context.Context, *Conn, *Message) { panic("secret") },
		}
		for _, inline := range []bool{false, true} {
			r := newRig(t, h, &ConnOptions{WriteInline: inline})
			for _, c := range []struct{ method, want string }{
				{"panic", `"id":1,"error":{"code":-32603,"message":"the handler did not respond"}`},
				{"build", `"id":1,"error":{"code":-32603`},
				{"after", `"id":1,"result"`},
				{"forget", `"id":1,"error":{"code":-32603`},
				{"ignore", ``},
				{"twice", `"id":1,"result":{"n":1}`},
				{"good", `"id":1,"result"`},
			} {
				r.send(`{"jsonrpc":"2.0","method":"note"}`, `{"jsonrpc":"2.0","id":1,"method":"`+c.method+`"}`)
				if c.want == "" {
					r.want()
				} else {
					r.want(c.want)
				}
			}
			panics := 0
			for _, n := range r.heard() {
				if strings.Contains(n, "panic while serving") && strings.Contains(n, "secret") && strings.Contains(n, "goroutine") {
					panics++
				}
			}
			if panics != 7+3 {
				t.Errorf("%d panics were reported, want 10", panics)
			}
			r.endWell()
		}
	})
}

// Cancelled means silent: nothing is put out for a request once Cancel has
// returned, however many goroutines try.
func TestCancelIsExact(t *testing.T) {
	near, far := Pipe()
	const rounds = 30
	started := make(chan ID, rounds)
	h := serving{request: func(ctx context.Context, x *Exchange) {
		var wg sync.WaitGroup
		started <- x.ID
		for range 4 {
			wg.Go(func() {
				for ctx.Err() == nil {
					x.Notify(context.Background(), func(dst []byte) []byte {
						return AppendNotification(dst, "n", append(append([]byte(`{"of":`), x.ID...), '}'))
					})
				}
				x.Notify(context.Background(), func(dst []byte) []byte {
					return AppendNotification(dst, "n", append(append([]byte(`{"of":`), x.ID...), '}'))
				})
				answer(x, `{}`)
			})
		}
		wg.Wait()
	}}
	conn := NewConn(near, h, nil)
	ran := make(chan error, 1)
	go func() { ran <- conn.Run(context.Background()) }()
	read := make(chan struct{})
	go func() {
		defer close(read)
		over := map[string]bool{}
		for {
			f, err := far.Read()
			if err != nil {
				return
			}
			m, err := Decode(f)
			if err != nil {
				t.Errorf("%s: %v", f, err)
				continue
			}
			switch {
			case m.Method == "over":
				over[string(m.Params)] = true
			case m.IsResponse():
				t.Errorf("an answer to a cancelled request: %s", f)
			case over[string(m.Params)]:
				t.Errorf("a note after Cancel had returned: %s", f)
			}
		}
	}()
	for i := range rounds {
		if err := far.Write(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"m"}`+"\n", i)); err != nil {
			t.Fatal(err)
		}
		id := <-started
		if !conn.Cancel(id) {
			t.Error("there was nothing to cancel")
		}
		if err := conn.Notify(context.Background(), "over", append(append([]byte(`{"of":`), id...), '}')); err != nil {
			t.Error(err)
		}
		if conn.Cancel(id) {
			t.Error("cancelled twice")
		}
	}
	if err := conn.Notify(context.Background(), "over", []byte(`{"of":"all"}`)); err != nil {
		t.Error(err)
	}
	far.Close()
	if err := <-ran; err != nil {
		t.Error(err)
	}
	<-read
}

// However many requests there are, all are served at once.
func TestAllRequestsAreServedAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const n = 3 * maxBurst
		block := make(chan struct{})
		var begun atomic.Int32
		r := newRig(t, serving{request: func(_ context.Context, x *Exchange) {
			begun.Add(1)
			<-block
			x.Respond(func(dst []byte) []byte { return AppendResult(dst, x.ID, nil) })
		}}, nil)
		for i := range n {
			r.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"m"}`, i))
		}
		synctest.Wait()
		if b := begun.Load(); b != n {
			t.Errorf("%d of %d requests are served at once", b, n)
		}
		close(block)
		if got := len(r.take()); got != n {
			t.Errorf("%d responses, want %d", got, n)
		}
		r.endWell()
	})
}
