package streamclient

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	_ "github.com/tenon-mcp/tenon/ext/tasks" // for the names in its messages
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// Every request of the newest era repeats in its headers what its body says;
// those of older ones have their session and revision instead.
func TestClientHeaders(t *testing.T) {
	serve := func(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message) {
		http.SetCookie(w, &http.Cookie{Name: "a", Value: "b"})
		answers(w, m, `{"content":[],"contents":[],"messages":[]}`)
	}
	calls := []*mcp.Call{
		callTool("add", `{}`),
		{Method: mcp.MethodPromptsGet, Params: []byte(`{"name":"greet"}`)},
		{Method: mcp.MethodResourcesRead, Params: []byte(`{"uri":"file:///ä"}`)},
		{Method: "tasks/get", Params: []byte(`{"taskId":"t1"}`)},
		{Method: mcp.MethodComplete, Params: []byte(`{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":""}}`)},
	}
	names := []string{"add", "greet", "=?base64?ZmlsZTovLy/DpA==?=", "t1", ""}
	run := func(t *testing.T, f *far) {
		e := f.endpoint()
		e.Header = http.Header{"X-Extra": {"1"}, "accept": {"nothing"}, "Mcp-Method": {"forged"}}
		c := connect(t, e)
		for _, call := range calls {
			if _, err := c.Serve(t.Context(), call); err != nil {
				t.Errorf("%s: %v", call.Method, err)
			}
		}
		for _, s := range f.seen {
			if s.header.Get("X-Extra") != "1" || s.header.Get("Cookie") != "" || s.header.Get("Mcp-Method") == "forged" {
				t.Errorf("%s: headers %v", s.m.Method, s.header)
			}
			if s.verb == http.MethodPost && (s.header.Get("Accept") != "application/json, text/event-stream" || s.header.Get("Content-Type") != "application/json") {
				t.Errorf("%s: headers %v", s.m.Method, s.header)
			}
		}
	}
	t.Run("newest", func(t *testing.T) {
		bubble(t, func(t *testing.T, f *far) {
			f.serve = modern(serve)
			run(t, f)
			for i, s := range f.seen[1:] {
				h := s.header
				if h.Get("Mcp-Protocol-Version") != "2026-07-28" || h.Get("Mcp-Method") != s.m.Method || h.Get("Mcp-Name") != names[i] || h.Get("Mcp-Session-Id") != "" {
					t.Errorf("%s: headers %v", s.m.Method, h)
				}
			}
		})
	})
	t.Run("older", func(t *testing.T) {
		bubble(t, func(t *testing.T, f *far) {
			f.serve = legacy(noStream(serve))
			run(t, f)
			for _, s := range f.seen[2:] {
				h := s.header
				if h.Get("Mcp-Protocol-Version") != "2025-11-25" || h.Get("Mcp-Session-Id") != "session-1" || h.Get("Mcp-Name") != "" {
					t.Errorf("%s: headers %v", s.m.Method, h)
				}
			}
		})
	})
}

// Arguments go into the headers that the schema names, as the tool was listed
// last.
func TestClientRepeatsArguments(t *testing.T) {
	const schema = `{"type":"object","properties":{
		"s":{"type":"string","x-mcp-header":"S"},"i":{"type":"integer","x-mcp-header":"I"},"b":{"type":"boolean","x-mcp-header":"B"},
		"o":{"type":"object","properties":{"deep":{"type":"string","x-mcp-header":"Deep"}}},"plain":{"type":"string"}}}`
	for _, test := range []struct {
		args string
		want map[string]string // without Mcp-Param-
	}{
		{`{"s":"us-west1","i":42,"b":true,"o":{"deep":"down"},"plain":"no"}`, map[string]string{"S": "us-west1", "I": "42", "B": "true", "Deep": "down"}},
		{`{"s":null,"i":-7,"b":false}`, map[string]string{"I": "-7", "B": "false"}},
		{`{"s":"","i":42.0}`, map[string]string{"S": "", "I": "42"}},
		{`{"s":"Hello, 世界","i":1e3}`, map[string]string{"S": "=?base64?SGVsbG8sIOS4lueVjA==?=", "I": "1000"}},
		{`{"s":" padded "}`, map[string]string{"S": "=?base64?IHBhZGRlZCA=?="}},
		{`{"s":"line1\nline2"}`, map[string]string{"S": "=?base64?bGluZTEKbGluZTI=?="}},
		{`{"s":"=?base64?literal?="}`, map[string]string{"S": "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="}},
		{`{"o":{"deep":"a b"},"s":"x"}`, map[string]string{"Deep": "a b", "S": "x"}},
		{`{}`, nil},
	} {
		t.Run(test.args, func(t *testing.T) {
			bubble(t, func(t *testing.T, f *far) {
				f.serve = modern(func(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message) {
					if m.Method == mcp.MethodToolsList {
						answers(w, m, `{"resultType":"complete","tools":[{"name":"x","inputSchema":`+schema+`}]}`)
						return
					}
					answers(w, m, textResult)
				})
				c := connect(t, f.endpoint())
				if _, err := c.Serve(t.Context(), &mcp.Call{Method: mcp.MethodToolsList}); err != nil {
					t.Fatal(err)
				}
				if _, err := c.Serve(t.Context(), callTool("x", test.args)); err != nil {
					t.Fatal(err)
				}
				got := f.of(mcp.MethodToolsCall)[0].header
				n := 0
				for name := range got {
					if strings.HasPrefix(name, "Mcp-Param-") {
						n++
					}
				}
				for name, value := range test.want {
					if v := got["Mcp-Param-"+name]; len(v) != 1 || v[0] != value {
						t.Errorf("Mcp-Param-%s is %q, want %q", name, v, value)
					}
				}
				if n != len(test.want) {
					t.Errorf("%d headers, want %d: %v", n, len(test.want), got)
				}
			})
		})
	}
}

// L24: an integer that no header may carry is not sent. Without its header the
// server would refuse the call, and with it too.
func TestClientSendsNoUnsafeIntegerInAHeader(t *testing.T) {
	for _, n := range []string{"9007199254740992", "9007199254740993", "-9007199254740992", "1e300", "123456789012345678901234567890"} {
		t.Run(n, func(t *testing.T) {
			bubble(t, func(t *testing.T, f *far) {
				f.serve = modern(func(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message) {
					if m.Method == mcp.MethodToolsList {
						answers(w, m, `{"resultType":"complete","tools":[{"name":"x","inputSchema":{"type":"object","properties":{"i":{"type":"integer","x-mcp-header":"I"}}}}]}`)
						return
					}
					answers(w, m, textResult)
				})
				c := connect(t, f.endpoint())
				if _, err := c.Serve(t.Context(), &mcp.Call{Method: mcp.MethodToolsList}); err != nil {
					t.Fatal(err)
				}
				_, err := c.Serve(t.Context(), callTool("x", `{"i":`+n+`}`))
				e, ok := errors.AsType[*mcp.Error](err)
				if !ok || e.Code != mcp.CodeInvalidParams || !e.Local || !strings.Contains(e.Message, `call tool "x": argument "i" is an integer beyond ±9007199254740991, which the header Mcp-Param-I cannot carry`) {
					t.Errorf("got %v", err)
				}
				if sent := f.of(mcp.MethodToolsCall); len(sent) > 0 {
					t.Errorf("the call was sent with %v", sent[0].header)
				}
				if _, err := c.Serve(t.Context(), callTool("x", `{"i":9007199254740991}`)); err != nil {
					t.Errorf("the next call: %v", err)
				}
			})
		})
	}
}

// A mismatch of headers has the tools looked at again, and the call repeated,
// once.
func TestClientLooksAtToolsAgain(t *testing.T) {
	for name, mended := range map[string]bool{"mended": true, "for ever": false} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, f *far) {
				f.serve = modern(func(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message) {
					switch {
					case m.Method == mcp.MethodToolsList && !strings.Contains(string(m.Params), "cursor"):
						answers(w, m, `{"resultType":"complete","tools":[{"name":"other","inputSchema":{"type":"object"}}],"nextCursor":"2"}`)
					case m.Method == mcp.MethodToolsList:
						answers(w, m, `{"resultType":"complete","tools":[{"name":"x","inputSchema":{"type":"object","properties":{"r":{"type":"string","x-mcp-header":"R"}}}}]}`)
					case r.Header.Get("Mcp-Param-R") == "here" && mended:
						answers(w, m, textResult)
					default:
						fails(w, m, 400, mcp.CodeHeaderMismatch, "Header mismatch")
					}
				})
				_, err := connect(t, f.endpoint()).Serve(t.Context(), callTool("x", `{"r":"here"}`))
				if e, _ := errors.AsType[*mcp.Error](err); mended && err != nil || !mended && (e == nil || e.Code != mcp.CodeHeaderMismatch) {
					t.Errorf("error %v", err)
				}
				wantMethods(t, f, "server/discover", "tools/call", "tools/list", "tools/list", "tools/call")
			})
		})
	}
}

// An error of the protocol is that, whatever its status; a status without one
// is told as it is.
func TestClientStatuses(t *testing.T) {
	body := func(status int, header, text string) serving {
		return func(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message) {
			if name, value, ok := strings.Cut(header, ": "); ok {
				w.Header().Set(name, value)
			}
			w.WriteHeader(status)
			w.Write([]byte(strings.ReplaceAll(text, "%", m.ID.String())))
		}
	}
	for _, test := range []struct {
		name  string
		serve serving
		code  int    // of the error of the protocol
		says  string // in the text of the error
	}{
		{"error with 200", body(200, "Content-Type: application/json", `{"jsonrpc":"2.0","id":%,"error":{"code":-32602,"message":"no such tool"}}`), -32602, "no such tool"},
		{"error with 400", body(400, "Content-Type: application/json", `{"jsonrpc":"2.0","id":%,"error":{"code":-32602,"message":"no such tool"}}`), -32602, "no such tool"},
		{"error without id", body(400, "Content-Type: application/json", `{"jsonrpc":"2.0","error":{"code":-32602,"message":"no such tool"}}`), -32602, "no such tool"},
		{"error with 500", body(500, "Content-Type: application/json", `{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"broken"}}`), -32603, "broken"},
		{"error with 404", body(404, "Content-Type: application/json", `{"jsonrpc":"2.0","id":%,"error":{"code":-32601,"message":"unknown"}}`), -32601, "unknown"},
		{"401", body(401, `WWW-Authenticate: Bearer scope="a"`, ""), 0, "401 Unauthorized: authorization required"},
		{"403 with an error", body(403, "", `{"jsonrpc":"2.0","error":{"code":-32603,"message":"not you"}}`), 0, "(not you)"},
		{"429", body(429, "Retry-After: 7", ""), 0, `try again after "7"`},
		{"500", body(500, "", "<html>oh</html>"), 0, "500 Internal Server Error"},
		{"503", body(503, "", "down\x00 for\r\nnow"), 0, "(down for now)"},
		{"accepted", body(202, "", ""), 0, "no response to the request"},
		{"a page", body(200, "Content-Type: text/html", "<html>"), 0, "neither JSON nor an event stream"},
		{"not JSON", body(200, "Content-Type: application/json", "oops"), mcp.CodeInternal, "not valid JSON"},
		{"other id", body(200, "Content-Type: application/json", `{"jsonrpc":"2.0","id":99,"result":{}}`), mcp.CodeInternal, "id of another request"},
		{"cut short", func(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "100")
			w.Write([]byte("{"))
		}, 0, "stream ended"},
	} {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, f *far) {
				f.serve = modern(test.serve)
				_, err := connect(t, f.endpoint()).Serve(t.Context(), callTool("x", `{}`))
				if err == nil || !strings.Contains(err.Error(), test.says) {
					t.Errorf("error %v, want it to say %q", err, test.says)
				}
				e, ok := errors.AsType[*mcp.Error](err)
				if ok != (test.code != 0) || ok && e.Code != test.code {
					t.Errorf("error %#v, want code %d", err, test.code)
				}
				if test.name == "401" {
					refused, ok := errors.AsType[*StatusError](err)
					if !ok || refused.Header.Get("WWW-Authenticate") != `Bearer scope="a"` {
						t.Errorf("error %#v, want the challenge in it", err)
					}
				}
			})
		})
	}
}

// Who wants authorization, or is down, says nothing of its era: the client does
// not go on to ask in another.
func TestClientProbeIsRefused(t *testing.T) {
	for _, status := range []int{401, 403, 429, 500, 503} {
		bubble(t, func(t *testing.T, f *far) {
			f.serve = func(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message) { w.WriteHeader(status) }
			_, err := f.endpoint().Connect(t.Context(), nil)
			if refused, ok := errors.AsType[*StatusError](err); !ok || refused.Status != status {
				t.Errorf("error %v, want status %d", err, status)
			}
			wantMethods(t, f, "server/discover")
		})
	}
}

// An empty result to the probe, as some older servers give to anything, is not
// taken for the newest era.
func TestClientProbeIsAnsweredWithNothing(t *testing.T) {
	bubble(t, func(t *testing.T, f *far) {
		old := legacy(noStream(func(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message) { answers(w, m, "{}") }))
		f.serve = func(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message) {
			if m.Method == mcp.MethodDiscover {
				answers(w, m, "{}")
				return
			}
			old(w, r, m)
		}
		if c := connect(t, f.endpoint()); c.Revision() != mcp.Rev20251125 {
			t.Errorf("revision %s", c.Revision())
		}
	})
}

// What is too large is not taken in.
func TestClientBoundsAnswers(t *testing.T) {
	chunk := bytes.Repeat([]byte{' '}, 1<<20)
	for _, kind := range []string{"application/json", "text/event-stream"} {
		t.Run(kind, func(t *testing.T) {
			bubble(t, func(t *testing.T, f *far) {
				f.serve = modern(func(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message) {
					w.Header().Set("Content-Type", kind)
					w.Write([]byte("data: "))
					for range 80 {
						if _, err := w.Write(chunk); err != nil {
							return
						}
					}
				})
				_, err := connect(t, f.endpoint()).Serve(t.Context(), callTool("x", `{}`))
				if err == nil || !strings.Contains(err.Error(), "exceeds the limit of 67108864 bytes") {
					t.Errorf("error %v", err)
				}
			})
		})
	}
}

// An address that is none is refused without being shown: it may have a secret
// in it.
func TestClientBadURL(t *testing.T) {
	for _, address := range []string{"", "far.example/mcp", "ftp://u:secret@far.example", "http://", "http://u:secret@[far", "unix:///secret", "http://far.example/%zzsecret"} {
		_, err := (&Endpoint{URL: address}).Connect(t.Context(), nil)
		if err == nil || strings.Contains(err.Error(), "secret@") {
			t.Errorf("%q: error %v", address, err)
		}
	}
}

// An error never shows the secrets of an address.
func TestClientUnreachable(t *testing.T) {
	e := &Endpoint{URL: "http://user:hunter2@127.0.0.1:1/mcp?key=hunter2"}
	_, err := e.Connect(t.Context(), nil)
	if err == nil || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), "cannot reach http://127.0.0.1:1/mcp") {
		t.Errorf("error %v", err)
	}
}

// Calls of a closed connection fail.
func TestClientClosed(t *testing.T) {
	bubble(t, func(t *testing.T, f *far) {
		f.serve = modern(nil)
		c := connect(t, f.endpoint())
		c.Close()
		c.Close()
		<-c.Done()
		if _, err := c.Serve(context.Background(), callTool("x", `{}`)); err == nil {
			t.Error("a closed connection serves")
		} else if _, ok := errors.AsType[*jsonrpc.ClosedError](err); !ok {
			t.Errorf("error %v", err)
		}
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A panic of a RoundTripper, from which the caller recovers, ends the request, so
// that Close does not wait for it.
func TestPanicOfARoundTripperEndsItsRequest(t *testing.T) {
	bubble(t, func(t *testing.T, f *far) {
		f.serve = modern(func(w http.ResponseWriter, _ *http.Request, m *jsonrpc.Message) { answers(w, m, `{"tools":[]}`) })
		e := f.endpoint()
		base, fails := e.HTTP.Transport, false
		e.HTTP.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
			if fails {
				panic("test")
			}
			return base.RoundTrip(r)
		})
		c := connect(t, e)
		fails = true
		func() {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			c.Serve(t.Context(), &mcp.Call{Method: mcp.MethodToolsList})
		}()
		fails = false
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
}
