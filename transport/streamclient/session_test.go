package streamclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// A stream that breaks is taken up where it broke: nothing is heard twice, and
// nothing is missed.
func TestClientResumes(t *testing.T) {
	for name, abort := range map[string]bool{"closed in order": false, "broken": true} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, f *far) {
				progress := func(id, n int) string {
					return fmt.Sprintf("id: %d\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":%s,\"progress\":%d}}\n\n",
						id, f.of(mcp.MethodToolsCall)[0].m.ID, n)
				}
				f.serve = legacy(func(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message) {
					switch after := r.Header.Get("Last-Event-Id"); {
					case m.Method == mcp.MethodToolsCall:
						tells(w, "id: 1\nretry: 200\ndata:\n\n"+progress(2, 1))
						if abort {
							panic(http.ErrAbortHandler)
						}
					case after == "2":
						tells(w, progress(3, 2)+progress(4, 3))
					case after == "4":
						call := f.of(mcp.MethodToolsCall)[0].m
						tells(w, "id: 5\n"+result(&call, textResult))
					default:
						w.WriteHeader(http.StatusMethodNotAllowed)
					}
				})
				var heard []string
				call := callTool("x", `{}`)
				call.Progress, call.OnNotification = true, func(n mcp.Notification) { heard = append(heard, string(n.Params)) }
				if _, err := connect(t, f.endpoint()).Serve(t.Context(), call); err != nil {
					t.Fatal(err)
				}
				if want := []string{`{"progress":1}`, `{"progress":2}`, `{"progress":3}`}; !slices.Equal(heard, want) {
					t.Errorf("heard %v, want %v", heard, want)
				}
			})
		})
	}
}

// Taking up a stream again comes to an end, too.
func TestClientGivesUpResuming(t *testing.T) {
	for _, test := range []struct {
		name  string
		serve serving // a GET for the rest
		gets  int
		says  string
	}{
		{"nothing comes", func(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message) { tells(w, ":\n\n") }, maxRetries, "stream ended"},
		{"down", func(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message) { w.WriteHeader(503) }, maxRetries, "503"},
		{"not here", func(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message) { w.WriteHeader(405) }, 1, "405"},
		{"not any more", func(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message) { w.WriteHeader(400) }, 1, "400"},
		{"session ended", func(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message) { w.WriteHeader(404) }, 1, "ended the session"},
	} {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, f *far) {
				f.serve = legacy(func(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message) {
					switch {
					case m.Method == mcp.MethodToolsCall:
						tells(w, "id: 1\ndata:\n\n")
					case r.Header.Get("Last-Event-Id") != "":
						test.serve(w, r, m)
					default:
						w.WriteHeader(http.StatusMethodNotAllowed)
					}
				})
				_, err := connect(t, f.endpoint()).Serve(t.Context(), callTool("x", `{}`))
				if err == nil || !strings.Contains(err.Error(), test.says) {
					t.Errorf("error %v, want it to say %q", err, test.says)
				}
				if n := len(f.of(http.MethodGet)) - 1; n != test.gets {
					t.Errorf("%d attempts, want %d", n, test.gets)
				}
				if n := len(f.of(mcp.MethodToolsCall)); n != 1 {
					t.Errorf("the call was made %d times: it may have been served the first time", n)
				}
			})
		})
	}
}

// Many calls that find the session lost open one new session.
func TestClientOpensOneSessionForAll(t *testing.T) {
	bubble(t, func(t *testing.T, f *far) {
		f.serve = legacy(noStream(func(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message) {
			if r.Header.Get("Mcp-Session-Id") == "session-1" {
				time.Sleep(time.Second)
				w.WriteHeader(http.StatusNotFound)
				return
			}
			answers(w, m, textResult)
		}))
		c := connect(t, f.endpoint())
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				if _, err := c.Serve(t.Context(), callTool("x", `{}`)); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if n := len(f.of("initialize")); n != 2 {
			t.Errorf("initialize was sent %d times, want 2", n)
		}
		c.Close()
		if left := f.of(http.MethodDelete); len(left) != 1 || left[0].header.Get("Mcp-Session-Id") != "session-2" {
			t.Errorf("%d sessions left in order, want the second", len(left))
		}
	})
}

// A method that does not exist is not a lost session.
func TestClientKnowsAnUnknownMethodFromALostSession(t *testing.T) {
	bubble(t, func(t *testing.T, f *far) {
		f.serve = legacy(noStream(func(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message) {
			fails(w, m, 404, mcp.CodeMethodNotFound, "unknown")
		}))
		_, err := connect(t, f.endpoint()).Serve(t.Context(), callTool("x", `{}`))
		if e, ok := errors.AsType[*mcp.Error](err); !ok || e.Code != mcp.CodeMethodNotFound {
			t.Errorf("error %v", err)
		}
		if n := len(f.of("initialize")); n != 1 {
			t.Errorf("initialize was sent %d times", n)
		}
	})
}

// A session id that no header can carry is refused.
func TestClientRefusesOddSessionIDs(t *testing.T) {
	for _, id := range []string{"a b", "ä", strings.Repeat("x", 5000)} {
		bubble(t, func(t *testing.T, f *far) {
			f.serve = func(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message) {
				w.Header().Set("Mcp-Session-Id", id)
				answers(w, m, `{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"old","version":"1"}}`)
			}
			if _, err := f.endpoint().Connect(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "session id") {
				t.Errorf("error %v", err)
			}
		})
	}
}

// What a server pushes is heard, also after its stream broke; where something
// may have been missed, whoever listens is told so.
func TestClientHearsPushes(t *testing.T) {
	const changed = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`
	for name, id := range map[string]string{"resumed": "id: 9\n", "missed": ""} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, f *far) {
				f.serve = legacy(func(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message) {
					switch {
					case r.Method == http.MethodDelete:
					case len(f.of(http.MethodGet)) == 1:
						tells(w, ":\n\n")
						time.Sleep(time.Minute)
						tells(w, id+"data: "+changed+"\n\n")
					case id != "" && r.Header.Get("Last-Event-Id") != "9":
						t.Error("the client came back without saying how far it was")
					default:
						tells(w, "data: "+changed+"\n\n")
						<-r.Context().Done()
					}
				})
				c := connect(t, f.endpoint())
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var heard []string
				_, err := c.Serve(ctx, &mcp.Call{
					Method: mcp.MethodSubscriptionsListen, Params: json.RawMessage(`{"notifications":{"toolsListChanged":true}}`),
					OnNotification: func(n mcp.Notification) {
						if heard = append(heard, n.Method); len(heard) == 3 {
							cancel()
						}
					},
				})
				if id == "" {
					if _, ok := errors.AsType[*jsonrpc.ClosedError](err); !ok || len(heard) != 2 {
						t.Errorf("heard %v, then %v; want the subscription to end at the gap", heard, err)
					}
					return
				}
				if len(heard) != 3 || !errors.Is(err, context.Canceled) {
					t.Errorf("heard %v, then %v", heard, err)
				}
			})
		})
	}
}

// A push stream that answers 404 has lost its session: who listens is told, and
// the next call opens another.
func TestClientHearsThatTheSessionIsLost(t *testing.T) {
	bubble(t, func(t *testing.T, f *far) {
		f.serve = legacy(func(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message) {
			switch {
			case m.Method != "":
				answers(w, m, textResult)
			case r.Method == http.MethodDelete || r.Header.Get("Mcp-Session-Id") != "session-1":
				w.WriteHeader(http.StatusMethodNotAllowed)
			case len(f.of(http.MethodGet)) == 1:
				tells(w, "id: 1\ndata:\n\n")
				time.Sleep(time.Minute)
			default:
				w.WriteHeader(http.StatusNotFound)
			}
		})
		c := connect(t, f.endpoint())
		_, err := c.Serve(t.Context(), &mcp.Call{
			Method: mcp.MethodSubscriptionsListen, Params: json.RawMessage(`{"notifications":{"toolsListChanged":true}}`), OnNotification: func(mcp.Notification) {},
		})
		if _, ok := errors.AsType[*jsonrpc.ClosedError](err); !ok {
			t.Errorf("the subscription ended with %v", err)
		}
		if _, err := c.Serve(t.Context(), callTool("x", `{}`)); err != nil {
			t.Error(err)
		}
		if call := f.of(mcp.MethodToolsCall); len(call) != 1 || call[0].header.Get("Mcp-Session-Id") != "session-2" {
			t.Errorf("the call was made %d times, want once, in the new session", len(call))
		}
	})
}

// An answer that comes on the push stream is one all the same: there are such
// servers.
func TestClientTakesStrayAnswers(t *testing.T) {
	bubble(t, func(t *testing.T, f *far) {
		asked := make(chan jsonrpc.Message, 1)
		f.serve = legacy(func(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message) {
			switch {
			case m.Method == mcp.MethodToolsCall:
				asked <- *m
				tells(w, ":\n\n")
				<-r.Context().Done()
			case r.Method == http.MethodGet:
				tells(w, ":\n\n")
				select {
				case m := <-asked:
					tells(w, result(&m, textResult))
				case <-r.Context().Done():
				}
				<-r.Context().Done()
			}
		})
		if _, err := connect(t, f.endpoint()).Serve(t.Context(), callTool("x", `{}`)); err != nil {
			t.Error(err)
		}
	})
}

// A cancelled call closes its stream in the newest era, and says so in a
// notification in older ones.
func TestClientCancels(t *testing.T) {
	t.Run("newest", func(t *testing.T) {
		bubble(t, func(t *testing.T, f *far) {
			gone := make(chan struct{})
			f.serve = modern(func(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message) {
				tells(w, ":\n\n")
				<-r.Context().Done()
				close(gone)
			})
			c := connect(t, f.endpoint())
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if _, err := c.Serve(ctx, callTool("x", `{}`)); !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
			<-gone
			wantMethods(t, f, "server/discover", "tools/call")
		})
	})
	t.Run("older", func(t *testing.T) {
		bubble(t, func(t *testing.T, f *far) {
			f.serve = legacy(noStream(func(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message) {
				if m.Method == mcp.NotificationCancelled {
					w.WriteHeader(http.StatusAccepted)
					return
				}
				tells(w, ":\n\n")
				<-r.Context().Done()
			}))
			c := connect(t, f.endpoint())
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if _, err := c.Serve(ctx, callTool("x", `{}`)); !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
			synctest.Wait()
			told := f.of(mcp.NotificationCancelled)
			if id := f.of(mcp.MethodToolsCall)[0].m.ID; len(told) != 1 || !strings.Contains(string(told[0].m.Params), `"requestId":`+id.String()) {
				t.Errorf("the server was told %v", methods(told))
			}
		})
	})
}

// A question on the stream of a call is that call's, and its answer is sent in
// the same session. One that the server takes back is not answered.
func TestClientIsAsked(t *testing.T) {
	ask := `data: {"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{}}}}` + "\n\n"
	caller := mcp.Caller{Capabilities: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapability{}}}
	call := func() *mcp.Call {
		c := callTool("x", `{}`)
		c.Caller = caller
		return c
	}
	t.Run("answered", func(t *testing.T) {
		bubble(t, func(t *testing.T, f *far) {
			answered := make(chan struct{})
			f.serve = legacy(noStream(func(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message) {
				if m.Method == "" {
					if !strings.Contains(string(m.Result), `"decline"`) || m.ID.String() != `"q"` || r.Header.Get("Mcp-Session-Id") != "session-1" {
						t.Errorf("the answer is %s in %v", m.Result, r.Header)
					}
					w.WriteHeader(http.StatusAccepted)
					close(answered)
					return
				}
				tells(w, ask)
				<-answered
				tells(w, result(m, textResult))
			}))
			answer := func(context.Context, *mcp.Call, string, mcp.InputRequest) (json.RawMessage, error) {
				return json.RawMessage(`{"action":"decline"}`), nil
			}
			if _, err := mcp.HandleInput(connect(t, f.endpoint()), answer, 0).Serve(t.Context(), call()); err != nil {
				t.Error(err)
			}
		})
	})
	t.Run("taken back", func(t *testing.T) {
		bubble(t, func(t *testing.T, f *far) {
			f.serve = legacy(noStream(func(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message) {
				if m.Method == "" {
					t.Errorf("an answer was sent: %s", m.Result)
				}
				tells(w, ask)
				time.Sleep(time.Second)
				tells(w, `data: {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"q"}}`+"\n\n")
				time.Sleep(time.Second)
				tells(w, result(m, textResult))
			}))
			c := connect(t, f.endpoint())
			_, err := c.Serve(t.Context(), call())
			need, ok := errors.AsType[*mcp.InputRequired](err)
			if !ok {
				t.Fatalf("error %v", err)
			}
			time.Sleep(time.Minute)
			next := call()
			next.State, next.InputResponses = need.State, map[string]json.RawMessage{"ask": json.RawMessage(`{"action":"decline"}`)}
			if _, err := c.Serve(t.Context(), next); err != nil {
				t.Error(err)
			}
		})
	})
	t.Run("not delivered", func(t *testing.T) {
		bubble(t, func(t *testing.T, f *far) {
			f.serve = legacy(noStream(func(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message) {
				if m.Method == "" {
					w.WriteHeader(http.StatusBadGateway)
					return
				}
				tells(w, ask)
				<-r.Context().Done()
			}))
			answer := func(context.Context, *mcp.Call, string, mcp.InputRequest) (json.RawMessage, error) {
				return json.RawMessage(`{"action":"decline"}`), nil
			}
			_, err := mcp.HandleInput(connect(t, f.endpoint()), answer, 0).Serve(t.Context(), call())
			if err == nil || !strings.Contains(err.Error(), "send the response to the server") {
				t.Errorf("error %v", err)
			}
		})
	})
}

// A call that is given up between two rounds is cancelled at the server.
func TestClientAbandons(t *testing.T) {
	bubble(t, func(t *testing.T, f *far) {
		f.serve = legacy(noStream(func(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message) {
			switch m.Method {
			case "", mcp.NotificationCancelled:
				w.WriteHeader(http.StatusAccepted)
			default:
				tells(w, `data: {"jsonrpc":"2.0","id":1,"method":"roots/list"}`+"\n\n")
				<-r.Context().Done()
			}
		}))
		c := connect(t, f.endpoint())
		call := callTool("x", `{}`)
		call.Caller.Capabilities = &mcp.ClientCapabilities{Roots: &mcp.RootsCapability{}}
		_, err := c.Serve(t.Context(), call)
		need, ok := errors.AsType[*mcp.InputRequired](err)
		if !ok {
			t.Fatalf("error %v", err)
		}
		need.Abandon()
		synctest.Wait()
		if len(f.of(mcp.NotificationCancelled)) != 1 {
			t.Error("the server was not told")
		}
	})
}

// Servers of one older revision may send several messages at once.
func TestClientTakesBatches(t *testing.T) {
	for _, kind := range []string{"application/json", "text/event-stream"} {
		bubble(t, func(t *testing.T, f *far) {
			f.serve = legacy(noStream(func(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message) {
				w.Header().Set("Content-Type", kind)
				batch := fmt.Sprintf(`[{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1}},%s]`,
					m.ID, jsonrpc.AppendResult(nil, m.ID, []byte(textResult)))
				if kind != "application/json" {
					batch = event([]byte(batch))
				}
				tells(w, batch)
			}))
			heard := 0
			call := callTool("x", `{}`)
			call.Progress, call.OnNotification = true, func(mcp.Notification) { heard++ }
			if _, err := connect(t, f.endpoint()).Serve(t.Context(), call); err != nil || heard != 1 {
				t.Errorf("%s: %d notes, error %v", kind, heard, err)
			}
		})
	}
}

// What passes can be watched, and what is no use is told.
func TestClientTapAndNoise(t *testing.T) {
	bubble(t, func(t *testing.T, f *far) {
		f.serve = modern(func(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message) {
			tells(w, "data: rubbish\n\n"+result(m, textResult))
		})
		e := f.endpoint()
		var mu sync.Mutex
		var passed [2]int
		noises := 0
		e.Era.Tap = func(d jsonrpc.Direction, frame []byte) {
			mu.Lock()
			defer mu.Unlock()
			passed[d]++
		}
		e.Era.OnInvalidFrame = func([]byte, error) { noises++ }
		if _, err := connect(t, e).Serve(t.Context(), callTool("x", `{}`)); err != nil {
			t.Error(err)
		}
		if passed != [2]int{jsonrpc.In: 3, jsonrpc.Out: 2} || noises != 1 {
			t.Errorf("in and out: %v, noises: %d", passed, noises)
		}
	})
}

// L27: messages that are skipped are reported to the persona's Warn, over HTTP
// as over stdio.
func TestClientWarnsOfSkippedMessages(t *testing.T) {
	junk := "data: rubbish\n\n" + event([]byte(`{"jsonrpc":"2.0","id":99,"result":{}}`)) +
		event([]byte(`{"jsonrpc":"2.0","id":"s1","method":"roots/list"}`))
	sends := func(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message) {
		if strings.Contains(string(m.Params), "flood") {
			tells(w, strings.Repeat("data: rubbish\n\n", 1000))
		}
		tells(w, junk+result(m, textResult))
	}
	for kind, serve := range map[string]serving{"modern": modern(sends), "legacy": legacy(noStream(sends))} {
		bubble(t, func(t *testing.T, f *far) {
			f.serve = serve
			var mu sync.Mutex
			var warnings []string
			since := func() []string {
				synctest.Wait()
				mu.Lock()
				defer mu.Unlock()
				was := warnings
				warnings = nil
				return was
			}
			p := &mcp.ClientProfile{OnWarning: func(text string) {
				mu.Lock()
				defer mu.Unlock()
				warnings = append(warnings, text)
			}}
			c, err := f.endpoint().Connect(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			call := func(name string) {
				if _, err := c.Serve(t.Context(), callTool(name, `{}`)); err != nil {
					t.Errorf("%s: %v", kind, err)
				}
			}
			call("x")
			wants := []string{`"rubbish"`, "unknown id 99"}
			if kind == "modern" {
				wants = append(wants, "roots/list")
			}
			got := since()
			for _, want := range wants {
				if len(got) != len(wants) || !strings.Contains(strings.Join(got, "\n"), want) {
					t.Errorf("%s: got %q, want %s", kind, got, want)
				}
			}
			time.Sleep(time.Minute)
			call("flood")
			if got := since(); len(got) != 10 {
				t.Errorf("%s: a flood made %d warnings at once", kind, len(got))
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			if got := since(); len(got) != 1 || !strings.Contains(got[0], "more") {
				t.Errorf("%s: when closed: %q", kind, got)
			}
		})
	}
}

// An answer of a retired session that is still on its way arrives: only what
// the server has refused is begun again.
func TestClientLetsCallsFinish(t *testing.T) {
	bubble(t, func(t *testing.T, f *far) {
		f.serve = legacy(noStream(func(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message) {
			switch {
			case strings.Contains(string(m.Params), "slow"):
				time.Sleep(time.Minute)
				answers(w, m, textResult)
			case r.Header.Get("Mcp-Session-Id") == "session-1":
				w.WriteHeader(http.StatusNotFound)
			default:
				answers(w, m, textResult)
			}
		}))
		c := connect(t, f.endpoint())
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := c.Serve(t.Context(), callTool("slow", `{}`)); err != nil {
				t.Error(err)
			}
		})
		time.Sleep(time.Second)
		if _, err := c.Serve(t.Context(), callTool("x", `{}`)); err != nil {
			t.Error(err)
		}
		wg.Wait()
		synctest.Wait()
		c.mu.Lock()
		defer c.mu.Unlock()
		if len(c.retired) != 0 {
			t.Error("the old session is still kept in mind")
		}
	})
}

// What a server asks for a call that was cancelled is asked of nobody.
func TestClientIsNotAskedAfterwards(t *testing.T) {
	bubble(t, func(t *testing.T, f *far) {
		f.serve = legacy(noStream(func(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message) {
			if m.Method != mcp.MethodToolsCall {
				w.WriteHeader(http.StatusAccepted)
				return
			}
			tells(w, ":\n\n")
			time.Sleep(2 * time.Second)
			tells(w, `data: {"jsonrpc":"2.0","id":1,"method":"roots/list"}`+"\n\n")
			<-r.Context().Done()
		}))
		persona := &mcp.ClientProfile{
			Capabilities: mcp.ClientCapabilities{Roots: &mcp.RootsCapability{}},
			OnInputRequest: func(context.Context, mcp.InputRequest) (json.RawMessage, error) {
				t.Error("somebody was asked")
				return nil, nil
			},
		}
		c, err := f.endpoint().Connect(t.Context(), persona)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := c.Serve(ctx, callTool("x", `{}`)); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		time.Sleep(time.Minute)
	})
}

// A call that was about to start while its session was replaced goes to the new
// one.
func TestClientFollowsToTheNewSession(t *testing.T) {
	bubble(t, func(t *testing.T, f *far) {
		f.serve = legacy(noStream(func(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message) { answers(w, m, textResult) }))
		c := connect(t, f.endpoint())
		old := c.now
		old.link.lost.Store(true)
		if _, err := c.current(t.Context()); err != nil {
			t.Fatal(err)
		}
		_, err := old.conn.Serve(t.Context(), callTool("x", `{}`))
		if err == nil || !c.shouldRetry(t.Context(), old, callTool("x", `{}`), err) {
			t.Errorf("error %v, want one after which the call is made again", err)
		}
	})
}

// mcp-go sends log lines on the stream of any call of the session, also on that
// of one that was cancelled and not answered yet: they are heard all the same.
func TestClientHearsOnStreamsOfCancelledCalls(t *testing.T) {
	bubble(t, func(t *testing.T, f *far) {
		var calls atomic.Int32
		speak := make(chan struct{})
		f.serve = legacy(noStream(func(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message) {
			switch {
			case m.Method != mcp.MethodToolsCall:
				if m.IsRequest() {
					answers(w, m, `{}`)
				} else {
					w.WriteHeader(http.StatusAccepted)
				}
			case calls.Add(1) == 1:
				tells(w, ":\n\n")
				<-speak
				tells(w, `data: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"x"}}`+"\n\n")
				<-r.Context().Done()
			default:
				close(speak)
				time.Sleep(time.Second)
				answers(w, m, `{"content":[]}`)
			}
		}))
		c := connect(t, f.endpoint())
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := c.Serve(ctx, callTool("x", `{}`)); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		var heard atomic.Int32
		call := callTool("x", `{}`)
		call.Caller.LogLevel = mcp.LogInfo
		call.OnNotification = func(n mcp.Notification) {
			if n.Method == mcp.NotificationMessage {
				heard.Add(1)
			}
		}
		if _, err := c.Serve(t.Context(), call); err != nil || heard.Load() != 1 {
			t.Errorf("%d lines were heard: %v", heard.Load(), err)
		}
	})
}

// Requests of the server beyond the limit get an error response, and no request
// is left without a response.
func TestClientAnswersTooManyRequests(t *testing.T) {
	const sent = maxServing + 40
	bubble(t, func(t *testing.T, f *far) {
		var results, errs atomic.Int32
		f.serve = legacy(func(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message) {
			switch {
			case r.Method == http.MethodGet:
				for id := range sent {
					tells(w, event(jsonrpc.AppendRequest(nil, jsonrpc.IntID(int64(id)), mcp.MethodRootsList, nil)))
				}
				<-r.Context().Done()
				return
			case m.Error != nil && strings.Contains(m.Error.Message, "too many requests"):
				errs.Add(1)
			case m.Result != nil:
				results.Add(1)
			}
			w.WriteHeader(http.StatusAccepted)
		})
		release := make(chan struct{})
		p := &mcp.ClientProfile{
			Capabilities: mcp.ClientCapabilities{Roots: &mcp.RootsCapability{}},
			OnInputRequest: func(context.Context, mcp.InputRequest) (json.RawMessage, error) {
				<-release
				return json.RawMessage(`{"roots":[]}`), nil
			},
			OnWarning: func(text string) { t.Error("warning:", text) },
		}
		c, err := f.endpoint().Connect(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		synctest.Wait()
		if n := errs.Load(); n != sent-maxServing {
			t.Errorf("%d requests got an error response, want %d", n, sent-maxServing)
		}
		close(release)
		synctest.Wait()
		if n := results.Load(); n != maxServing {
			t.Errorf("%d requests got a result, want %d", n, maxServing)
		}
	})
}
