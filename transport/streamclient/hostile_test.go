package streamclient

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/internal/protocol"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// C36: a tool whose headers break the rules is left out, with a reason; the
// others stay, and so does everything else in the list.
func TestClientLeavesOutToolsWithBadHeaders(t *testing.T) {
	bad := map[string]string{
		"injected":  `{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"A\r\nX-Evil: 1"}}}`,
		"empty":     `{"type":"object","properties":{"a":{"type":"string","x-mcp-header":""}}}`,
		"space":     `{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"Bad Header"}}}`,
		"number":    `{"type":"object","properties":{"a":{"type":"number","x-mcp-header":"A"}}}`,
		"items":     `{"type":"object","properties":{"a":{"type":"array","items":{"type":"string","x-mcp-header":"A"}}}}`,
		"duplicate": `{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"Region"},"b":{"type":"string","x-mcp-header":"region"}}}`,
		"escaped":   `{"type":"object","properties":{"a":{"type":"number","x-mcp\u002dheader":"A"}}}`,
	}
	for name, schema := range bad {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, f *far) {
				f.serve = modern(func(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message) {
					answers(w, m, `{"resultType":"complete","nextCursor":"more","tools":[
						{"name":"first","inputSchema":{"type":"object"}},
						{"name":"bad","inputSchema":`+schema+`},
						{"name":"last","inputSchema":{"type":"object","properties":{"r":{"type":"string","x-mcp-header":"R"}}}}],"ttlMs":0,"cacheScope":"private"}`)
				})
				e := f.endpoint()
				var warnings []string
				e.Warn = nil // then it is the persona's
				c, err := e.Connect(t.Context(), &mcp.ClientProfile{OnWarning: func(text string) { warnings = append(warnings, text) }})
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				for range 2 {
					res, err := c.Serve(t.Context(), &mcp.Call{Method: mcp.MethodToolsList})
					if err != nil {
						t.Fatal(err)
					}
					var got mcp.ListToolsResult
					if err := mcp.Unmarshal(res.Body, &got); err != nil {
						t.Fatal(err)
					}
					if len(got.Tools) != 2 || got.Tools[0].Name != "first" || got.Tools[1].Name != "last" || got.NextCursor == nil || *got.NextCursor != "more" {
						t.Errorf("the list is %s", res.Body)
					}
				}
				if len(warnings) != 1 || !strings.Contains(warnings[0], `"bad"`) {
					t.Errorf("warnings: %q, want one about the tool", warnings)
				}
			})
		})
	}
}

// C38: what is no header value as it stands is told in Base64, so nothing can
// be put between the headers.
func TestClientEncodesNames(t *testing.T) {
	bubble(t, func(t *testing.T, f *far) {
		f.serve = modern(func(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message) { answers(w, m, textResult) })
		c := connect(t, f.endpoint())
		name := "a\r\nX-Evil: 1"
		params, _ := mcp.Marshal(map[string]string{"name": name})
		if _, err := c.Serve(t.Context(), &mcp.Call{Method: mcp.MethodToolsCall, Params: params}); err != nil {
			t.Fatal(err)
		}
		h := f.of(mcp.MethodToolsCall)[0].header
		if got, ok := protocol.DecodeHeader(h.Get("Mcp-Name")); !ok || got != name || h.Get("Mcp-Name") == name || h.Get("X-Evil") != "" {
			t.Errorf("headers: %v", h)
		}
	})
}

// C40: a stream that ends without the answer fails the call; what does no harm
// when served twice is asked again, under a new id, once.
func TestClientStreamEnds(t *testing.T) {
	for _, test := range []struct {
		method string
		posts  int
	}{
		{mcp.MethodToolsCall, 1},
		{mcp.MethodSubscriptionsListen, 1},
		{mcp.MethodToolsList, 2},
		{mcp.MethodResourcesRead, 2},
		{mcp.MethodPromptsGet, 2},
		{mcp.MethodComplete, 2},
	} {
		t.Run(test.method, func(t *testing.T) {
			bubble(t, func(t *testing.T, f *far) {
				f.serve = modern(func(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message) {
					tells(w, "id: 7\n: alive\n\n")
				})
				c := connect(t, f.endpoint())
				_, err := c.Serve(t.Context(), &mcp.Call{Method: test.method, Params: json.RawMessage(`{"name":"x","uri":"x:y"}`)})
				if _, ok := errors.AsType[*StreamEndedError](err); !ok || !strings.Contains(err.Error(), "stream ended") {
					t.Errorf("error %v, want a StreamEndedError", err)
				}
				posts := f.of(test.method)
				if len(posts) != test.posts {
					t.Fatalf("%d requests, want %d", len(posts), test.posts)
				}
				if len(posts) == 2 && posts[0].m.ID.Equal(posts[1].m.ID) {
					t.Error("the request was made again under the same id")
				}
				if len(f.of(http.MethodGet)) != 0 {
					t.Error("a stream of the newest era cannot be resumed")
				}
			})
		})
	}
}

// C40: and the second attempt counts.
func TestClientAsksAgain(t *testing.T) {
	bubble(t, func(t *testing.T, f *far) {
		f.serve = modern(func(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message) {
			if len(f.of(m.Method)) == 1 {
				tells(w, ":\n\n")
				return
			}
			answers(w, m, `{"resultType":"complete","tools":[]}`)
		})
		if _, err := connect(t, f.endpoint()).Serve(t.Context(), &mcp.Call{Method: mcp.MethodToolsList}); err != nil {
			t.Error(err)
		}
	})
}

// C42: whatever a stream of events may look like.
func TestClientReadsOddEvents(t *testing.T) {
	note := `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%,"progress":1}}`
	for name, text := range map[string]string{
		"comments":       ":\n: hello\n:\n\n" + "data: " + note + "\n\n:\n\ndata: $\n\n",
		"CR LF":          "data: " + note + "\r\n\r\ndata: $\r\n\r\n",
		"CR":             "data: " + note + "\r\rdata: $\r\r",
		"mixed ends":     "data: " + note + "\r\n\rdata: $\n\r\n",
		"no space":       "data:" + note + "\n\ndata:$\n\n",
		"BOM":            "\ufeffdata: " + note + "\n\ndata: $\n\n",
		"several lines":  "data: {\"jsonrpc\":\"2.0\",\ndata: \"method\":\"notifications/progress\",\ndata: \"params\":{\"progressToken\":%,\"progress\":1}}\n\ndata: $\n\n",
		"empty data":     "data:\n\ndata: \n\ndata: " + note + "\n\ndata: $\n\n",
		"odd retries":    "retry: 0\n\nretry: 99999999999\n\nretry: soon\n\nretry: -1\n\ndata: " + note + "\n\ndata: $\n\n",
		"named":          "event: message\ndata: " + note + "\n\nevent: ping\ndata: now\n\nevent: message\ndata: $\n\n",
		"unknown fields": "colour: red\ndata: " + note + "\n\nfoo\ndata: $\n\n",
		"rubbish":        "data: not json\n\ndata: {\"jsonrpc\":\"1.0\"}\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":4711,\"result\":{}}\n\ndata: " + note + "\n\ndata: $\n\n",
		"a question":     "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"roots/list\"}\n\ndata: " + note + "\n\ndata: $\n\n",
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, f *far) {
				f.serve = modern(func(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message) {
					if m.Method == "" {
						t.Error("the client sent an answer, which this era does not allow")
						return
					}
					text := strings.ReplaceAll(text, "%", m.ID.String())
					text = strings.ReplaceAll(text, "$", string(jsonrpc.AppendResult(nil, m.ID, []byte(textResult))))
					for i := range len(text) { // as slowly as can be
						tells(w, text[i:i+1])
					}
				})
				c := connect(t, f.endpoint())
				call := callTool("x", `{}`)
				heard := 0
				call.Progress, call.OnNotification = true, func(n mcp.Notification) { heard++ }
				if _, err := c.Serve(t.Context(), call); err != nil {
					t.Error(err)
				}
				if heard != 1 {
					t.Errorf("%d notes heard, want 1", heard)
				}
			})
		})
	}
}

// C42: what a server asks for is honoured within bounds.
func TestClientBoundsRetry(t *testing.T) {
	for retry, want := range map[string]time.Duration{
		"0":           100 * time.Millisecond,
		"99999999999": time.Minute,
		"500":         500 * time.Millisecond,
		"5000":        5 * time.Second,
		"soon":        time.Second, // nothing was asked for
	} {
		t.Run(retry, func(t *testing.T) {
			bubble(t, func(t *testing.T, f *far) {
				var closed, back time.Time
				f.serve = legacy(func(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message) {
					switch {
					case m.Method == mcp.MethodToolsCall:
						tells(w, "id: 1\nretry: "+retry+"\ndata:\n\n")
						closed = time.Now()
					case r.Header.Get("Last-Event-Id") == "1":
						back = time.Now()
						call := f.of(mcp.MethodToolsCall)[0].m
						tells(w, result(&call, textResult))
					default:
						w.WriteHeader(http.StatusMethodNotAllowed)
					}
				})
				c := connect(t, f.endpoint())
				if _, err := c.Serve(t.Context(), callTool("x", `{}`)); err != nil {
					t.Fatal(err)
				}
				if got := back.Sub(closed); got != want {
					t.Errorf("back after %v, want %v", got, want)
				}
			})
		})
	}
}

// C44: a redirect to another origin is not followed, whatever its status, and
// nothing secret leaves; within the origin only one that keeps the method is.
func TestClientRedirects(t *testing.T) {
	for _, test := range []struct {
		name, location string
		status         int
		followed       bool
	}{
		{"metadata service", "http://169.254.169.254/latest", 307, false},
		{"other host", "http://evil.example/mcp", 308, false},
		{"other port", "http://far.example:8080/mcp", 307, false},
		{"other scheme", "https://far.example/mcp", 307, false},
		{"loses the body", "/elsewhere", 302, false},
		{"loses the body, too", "/elsewhere", 303, false},
		{"same origin", "/elsewhere", 307, true},
		{"same origin for good", "http://far.example:80/elsewhere", 308, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, f *far) {
				var hosts []string
				f.serve = modern(func(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message) {
					hosts = append(hosts, r.Host+r.URL.Path)
					if r.URL.Path == "/mcp" {
						http.Redirect(w, r, test.location, test.status)
						return
					}
					if r.Header.Get("Authorization") != "Bearer secret" || r.Header.Get("Mcp-Method") == "" {
						t.Errorf("headers after the redirect: %v", r.Header)
					}
					answers(w, m, textResult)
				})
				e := f.endpoint()
				e.Header = http.Header{"Authorization": {"Bearer secret"}}
				e.Era.Known = mcp.Rev20260728
				c := connect(t, e)
				_, err := c.Serve(t.Context(), callTool("x", `{}`))
				if test.followed {
					if err != nil || len(hosts) != 2 {
						t.Errorf("requests to %v, error %v", hosts, err)
					}
					return
				}
				status, ok := errors.AsType[*StatusError](err)
				if !ok || status.Status != test.status || !strings.Contains(err.Error(), "not followed") {
					t.Errorf("error %v, want one that says that the redirect is not followed", err)
				}
				if len(hosts) != 1 || hosts[0] != "far.example/mcp" {
					t.Errorf("requests to %v", hosts)
				}
			})
		})
	}
}

// C46: a server that never answers costs the call its time, and Close little.
func TestClientBlackHole(t *testing.T) {
	t.Run("a call", func(t *testing.T) {
		bubble(t, func(t *testing.T, f *far) {
			f.serve = legacy(noStream(func(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message) {
				<-r.Context().Done()
			}))
			c := connect(t, f.endpoint())
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if _, err := c.Serve(ctx, callTool("x", `{}`)); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("error %v", err)
			}
		})
	})
	t.Run("everything", func(t *testing.T) {
		bubble(t, func(t *testing.T, f *far) {
			f.serve = legacy(func(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message) {
				<-r.Context().Done() // also GET and DELETE
			})
			c := connect(t, f.endpoint())
			var wg sync.WaitGroup
			defer wg.Wait()
			for range 3 {
				wg.Go(func() {
					if _, err := c.Serve(context.Background(), callTool("x", `{}`)); err == nil {
						t.Error("a call got an answer from nowhere")
					}
				})
			}
			synctest.Wait()
			begun := time.Now()
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			if took := time.Since(begun); took >= 5*time.Second {
				t.Errorf("closing took %v", took)
			}
		})
	})
	t.Run("meeting it", func(t *testing.T) {
		bubble(t, func(t *testing.T, f *far) {
			f.serve = func(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message) { <-r.Context().Done() }
			begun := time.Now()
			if _, err := f.endpoint().Connect(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "in time") {
				t.Errorf("error %v", err)
			}
			if took := time.Since(begun); took > 40*time.Second {
				t.Errorf("it took %v to give up", took)
			}
		})
	})
}

// C48: a lost session is opened again, once, and the request repeated.
func TestClientOpensALostSessionAgain(t *testing.T) {
	bubble(t, func(t *testing.T, f *far) {
		f.serve = legacy(noStream(func(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message) {
			if r.Header.Get("Mcp-Session-Id") == "session-1" {
				fails(w, &jsonrpc.Message{}, 404, -32001, "Session not found")
				return
			}
			answers(w, m, textResult)
		}))
		c := connect(t, f.endpoint())
		if _, err := c.Serve(t.Context(), callTool("x", `{}`)); err != nil {
			t.Fatal(err)
		}
		wantMethods(t, f, "server/discover", "initialize", "notifications/initialized", "GET",
			"tools/call", "initialize", "notifications/initialized", "GET", "tools/call")
		if h := f.of("initialize")[1].header; h.Get("Mcp-Session-Id") != "" {
			t.Error("initialize carries a session id")
		}
	})
}

// H14: a server that was started again and answers 400 instead of 404, as the
// reference implementation does, has lost the session, too.
func TestClientOpensASessionAgainAfter400(t *testing.T) {
	bubble(t, func(t *testing.T, f *far) {
		f.serve = legacy(noStream(func(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message) {
			if r.Header.Get("Mcp-Session-Id") == "session-1" {
				fails(w, &jsonrpc.Message{}, 400, -32000, "Bad Request: No valid session ID provided")
				return
			}
			if strings.Contains(string(m.Params), "other") { // an error of its own with the same status
				fails(w, m, 400, -32602, "invalid session of the tool")
				return
			}
			answers(w, m, textResult)
		}))
		c := connect(t, f.endpoint())
		if _, err := c.Serve(t.Context(), callTool("x", `{}`)); err != nil {
			t.Fatal(err)
		}
		wantMethods(t, f, "server/discover", "initialize", "notifications/initialized", "GET",
			"tools/call", "initialize", "notifications/initialized", "GET", "tools/call")
		if _, err := c.Serve(t.Context(), callTool("other", `{}`)); err == nil || !strings.Contains(err.Error(), "invalid session of the tool") {
			t.Errorf("error %v", err)
		}
		if n := len(f.of("initialize")); n != 2 {
			t.Errorf("the session was opened %d times", n)
		}
	})
}

// C48: a server that loses every session is not asked for ever.
func TestClientGivesUpOnSessionsThatGetLost(t *testing.T) {
	bubble(t, func(t *testing.T, f *far) {
		f.serve = legacy(noStream(func(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message) {
			w.WriteHeader(http.StatusNotFound)
		}))
		c := connect(t, f.endpoint())
		if _, err := c.Serve(t.Context(), callTool("x", `{}`)); err == nil || !strings.Contains(err.Error(), "session") {
			t.Errorf("error %v", err)
		}
		if n := len(f.of(mcp.MethodToolsCall)); n != 2 {
			t.Errorf("the call was made %d times, want 2", n)
		}
		c.Close()
		if n := len(f.of(http.MethodDelete)); n != 0 {
			t.Errorf("%d lost sessions were ended", n)
		}
	})
}

// C50: a refusal without a word leads to initialize, and then to the older
// transport.
func TestClientFallsBack(t *testing.T) {
	for name, body := range map[string]string{"empty": "", "HTML": "<html><body>Bad Request</body></html>", "text": "no"} {
		for _, status := range []int{400, 404, 405} {
			refuse := func(w http.ResponseWriter) {
				w.WriteHeader(status)
				w.Write([]byte(body))
			}
			t.Run(name+" to initialize", func(t *testing.T) {
				bubble(t, func(t *testing.T, f *far) {
					old := legacy(noStream(func(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message) { answers(w, m, textResult) }))
					f.serve = func(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message) {
						if m.Method == mcp.MethodDiscover {
							refuse(w)
							return
						}
						old(w, r, m)
					}
					if c := connect(t, f.endpoint()); c.Revision() != mcp.Rev20251125 {
						t.Errorf("revision %s", c.Revision())
					}
				})
			})
			t.Run(name+" to the older transport", func(t *testing.T) {
				bubble(t, func(t *testing.T, f *far) {
					f.serve = func(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message) { refuse(w) }
					e := f.endpoint()
					oldest := closable{mcp.HandlerFunc(func(context.Context, *mcp.Call) (mcp.Result, error) { return mcp.Result{}, nil })}
					e.Older = dialer(func(context.Context, *mcp.ClientProfile) (mcp.Conn, error) { return oldest, nil })
					h, err := e.Dial(t.Context(), nil)
					if err != nil || h == nil {
						t.Errorf("error %v", err)
					}
					wantMethods(t, f, "server/discover", "initialize")
					e.Older = nil
					_, err = e.Dial(t.Context(), nil)
					if refused, ok := errors.AsType[*StatusError](err); !ok || refused.Status != status {
						t.Errorf("error %v, want the status", err)
					}
				})
			})
		}
	}
}

type closable struct{ mcp.Handler }

func (closable) Close() error { return nil }

type dialer func(context.Context, *mcp.ClientProfile) (mcp.Conn, error)

func (d dialer) Dial(ctx context.Context, p *mcp.ClientProfile) (mcp.Conn, error) { return d(ctx, p) }

// C52: a time to live that is nonsense is none, and one that is absurd is cut.
func TestClientBoundsTTL(t *testing.T) {
	for ttl, want := range map[string]time.Duration{`-5`: 0, `"x"`: 0, `1e30`: 24 * time.Hour, `1000`: time.Second} {
		t.Run(ttl, func(t *testing.T) {
			bubble(t, func(t *testing.T, f *far) {
				f.serve = modern(func(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message) {
					answers(w, m, `{"resultType":"complete","tools":[],"ttlMs":`+ttl+`,"cacheScope":"public"}`)
				})
				res, err := connect(t, f.endpoint()).Serve(t.Context(), &mcp.Call{Method: mcp.MethodToolsList})
				if err != nil || res.Cache.TTL != want {
					t.Errorf("TTL %v, error %v, want %v", res.Cache.TTL, err, want)
				}
			})
		})
	}
}
