package legacy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

const accepted = `{"action":"accept","content":{}}`

func TestQuestionParksTheCall(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := ready(t, everything)
		c := callBy("p")
		done, id := w.put(c)
		w.send(elicit(`"q1"`))
		need := w.need(done)
		q := need.Requests["ask"]
		if len(need.Requests) != 1 || q.Method != mcp.MethodElicit || string(q.Params) != `{"message":"?","requestedSchema":{"type":"object","properties":{}}}` {
			t.Errorf("asked %s %s", q.Method, q.Params)
		}
		w.silent()
		next := again(c, need, accepted)
		done = w.start(t.Context(), next)
		if f := w.one(); f != `{"jsonrpc":"2.0","id":"q1","result":`+accepted+`}` {
			t.Errorf("the server was answered with %s", f)
		}
		// Several questions in a row.
		w.send(elicit(`"q2"`))
		need = w.need(done)
		done = w.start(t.Context(), again(c, need, `{"action":"decline"}`))
		if f := w.one(); !strings.Contains(f, `"id":"q2","result":{"action":"decline"}`) {
			t.Errorf("the server was answered with %s", f)
		}
		w.send(result(id, "done"))
		w.wantResult(done, "done")
		w.end()
	})
}

func TestQuestionsAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := ready(t, everything)
		c := callBy("")
		done, id := w.put(c)
		w.send(elicit(`1`), elicit(`2`), elicit(`3`))
		seen := map[string]bool{}
		for range 3 {
			need := w.need(done)
			done = w.start(t.Context(), again(c, need, accepted))
			seen[w.one()] = true
		}
		if len(seen) != 3 {
			t.Errorf("answers: %v", seen)
		}
		w.send(result(id, "done"))
		w.wantResult(done, "done")
		w.end()
	})
}

// More questions than are kept are refused, and a caller that comes back
// without an answer while all are kept holds up nobody.
func TestTooManyQuestions(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := ready(t, everything)
		c := callBy("")
		done, id := w.put(c)
		w.send(elicit(`0`))
		need := w.need(done)
		for i := range maxAsks + 2 {
			w.send(elicit(fmt.Sprint(i + 1)))
		}
		if f := w.take(); len(f) != 2 || !strings.Contains(f[0], "too many requests wait") {
			t.Errorf("got %q", f)
		}
		need = w.need(w.start(t.Context(), again(c, need, "")))
		for range maxAsks + 1 {
			done = w.start(t.Context(), again(c, need, accepted))
			w.one()
			select {
			case o := <-done:
				need, _ = o.err.(*mcp.InputRequired)
			default:
				need = nil
			}
		}
		if need != nil {
			t.Error("there is one question too many")
		}
		w.send(result(id, "done"))
		w.wantResult(done, "done")
		w.end()
	})
}

func TestMissingAnswerIsAskedAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := ready(t, everything)
		c := callBy("p")
		done, id := w.put(c)
		w.send(elicit(`1`))
		first := w.need(done)
		second := w.need(w.start(t.Context(), again(c, first, "")))
		if second.Requests["ask"].Method != mcp.MethodElicit || second.State == first.State {
			t.Errorf("asked again as %+v", second)
		}
		w.silent()
		done = w.start(t.Context(), again(c, second, accepted))
		w.one()
		w.send(result(id, "done"))
		w.wantResult(done, "done")
		w.end()
	})
}

// A state is good once, and only for whose call it is.
func TestParkedCallsAreOwned(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := ready(t, everything)
		c := callBy("p")
		done, id := w.put(c)
		w.send(elicit(`1`))
		need := w.need(done)
		unknown := w.start(t.Context(), again(c, &mcp.InputRequired{State: "unknown", Requests: need.Requests}, accepted))
		message := (<-unknown).err.Error()
		thief := callBy("q")
		other := callBy("p")
		other.Method = mcp.MethodPromptsGet
		for _, c := range []*mcp.Call{thief, callBy(""), other} {
			if o := <-w.start(t.Context(), again(c, need, accepted)); o.err == nil || o.err.Error() != message {
				t.Errorf("another caller got %v, want %s", o.err, message)
			}
		}
		w.silent()
		done = w.start(t.Context(), again(c, need, accepted))
		w.one()
		if o := <-w.start(t.Context(), again(c, need, accepted)); o.err == nil || o.err.Error() != message {
			t.Errorf("a second resume got %v", o.err)
		}
		w.send(result(id, "done"))
		w.wantResult(done, "done")
		w.end()
	})
}

func TestParkedCallsExpire(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := ready(t, everything)
		c := callBy("p")
		done, id := w.put(c)
		w.send(elicit(`"q"`))
		need := w.need(done)
		time.Sleep(30*time.Minute - time.Second)
		w.silent()
		time.Sleep(2 * time.Second)
		f := strings.Join(w.take(), "\n")
		if !strings.Contains(f, `"id":"q","error":{"code":-32600,"message":"no response in time"}`) || !strings.Contains(f, `"method":"notifications/cancelled","params":{"requestId":`+id) {
			t.Errorf("the server heard %s", f)
		}
		wantCode(t, (<-w.start(t.Context(), again(c, need, accepted))).err, mcp.CodeInvalidParams)
		w.send(result(id, "late"))
		w.end()
	})
}

func TestParkedCallsAreBounded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := ready(t, everything)
		for i := range maxParked {
			done, _ := w.put(callBy(""))
			w.send(elicit(fmt.Sprint(i)))
			w.need(done)
		}
		done, id := w.put(callBy(""))
		w.send(elicit(`"one more"`))
		o := <-done
		if e, ok := errors.AsType[*mcp.Error](o.err); !ok || !e.Local || !strings.Contains(e.Message, "try again later") {
			t.Errorf("got %v", o.err)
		}
		f := strings.Join(w.take(), "\n")
		if !strings.Contains(f, `"id":"one more","error"`) || !strings.Contains(f, `"requestId":`+id) {
			t.Errorf("the server heard %s", f)
		}
		w.end() // with 256 calls parked: their timers must not stay
	})
}

func TestResultWhileParked(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := ready(t, everything)
		c := callBy("")
		done, id := w.put(c)
		w.send(elicit(`1`))
		need := w.need(done)
		w.send(result(id, "impatient"))
		w.wantResult(w.start(t.Context(), again(c, need, accepted)), "impatient")
		w.end()
	})
}

// A server that takes its question back gets no answer; the call goes on.
func TestQuestionCancelledWhileParked(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := ready(t, everything)
		c := callBy("")
		done, id := w.put(c)
		w.send(elicit(`1`), elicit(`2`))
		need := w.need(done)
		w.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`)
		done = w.start(t.Context(), again(c, need, accepted))
		w.silent()
		w.send(result(id, "done"))
		w.wantResult(done, "done") // nobody was asked the second question
		w.end()
	})
}

// A connection that is lost while a call is parked takes the call with it.
func TestConnectionLostWhileParked(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := ready(t, everything)
		c := callBy("")
		done, _ := w.put(c)
		waiting, _ := w.put(callBy(""))
		w.send(elicit(`1`))
		synctest.Wait()
		var need *mcp.InputRequired
		select {
		case o := <-done:
			need, _ = o.err.(*mcp.InputRequired)
		case o := <-waiting:
			need, _ = o.err.(*mcp.InputRequired)
			waiting = done
		default:
		}
		if need == nil {
			t.Fatal("nothing was parked")
		}
		w.end()
		closed := (*jsonrpc.ClosedError)(nil)
		if o := <-waiting; !errors.As(o.err, &closed) {
			t.Errorf("the other call came to %v", o.err)
		}
		if o := <-w.start(t.Context(), again(c, need, accepted)); o.err == nil {
			t.Error("the parked call goes on")
		}
		if o := <-w.start(t.Context(), c); !errors.As(o.err, &closed) {
			t.Errorf("a new call came to %v", o.err)
		}
		if n := len(w.peer.open) + len(w.peer.carries) + len(w.peer.parked); n > 0 {
			t.Errorf("%d things are remembered", n)
		}
	})
}

// A caller that goes away while it waits tells the server, and what the server
// asked is refused.
func TestCallerGoesAway(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := ready(t, everything)
		ctx, cancel := context.WithCancel(t.Context())
		done := w.start(ctx, callBy(""))
		id := message(t, w.one()).ID
		cancel()
		if o := <-done; !errors.Is(o.err, context.Canceled) {
			t.Error(o.err)
		}
		if f := w.one(); !strings.Contains(f, `"method":"notifications/cancelled","params":{"requestId":`+string(id)) {
			t.Errorf("the server heard %s", f)
		}
		w.send(elicit(`1`), result(string(id), "late"))
		if f := w.one(); !strings.Contains(f, `"id":1,"error"`) {
			t.Errorf("the question was answered with %s", f)
		}
		w.end()
	})
}

// Notes that come while a call is parked reach its next round, if that wants
// them.
func TestNotesWhileParked(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := ready(t, everything)
		for _, hears := range []bool{true, false} {
			heard := 0
			c := callBy("")
			c.Progress, c.OnNotification = true, func(mcp.Notification) { heard++ }
			done, id := w.put(c)
			w.send(elicit(`1`))
			need := w.need(done)
			w.send(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` + id + `,"progress":1}}`)
			next := again(c, need, accepted)
			if !hears {
				next.OnNotification = nil
			}
			done = w.start(t.Context(), next)
			w.one()
			w.send(result(id, "done"))
			w.wantResult(done, "done")
			if (heard == 1) != hears {
				t.Errorf("heard %d notes", heard)
			}
		}
		w.end()
	})
}

func TestQuestionsOfNoCall(t *testing.T) {
	for _, c := range []struct {
		name, send, want string
		answer           func(context.Context, mcp.InputRequest) (json.RawMessage, error)
		calls            []*mcp.Call
	}{
		{"ping", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, `"id":1,"result":{}`, nil, nil},
		{"unknown method", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, `"code":-32601`, nil, nil},
		{"nobody answers", elicit(`1`), `"code":-32601`, nil, nil},
		{"persona answers", `{"jsonrpc":"2.0","id":1,"method":"roots/list"}`, `"result":{"roots":[]}`,
			func(context.Context, mcp.InputRequest) (json.RawMessage, error) { return raw(`{"roots":[]}`), nil }, nil},
		{"persona fails", elicit(`1`), `"code":-32603`,
			func(context.Context, mcp.InputRequest) (json.RawMessage, error) { return nil, errors.New("CANARY") }, nil},
		{"a call that cannot ask", elicit(`1`), `"code":-32601`, nil, []*mcp.Call{{Method: mcp.MethodToolsList}}},
		{"a caller that cannot answer", elicit(`1`), `"code":-32601`, nil,
			[]*mcp.Call{{Method: mcp.MethodToolsCall, Caller: mcp.Caller{Capabilities: &mcp.ClientCapabilities{}}}}},
		{"sampling was not declared", `{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}`, `"code":-32601`, nil, []*mcp.Call{callBy("")}},
		{"two principals", elicit(`1`), `several principals`, nil, []*mcp.Call{callBy("p"), callBy("q")}},
		{"a principal and nobody", elicit(`1`), `several principals`, nil, []*mcp.Call{callBy("p"), callBy("")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := ready(t, everything)
				w.persona.OnInputRequest = c.answer
				var open []chan outcome
				var ids []string
				for _, call := range c.calls {
					done, id := w.put(call)
					open, ids = append(open, done), append(ids, id)
				}
				w.send(c.send)
				if f := w.one(); !strings.Contains(f, c.want) || strings.Contains(f, "CANARY") {
					t.Errorf("answered with %s, want %s", f, c.want)
				}
				for i, done := range open {
					w.send(result(ids[i], "done"))
					w.wantResult(done, "done")
				}
				w.end()
			})
		})
	}
}

// The server's request is answered with the error that refuses it, and the call
// goes on.
func TestRefusedQuestionIsAnsweredWithAnError(t *testing.T) {
	for name, tt := range map[string]struct {
		refusal error
		want    string
	}{
		"a code":          {&mcp.Error{Code: -1, Local: true, Message: "User rejected sampling request"}, `{"code":-1,"message":"User rejected sampling request"}`},
		"data":            {mcp.InvalidParams("bad schema").With(1), `{"code":-32602,"message":"bad schema","data":1}`},
		"no code":         {errors.New("CANARY"), `{"code":-32603,"message":"the client failed to answer this request"}`},
		"mode undeclared": {mcp.MissingCapability(&mcp.ClientCapabilities{}, "no such mode"), `{"code":-32602,"message":"no such mode"}`},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := ready(t, everything)
				c := callBy("p")
				done, id := w.put(c)
				w.send(elicit(`"q1"`))
				next := again(c, w.need(done), "")
				next.Refuse(parkedKey, tt.refusal)
				done = w.start(t.Context(), next)
				if f := w.one(); f != `{"jsonrpc":"2.0","id":"q1","error":`+tt.want+`}` {
					t.Errorf("the server was answered with %s", f)
				}
				w.send(elicit(`"q2"`)) // another question of the same call
				done = w.start(t.Context(), again(c, w.need(done), accepted))
				if f := w.one(); !strings.Contains(f, `"id":"q2","result"`) {
					t.Errorf("the server was answered with %s", f)
				}
				w.send(result(id, "fallback"))
				w.wantResult(done, "fallback")
				w.end()
			})
		})
	}
}

const rootsList = `{"jsonrpc":"2.0","id":"r","method":"roots/list"}`

func answerRoots(context.Context, mcp.InputRequest) (json.RawMessage, error) {
	return raw(`{"roots":[]}`), nil
}

// A server's request for the roots that does not say whose it is belongs to no
// call: whatever is open, the persona answers, and no call is disturbed.
func TestRootsBelongToNoCall(t *testing.T) {
	for name, callers := range map[string][]string{"no call": nil, "one call": {"p"}, "calls of two principals": {"p", "q"}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := ready(t, everything)
				w.persona.OnInputRequest = answerRoots
				var open []chan outcome
				var ids []string
				for _, principal := range callers {
					done, id := w.put(callBy(principal))
					open, ids = append(open, done), append(ids, id)
				}
				w.send(rootsList)
				if f := w.one(); f != `{"jsonrpc":"2.0","id":"r","result":{"roots":[]}}` {
					t.Errorf("answered with %s", f)
				}
				for i, done := range open {
					w.send(result(ids[i], "done"))
					w.wantResult(done, "done") // without another round
				}
				w.end()
			})
		})
	}
}

// A request on the stream of a call belongs to that call, for the roots too, and
// is refused when the call ends first, in whatever way.
func TestRequestOnTheStreamOfACall(t *testing.T) {
	for _, method := range []string{mcp.MethodRootsList, mcp.MethodElicit, "answered"} {
		answered := method == "answered"
		if answered {
			method = mcp.MethodElicit
		}
		bubble(t, func(t *testing.T) {
			w := ready(t, everything)
			w.persona.OnInputRequest = func(context.Context, mcp.InputRequest) (json.RawMessage, error) {
				t.Errorf("%s: the persona was asked", method)
				return nil, errors.New("not me")
			}
			ask := func(id string) chan *jsonrpc.Error {
				origin, err := strconv.ParseInt(id, 10, 64)
				if err != nil {
					t.Fatal(err)
				}
				answered := make(chan *jsonrpc.Error, 1)
				go func() {
					_, e := w.peer.Request(t.Context(), &jsonrpc.Message{Method: method, Params: raw(`{"message":"?"}`)}, origin)
					answered <- e
				}()
				synctest.Wait()
				return answered
			}
			c := callBy("p")
			done, id := w.put(c)
			newer, newerID := w.put(callBy("p")) // a guess would take this one
			first, second := ask(id), ask(id)
			if answered {
				w.send(result(id, "done"))
			}
			done = w.start(t.Context(), again(c, w.need(done), accepted))
			if e := <-first; e != nil {
				t.Errorf("%s: answered with %v", method, e)
			}
			if answered {
				w.wantResult(done, "done")
			} else {
				w.need(done).Abandon()
				w.one() // the cancellation
			}
			if e := <-second; e == nil {
				t.Errorf("%s: what the call still asked was answered", method)
			}
			w.send(result(newerID, "done"))
			w.wantResult(newer, "done")
			w.end()
		})
	}
}

// A request that waits for a call which the server answers is not that call's:
// another call takes it, or else the persona. If the caller gave the call up
// instead, it may be that call's, and is refused.
func TestRequestWhoseGuessedCallEnds(t *testing.T) {
	for name, tt := range map[string]struct {
		answered bool
		want     string
	}{
		"the server answers it": {true, `"id":"r","result":{"roots":[]}`},
		"its caller leaves":     {false, `"id":"r","error":{"code":-32600,`},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := ready(t, everything)
				w.persona.OnInputRequest = answerRoots
				c := callBy("p")
				done, id := w.put(c)
				w.send(elicit(`"q"`))
				need := w.need(done)
				w.send(elicit(`"r"`)) // waits behind the first
				if tt.answered {
					w.send(result(id, "done"))
					w.wantResult(w.start(t.Context(), again(c, need, accepted)), "done")
				} else {
					need.Abandon()
				}
				if f := strings.Join(w.take(), "\n"); !strings.Contains(f, tt.want) {
					t.Errorf("the server heard %s, want %s", f, tt.want)
				}
				w.end()
			})
		})
	}
}

// Where the persona answers nothing, as that of a gateway, the caller of an open
// call is asked for the roots.
func TestRootsDuringACall(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := ready(t, everything)
		c := callBy("")
		done, id := w.put(c)
		w.send(rootsList)
		need := w.need(done)
		if q := need.Requests["ask"]; q.Method != mcp.MethodRootsList || q.Params != nil {
			t.Errorf("asked %+v", q)
		}
		done = w.start(t.Context(), again(c, need, `{"roots":[]}`))
		if f := w.one(); f != `{"jsonrpc":"2.0","id":"r","result":{"roots":[]}}` {
			t.Errorf("answered with %s", f)
		}
		w.send(result(id, "done"))
		w.wantResult(done, "done")
		w.end()
	})
}

// -32042 becomes questions, and the call is made anew when all are agreed to.
func TestPagesToBeOpenedFirst(t *testing.T) {
	page := func(id string) string {
		return `{"mode":"url","message":"?","url":"https://example.com","elicitationId":"` + id + `"}`
	}
	refusal := func(id, pages string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"error":{"code":-32042,"message":"open these","data":{"elicitations":[` + pages + `]}}}`
	}
	bubble(t, func(t *testing.T) {
		w := ready(t, everything)
		c := callBy("")
		done, id := w.put(c)
		w.send(refusal(id, page("a")+","+page("b")+","+page("b")))
		need := w.need(done)
		if len(need.Requests) != 3 || string(need.Requests["url-a"].Params) != `{"mode":"url","message":"?","url":"https://example.com"}` {
			t.Errorf("asked %s", need.Requests)
		}
		wantCode(t, (<-w.start(t.Context(), again(c, need, `{"action":"decline"}`))).err, mcp.CodeInvalidRequest)
		w.silent()
		done, id = w.put(again(c, need, `{"action":"accept"}`))
		w.send(result(id, "done"))
		w.wantResult(done, "done")
		// Without any answer it is made again, and asks again.
		done, id = w.put(again(c, need, ""))
		w.send(refusal(id, page("a")))
		w.need(done)
		// What cannot be asked is an error.
		for _, bad := range []string{"", `5`, `{"mode":"url"}`} {
			done, id = w.put(c)
			w.send(refusal(id, bad))
			o := <-done
			if _, isNeed := o.err.(*mcp.InputRequired); isNeed && bad == "" {
				t.Errorf("%s: %v", bad, o.err)
			}
		}
		cannot := callBy("")
		cannot.Caller.Capabilities = &mcp.ClientCapabilities{}
		done, id = w.put(cannot)
		w.send(refusal(id, page("a")))
		wantCode(t, (<-done).err, mcp.CodeLegacyURLElicitation)
		done, id = w.put(&mcp.Call{Method: mcp.MethodToolsList})
		w.send(refusal(id, page("a")))
		wantCode(t, (<-done).err, mcp.CodeLegacyURLElicitation)
		w.end()
	})
}

// A caller that will not come back says so with what it was returned.
func TestAbandon(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := ready(t, everything)
		c := callBy("p")
		done, id := w.put(c)
		w.send(elicit(`"q"`))
		need := w.need(done)
		mcp.Abandon(fmt.Errorf("wrapped: %w", need))
		f := strings.Join(w.take(), "\n")
		if !strings.Contains(f, `"id":"q","error"`) || !strings.Contains(f, `"params":{"requestId":`+id) {
			t.Errorf("the server heard %s", f)
		}
		need.Abandon()
		w.silent()
		wantCode(t, (<-w.start(t.Context(), again(c, need, accepted))).err, mcp.CodeInvalidParams)
		w.end()
	})
}

// What was held for a round that was made is not given up any more.
func TestAbandonAfterTheNextRound(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := ready(t, everything)
		c := callBy("p")
		done, id := w.put(c)
		w.send(elicit(`"q"`))
		need := w.need(done)
		done = w.start(t.Context(), again(c, need, accepted))
		w.one()
		need.Abandon()
		w.silent()
		w.send(result(id, "done"))
		w.wantResult(done, "done")
		w.end()
	})
}

// A question that waits behind a call that ends goes to another open call of
// the same caller; it may well be that one's.
func TestQuestionMovesToAnotherCall(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := ready(t, everything)
		older, newer := callBy("p"), callBy("p")
		first, firstID := w.put(older)
		second, secondID := w.put(newer)
		w.send(elicit(`1`), elicit(`2`), elicit(`3`), elicit(`4`)) // two for each, one of them waiting
		need, behind := w.need(first), w.need(second)
		behind.Abandon()
		w.send(result(secondID, "late"))
		if f := strings.Join(w.take(), "\n"); strings.Count(f, `"error"`) != 1 {
			t.Errorf("refused %s; want only what was asked of the caller that left", f)
		}
		for range 3 {
			first = w.start(t.Context(), again(older, need, accepted))
			if f := w.one(); !strings.Contains(f, `"result":`+accepted) {
				t.Errorf("answered %s", f)
			}
			select {
			case o := <-first:
				need, _ = o.err.(*mcp.InputRequired)
			default:
				need = nil
			}
		}
		if need != nil {
			t.Error("there is one question too many")
		}
		w.send(result(firstID, "done"))
		w.wantResult(first, "done")
		w.end()
	})
}

// A host that has had enough of questions lets the server know.
func TestGivenUpAfterTooManyRounds(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := ready(t, everything)
		h := mcp.HandleInput(w.peer, func(context.Context, *mcp.Call, string, mcp.InputRequest) (json.RawMessage, error) {
			return raw(accepted), nil
		}, 2)
		done := make(chan error, 1)
		go func() { _, err := h.Serve(t.Context(), callBy("")); done <- err }()
		id := string(message(t, w.one()).ID)
		w.send(elicit(`1`), elicit(`2`))
		if err := <-done; err == nil || !strings.Contains(err.Error(), "after 2 rounds") {
			t.Errorf("got %v", err)
		}
		if f := strings.Join(w.take(), "\n"); strings.Count(f, `"error"`) != 1 || !strings.Contains(f, `"params":{"requestId":`+id) {
			t.Errorf("the server heard %s", f)
		}
		w.end()
	})
}

// A call that is parked does not get the question of another: its caller may
// never come back.
func TestParkedCallIsPassedOver(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := ready(t, everything)
		forgotten, _ := w.put(callBy("p"))
		w.send(elicit(`1`))
		w.need(forgotten)
		c := callBy("p")
		done, id := w.put(c)
		for _, q := range []string{`2`, `3`, `4`} {
			w.send(elicit(q))
			done = w.start(t.Context(), again(c, w.need(done), accepted))
			if f := w.one(); !strings.Contains(f, `"id":`+q+`,"result"`) {
				t.Errorf("answered %s", f)
			}
		}
		w.send(result(id, "done"))
		w.wantResult(done, "done")
		w.end()
	})
}

// H29: a server of a revision without the capability sampling.context cannot know
// whether includeContext is supported; the wish is ignored, not refused.
func TestIncludeContextOfOlderServersIsIgnored(t *testing.T) {
	const asked = `{"messages":[],"includeContext":"thisServer","maxTokens":1}`
	sampling := mcp.Caller{Capabilities: &mcp.ClientCapabilities{Sampling: &mcp.SamplingCapability{}}}
	for _, rev := range revisions {
		p := &Peer{rev: &rev, profile: &mcp.ClientProfile{}}
		q := mcp.InputRequest{Method: mcp.MethodCreateMessage, Params: p.withoutContext(mcp.MethodCreateMessage, raw(asked))}
		err := sampling.CanHandle(q)
		if newest := rev.name == mcp.Rev20251125; newest != (err != nil) || newest != (string(q.Params) == asked) {
			t.Errorf("%s: %s, %v", rev.name, q.Params, err)
		}
		p.profile.Capabilities.Sampling = &mcp.SamplingCapability{Context: mcp.Settings{}}
		if got := p.withoutContext(mcp.MethodCreateMessage, raw(asked)); string(got) != asked {
			t.Errorf("%s: a client that supports it gets %s", rev.name, got)
		}
	}
}
