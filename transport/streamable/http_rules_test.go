package streamable_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
	"github.com/tenon-mcp/tenon/transport/streamable"
	"github.com/tenon-mcp/tenon/transport/streamclient"
)

// fortOf serves a fixture with a http.Handler of the test's own before it.
func fortOf(t *testing.T, f *fixture, h *streamable.Handler, before func(http.Handler) http.Handler) *fort {
	t.Helper()
	web := httptest.NewServer(before(h))
	at := &fort{t: t, fixture: f, h: h, addr: web.Listener.Addr().String(), path: "/"}
	at.port = at.addr[strings.LastIndexByte(at.addr, ':')+1:]
	t.Cleanup(func() {
		h.Shutdown()
		web.Close()
	})
	return at
}

// The deadline of a request's context, such as that of its token, ends the
// stream that answers it, whether the connection was taken over or not (L8).
func TestStreamEndsAtDeadlineOfRequest(t *testing.T) {
	for _, takeOver := range []bool{false, true} {
		f := newFixture(t)
		h, err := streamable.NewHandler(f.Server, &streamable.Options{TakeOver: takeOver})
		if err != nil {
			t.Fatal(err)
		}
		at := fortOf(t, f, h, func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				ctx, cancel := context.WithCancel(r.Context())
				if limit, err := time.ParseDuration(r.Header.Get("X-Limit")); err == nil {
					ctx, cancel = context.WithTimeout(r.Context(), limit)
				}
				defer cancel()
				next.ServeHTTP(w, r.WithContext(ctx))
			})
		})
		in := at.enter(rev2025, "")
		streams := map[string]*ear{}
		for name, r := range map[string]*request{"modern": ask("1", "subscriptions/listen", "", listenTools), "legacy": in("")} {
			_, streams[name] = at.listen(r.header("X-Limit", "X-Limit: 2s"))
		}
		for name, e := range streams {
			for event := e.next(); event != ""; event = e.next() {
			}
			if err := e.lines.Err(); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("%s, taken over %v: the stream does not end: %v", name, takeOver, err)
			}
		}
	}
}

// A large response on a connection that was taken over has one framing (L15).
func TestOneFramingOnTakenConnection(t *testing.T) {
	long := strings.Repeat("x", 5000)
	refuses := mcp.HandlerFunc(func(_ context.Context, c *mcp.Call) (mcp.Result, error) {
		return mcp.Result{}, mcp.InvalidParams("no").With(long)
	})
	h, err := streamable.NewHandler(refuses, &streamable.Options{TakeOver: true})
	if err != nil {
		t.Fatal(err)
	}
	at := fortOf(t, nil, h, func(h http.Handler) http.Handler { return h })
	s := at.dial()
	s.write(ask("1", "subscriptions/listen", "", listenTools).on(at))
	raw, err := io.ReadAll(s.r)
	if err != nil {
		t.Fatal(err)
	}
	head, body, _ := strings.Cut(string(raw), "\r\n\r\n")
	if strings.Contains(head, "Content-Length") == strings.Contains(head, "Transfer-Encoding") || !strings.Contains(body, long) {
		t.Errorf("head %q, body %q", head, body)
	}
}

// A request to the client that is given up is cancelled there (L17).
func TestGivenUpInputRequestIsCancelled(t *testing.T) {
	f := newFort(t, false, nil)
	in := f.enter(rev2025, `"elicitation":{}`)
	_, e := f.listen(in(oldTool("7", "ask", "")))
	asked := e.next()
	id := regexp.MustCompile(`"id":(\d+)`).FindStringSubmatch(asked)
	if id == nil {
		t.Fatalf("asked with %q", asked)
	}
	f.raw(in(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`).on(f))
	e.expect(`"method":"notifications/cancelled","params":{"requestId":` + id[1] + `}`)
	if rest := e.next(); rest != "" {
		t.Errorf("after the call was cancelled came %q", rest)
	}
	// A response that crossed the cancellation is dropped, which is no error.
	if a := f.raw(in(`{"jsonrpc":"2.0","id":` + id[1] + `,"result":{"action":"decline"}}`).on(f)); a.Status != 202 {
		t.Errorf("a late response: %d %s", a.Status, a.Text)
	}
}

// Ids of events tell nothing about other sessions (L31).
func TestEventIDsCountPerSession(t *testing.T) {
	var store streamable.Memory
	if err := errors.Join(store.SaveSession("a", nil, time.Hour), store.SaveSession("b", nil, time.Hour)); err != nil {
		t.Fatal(err)
	}
	for range 100 {
		store.AddEvent("a", "s", nil)
	}
	if id := store.AddEvent("b", "s", nil); id != "s-1" {
		t.Errorf("the first event of a session is %q", id)
	}
	if err := store.SaveSession("a", []byte("changed"), time.Hour); err != nil {
		t.Fatal(err)
	}
	if id := store.AddEvent("a", "other", nil); id != "other-101" {
		t.Errorf("the session's next event is %q", id)
	}
}

// A client that accepts JSON only gets JSON: notifications are left out, and
// what needs a stream is refused (L32).
func TestAcceptJSONOnly(t *testing.T) {
	f := newFort(t, false, nil)
	in := f.enter(rev2025, `"elicitation":{}`)
	batching := f.enter("2025-03-26", "")
	const token = `"params":{"_meta":{"progressToken":1},`
	count := strings.Replace(oldTool("1", "count", `"n":3,"who":"x"`), `"params":{`, token, 1)
	modern := askTool("1", "count", `"n":3,"who":"x"`).swap(`"_meta":{`, `"_meta":{"progressToken":1,`)
	only := func(r *request, accept string) *request { return r.header("Accept", "Accept: "+accept) }
	for _, c := range []struct {
		name string
		send *request
		want string
	}{
		{"modern", only(modern, "application/json"), "200 1 ok"},
		{"modern, odd case", only(modern, "Application/JSON;q=1"), "200 1 ok"},
		{"legacy", only(in(count), "application/json"), "200 1 ok"},
		{"legacy that asks", only(in(oldTool("1", "ask", "")), "application/json"), "200 1 failed"}, // the tool is told that it cannot ask
		{"modern listen", only(ask("1", "subscriptions/listen", "", listenTools), "application/json"), "406 1 -32600"},
	} {
		a := f.raw(c.send.on(f))
		if got := a.short(); got != c.want || a.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %s as %s, want %s: %s", c.name, got, a.Header.Get("Content-Type"), c.want, a.Text)
		}
	}
	if a := f.raw(only(batching("["+count+"]"), "application/json").on(f)); a.Header.Get("Content-Type") != "application/json" || strings.Contains(a.Text, "progress\"") {
		t.Errorf("batch: %s", a.Text)
	}
	for _, accept := range []string{"text/event-stream, application/json", "*/*", "application/json, Text/Event-Stream"} {
		if a := f.raw(only(modern, accept).on(f)); a.Header.Get("Content-Type") != "text/event-stream" {
			t.Errorf("%s: %s", accept, a.Header.Get("Content-Type"))
		}
	}
	if a := f.raw(modern.header("Accept").on(f)); a.Header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("without Accept: %s", a.Header.Get("Content-Type"))
	}
}

// A response that reaches an instance that has not asked is refused, never
// dropped, and does not end the session; the instance that asked still takes it
// (L36).
func TestResponseAtAnotherInstanceIsRefused(t *testing.T) {
	var store streamable.Memory
	one, two := newFort(t, false, &streamable.Options{Store: &store}), newFort(t, false, &streamable.Options{Store: &store})
	in := one.enter(rev2025, `"elicitation":{}`)
	answer := func(e *ear) string {
		asked := e.next()
		id := regexp.MustCompile(`"id":(\d+)`).FindStringSubmatch(asked)
		if id == nil {
			t.Fatalf("asked with %q", asked)
		}
		return `{"jsonrpc":"2.0","id":` + id[1] + `,"result":{"action":"accept","content":{"name":"Ada"}}}`
	}
	_, first := one.listen(in(oldTool("1", "ask", "")))
	_, second := two.listen(in(oldTool("2", "ask", "")))
	toOne, toTwo := answer(first), answer(second)
	batching := one.enter("2025-03-26", "")
	for _, r := range []*request{in(toOne), batching("[" + toOne + "]"), batching("[" + toOne + "," + oldTool("9", "admin", "") + "]")} {
		a := two.raw(r.on(two))
		if a.Status != http.StatusMisdirectedRequest || !strings.Contains(a.Text, "Mcp-Session-Id") {
			t.Errorf("%s: the wrong instance says %d %s", r.body, a.Status, a.Text)
		}
	}
	for at, body := range map[*fort]string{one: toOne, two: toTwo} {
		if a := at.raw(in(body).on(at)); a.Status != 202 {
			t.Errorf("the right instance says %d %s", a.Status, a.Text)
		}
	}
	first.expect("You are Ada")
	second.expect("You are Ada")
	if one.ran.Load()+two.ran.Load() != 0 {
		t.Error("a part of a refused batch was served")
	}
}

// A session that was restored belongs to its principal as before: news is told
// to those who may know of it (L3).
func TestRestoredSessionKeepsPrincipal(t *testing.T) {
	s := server.New(mcp.Implementation{Name: "news", Version: "1"}, &server.Options{
		Allow: func(c *mcp.Caller, _ server.Feature) bool { return c.Principal != nil && c.Principal.ID == "ada" },
	})
	run := func(context.Context, *mcp.Call, struct{}) (string, error) { return "", nil }
	server.AddTool(s, "one", "", run, nil)
	var store streamable.Memory
	who := func(r *http.Request) *mcp.Principal { return &mcp.Principal{ID: r.Header.Get("X-User")} }
	instance := func() *fort {
		h, err := streamable.NewHandler(s, &streamable.Options{Store: &store, Principal: who})
		if err != nil {
			t.Fatal(err)
		}
		return fortOf(t, nil, h, func(h http.Handler) http.Handler { return h })
	}
	one, two := instance(), instance()
	in := one.enter(rev2025, "", "X-User: ada")
	_, e := two.listen(in(""))
	e.lines.Scan() // the first event is there, so news is listened for
	server.AddTool(s, "two", "", run, nil)
	e.expect(mcp.NotificationToolsListChanged)
}

// An error does not repeat more of a request than is of use (L28).
func TestLongHeadersAreNotRepeated(t *testing.T) {
	f := newFort(t, false, nil)
	long := strings.Repeat("9", 1<<20)
	for name, r := range map[string]*request{
		"version": askEcho().swap(`"2026-07-28"`, `"`+long+`"`),
		"method":  askEcho().swap(`"tools/call"`, `"`+long+`"`),
		"name":    askEcho().header("Mcp-Name", "Mcp-Name: "+long[:50_000]),
	} {
		a := f.raw(r.on(f))
		if a.Status != 400 || code(t, a.Text) != mcp.CodeHeaderMismatch || len(a.Text) > 4<<10 {
			t.Errorf("%s: %d, %d bytes: %.200s", name, a.Status, len(a.Text), a.Text)
		}
	}
}

// newBalancer serves each request by the next of the handlers.
func newBalancer(t *testing.T, to ...http.Handler) (url string) {
	t.Helper()
	var next atomic.Int64
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		to[int(next.Add(1))%len(to)].ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	return web.URL
}

// The operator is told of what is refused and what fails, and of nothing that
// is secret.
func TestLogger(t *testing.T) {
	var said lockedBuffer
	store := &hookedStore{before: func(state string) error {
		if strings.Contains(state, "debug") {
			return errors.New("the store is away")
		}
		return nil
	}}
	panics := tools{"panic": func(context.Context, *mcp.Call) (string, error) { panic(canary) }}
	h, err := streamable.NewHandler(panics, &streamable.Options{
		Logger:    slog.New(slog.NewTextHandler(&said, nil)),
		Store:     store,
		Principal: func(r *http.Request) *mcp.Principal { return &mcp.Principal{ID: r.Header.Get("X-User")} },
	})
	if err != nil {
		t.Fatal(err)
	}
	at := fortOf(t, nil, h, func(h http.Handler) http.Handler { return h })
	const secret = "s3cr3t"
	in := at.enter(rev2025, "", "X-User: ada", "Authorization: Bearer "+secret)
	said.mu.Lock()
	said.b.Reset()
	said.mu.Unlock()
	for _, c := range []struct {
		name string
		send *request
		want []string
	}{
		{"Host", askEcho().header("Host", "Host: evil.example"), []string{"level=WARN", `Host \"evil.example\" is not allowed`, "status=403", "remote=127.0.0.1:"}},
		{"Origin", askEcho().header("Origin", "Origin: https://evil.example"), []string{"level=WARN", `Origin \"https://evil.example\" is not allowed`}},
		{"no JSON", askEcho().whole(`{"` + secret), []string{"level=WARN", "invalid message"}},
		{"headers that disagree", askEcho().header("Mcp-Name", "Mcp-Name: "+secret), []string{"level=WARN", "headers and body disagree"}},
		{"somebody else's session", in(oldTool("1", "panic", "")).header("X-User", "X-User: bob"), []string{"level=WARN", "session refused", "another principal"}},
		{"a panic", askTool("1", "panic", `"key":"`+secret+`"`), []string{"level=ERROR", canary}},
		{"a store that fails", in(setDebug), []string{"level=ERROR", "session not saved", "the store is away"}},
	} {
		at.raw(c.send.on(at))
		text := said.String()
		for _, part := range c.want {
			if !strings.Contains(text, part) {
				t.Errorf("%s: %q has no %q", c.name, text, part)
			}
		}
		if strings.Contains(text, secret) || strings.Contains(text, sessionID(in("x"))) {
			t.Errorf("%s: a secret is in %q", c.name, text)
		}
		said.mu.Lock()
		said.b.Reset()
		said.mu.Unlock()
	}
}

// A client that the server refuses because of its Host is told that, and
// nothing about authorization (L40).
func TestRefusedHostIsNamed(t *testing.T) {
	h := newHouse(t, tools{}, nil)
	_, err := client.Dial(t.Context(), &streamclient.Endpoint{URL: h.url, Header: http.Header{"Host": {"mcp.example"}}}, nil)
	if err == nil || !strings.Contains(err.Error(), `Host "mcp.example" is not allowed: add it to Options.Hosts`) || strings.Contains(err.Error(), "authorization") {
		t.Errorf("%v", err)
	}
}

// Where the response to an input request reaches the wrong instance, our own
// client fails the call with the reason, and cancels it at the server (L36).
func TestClientLearnsOfMisroutedResponse(t *testing.T) {
	var store streamable.Memory
	cancelled := make(chan struct{})
	var once sync.Once
	instance := func() http.Handler {
		asks := tools{"ask": func(ctx context.Context, c *mcp.Call) (string, error) {
			context.AfterFunc(ctx, func() { once.Do(func() { close(cancelled) }) })
			_, err := c.Ask("roots", mcp.RootsRequest())
			return "", err
		}}
		h, err := streamable.NewHandler(asks, &streamable.Options{Store: &store, Era: era.ServerOptions{LegacyOnly: true}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(h.Shutdown)
		return h
	}
	one, two := instance(), instance()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		if bytes.Contains(body, []byte(`"result"`)) {
			two.ServeHTTP(w, r)
		} else {
			one.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(web.Close)
	c, err := client.Dial(t.Context(), &streamclient.Endpoint{URL: web.URL}, &client.Options{Roots: func(context.Context) ([]mcp.Root, error) { return nil, nil }})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.CallTool(t.Context(), "ask", nil, nil); err == nil || !strings.Contains(err.Error(), "421") || !strings.Contains(err.Error(), "sent by this instance") {
		t.Errorf("the call fails with %v", err)
	}
	select {
	case <-cancelled:
	case <-time.After(time.Minute):
		t.Error("the call was not cancelled at the server")
	}
}

// The state of a call that asks for input is good at every instance with the
// same keys, at the old and the new one while keys are replaced, and at no
// other.
func TestStateAtAnotherInstance(t *testing.T) {
	keys := func(secrets ...string) era.ServerOptions {
		var raw [][]byte
		for _, s := range secrets {
			raw = append(raw, []byte(strings.Repeat(s, 16)))
		}
		k, err := era.NewKeys(0, raw...)
		if err != nil {
			t.Fatal(err)
		}
		return era.ServerOptions{Keys: k}
	}
	at := func(o era.ServerOptions) *fort { return newFort(t, false, &streamable.Options{Era: o}) }
	one := at(keys("a"))
	state := askedState(t, one)
	for name, c := range map[string]struct {
		at   *fort
		want string
	}{
		"same":     {at(keys("a")), "200 1 ok"},
		"rotating": {at(keys("b", "a")), "200 1 ok"},
		"rotated":  {at(keys("b")), "400 1 -32602"},
		"random":   {at(keys()), "400 1 -32602"},
	} {
		for range 2 { // it is good until it expires
			if a := c.at.raw(asking(state).on(c.at)); a.short() != c.want {
				t.Errorf("%s: %s, want %s: %s", name, a.short(), c.want, a.Text)
			}
		}
	}
}

// A session that one instance has ended is ended at the others with its next
// request, and so are the calls in it.
func TestSessionEndedAtAnotherInstance(t *testing.T) {
	var store streamable.Memory
	one, two := newFort(t, false, &streamable.Options{Store: &store}), newFort(t, false, &streamable.Options{Store: &store})
	in := one.enter(rev2025, "")
	s := one.dial()
	s.write(in(oldGated("1", "a", 2)).on(one))
	<-one.began
	if a := two.raw(in("").method("DELETE").on(two)); a.Status != 204 {
		t.Fatalf("DELETE: %d", a.Status)
	}
	if a := one.raw(in(oldTool("2", "echo", "")).on(one)); a.Status != 404 {
		t.Errorf("afterwards: %d", a.Status)
	}
	select {
	case <-one.cancelled:
	case <-time.After(time.Minute):
		t.Error("the call goes on")
	}
}
