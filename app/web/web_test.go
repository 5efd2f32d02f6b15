package web

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/connect"
	"github.com/tenon-mcp/tenon/app/llm/keyword"
	"github.com/tenon-mcp/tenon/app/workspace"
	"github.com/tenon-mcp/tenon/builtin/calc"
	"github.com/tenon-mcp/tenon/builtin/demo"
	"github.com/tenon-mcp/tenon/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// A site is a page on a port, and one browser that was let in.
type site struct {
	t      *testing.T
	web    *Server
	work   *workspace.Workspace
	http   *httptest.Server
	cookie *http.Cookie
	dir    string // of the workspace

	mu     sync.Mutex
	states []connect.State // all that were told
	opened []string        // pages that a browser would show
}

// newSite has calc, which is ready, and more servers, which may not be.
func newSite(t *testing.T, o *Options, more ...config.Server) *site {
	t.Helper()
	return newSiteIn(t, t.TempDir(), o, config.Settings{}, more...)
}

func newSiteIn(t *testing.T, dir string, o *Options, settings config.Settings, more ...config.Server) *site {
	t.Helper()
	s := &site{t: t, web: New(o), dir: dir}
	var err error
	s.work, err = workspace.Open(workspace.Options{
		Dir: dir, Settings: settings, Model: keyword.Model{}, Event: s.web.Event, State: s.state,
		OpenPage: func(_, page string) error {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.opened = append(s.opened, page)
			return nil
		},
		Servers: append([]config.Server{{Name: "calc", Kind: config.Builtin, Builtin: "calc"}}, more...),
		Builtin: func(name string, _ url.Values) (connect.Builtin, error) {
			if name == "demo" {
				return demo.New(demo.Config{})
			}
			return calc.New(calc.Config{})
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.web.Show(s.work)
	s.http = httptest.NewServer(s.web)
	t.Cleanup(func() {
		s.web.Close()
		s.http.CloseClientConnections()
		s.http.Close()
		if err := s.work.Close(); err != nil {
			t.Error(err)
		}
	})
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
	defer stop()
	if err := s.work.Ready(ctx, "calc"); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *site) state(e connect.State) {
	s.mu.Lock()
	s.states = append(s.states, e)
	s.mu.Unlock()
	s.web.State(e)
}

// enter logs in.
func (s *site) enter() *site {
	s.t.Helper()
	r := s.do(request{method: "POST", path: "/api/v1/login", body: `{"token":"` + s.web.Token() + `"}`})
	if r.status != http.StatusOK || len(r.cookies) != 1 {
		s.t.Fatalf("the login was answered with %d and %d cookies", r.status, len(r.cookies))
	}
	s.cookie = r.cookies[0]
	return s
}

type request struct {
	method, path, body, host string
	header                   map[string]string
	noCookie, noOrigin       bool
}

type reply struct {
	status  int
	header  http.Header
	body    string
	cookies []*http.Cookie
}

// do makes a request exactly as it is said.
func (s *site) do(q request) reply {
	s.t.Helper()
	if q.method == "" {
		q.method = "GET"
	}
	r, err := http.NewRequestWithContext(s.t.Context(), q.method, s.http.URL+q.path, strings.NewReader(q.body))
	if err != nil {
		s.t.Fatal(err)
	}
	if q.method == "POST" {
		r.Header.Set("Content-Type", "application/json")
	}
	if q.method == "POST" && !q.noOrigin {
		r.Header.Set("Origin", s.http.URL)
	}
	for name, value := range q.header {
		r.Header.Set(name, value)
	}
	if q.host != "" {
		r.Host = q.host
	}
	if s.cookie != nil && !q.noCookie {
		r.AddCookie(s.cookie)
	}
	a, err := (&http.Client{Transport: s.http.Client().Transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}).Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer a.Body.Close()
	data, err := io.ReadAll(a.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return reply{a.StatusCode, a.Header, string(data), a.Cookies()}
}

func (s *site) get(path string, into any) {
	s.t.Helper()
	r := s.do(request{path: path})
	if r.status != http.StatusOK {
		s.t.Fatalf("GET %s: %d %s", path, r.status, r.body)
	}
	if err := json.Unmarshal([]byte(r.body), into); err != nil {
		s.t.Fatalf("GET %s: %v", path, err)
	}
}

func (s *site) post(path, body string, into any) {
	s.t.Helper()
	r := s.do(request{method: "POST", path: path, body: body})
	if r.status != http.StatusOK {
		s.t.Fatalf("POST %s: %d %s", path, r.status, r.body)
	}
	if into == nil {
		return
	}
	if err := json.Unmarshal([]byte(r.body), into); err != nil {
		s.t.Fatalf("POST %s: %v", path, err)
	}
}

// Every route answers, and its answer has the members that docs/api.md names.
func TestAnswers(t *testing.T) {
	s := newSite(t, nil).enter()
	for path, members := range map[string]string{
		"/api/v1/state":                "version feed wire servers sessions busy asks revisions only can model",
		"/api/v1/servers/calc":         "name kind phase transport server capabilities tools resources templates prompts problems handshake",
		"/api/v1/servers/calc/process": "pid memory started stderr",
		"/api/v1/servers/calc/logs":    "lines",
		"/api/v1/wire":                 "messages next last kept",
		"/api/v1/wire/1":               "summary frame fields problems describe raw",
		"/api/v1/sessions":             "sessions",
		"/api/v1/tools":                "tools",
		"/api/v1/models":               "models",
	} {
		var got map[string]any
		s.get(path, &got)
		for _, m := range strings.Fields(members) {
			if _, ok := got[m]; !ok {
				t.Errorf("GET %s has no member %s", path, m)
			}
		}
	}
}

// A call returns at once; its end is told by the stream, from where the page
// says it was.
func TestCallIsToldByTheStream(t *testing.T) {
	s := newSite(t, nil).enter()
	var begun struct{ ID, Phase string }
	s.post("/api/v1/servers/calc/call", `{"tool":"add","arguments":{"a":20,"b":22}}`, &begun)
	if begun.Phase != "running" || begun.ID == "" {
		t.Fatalf("the call began as %+v", begun)
	}
	for e := range s.stream("?feed=0&wire=0") {
		if e.kind == "call" && strings.Contains(e.data, begun.ID) && strings.Contains(e.data, `"phase":"done"`) {
			if !strings.Contains(e.data, `{"result":42}`) {
				t.Errorf("the result was told as %s", e.data)
			}
			return
		}
	}
	t.Error("the stream ended before the call")
}

type event struct{ kind, id, data string }

// stream reads events until the reader has enough.
func (s *site) stream(query string) func(func(event) bool) {
	return func(yield func(event) bool) {
		ctx, stop := context.WithTimeout(s.t.Context(), 30*time.Second)
		defer stop()
		r, err := http.NewRequestWithContext(ctx, "GET", s.http.URL+"/api/v1/events"+query, nil)
		if err != nil {
			s.t.Fatal(err)
		}
		r.AddCookie(s.cookie)
		a, err := s.http.Client().Do(r)
		if err != nil {
			s.t.Fatal(err)
		}
		defer a.Body.Close()
		if a.StatusCode != http.StatusOK || a.Header.Get("Content-Type") != "text/event-stream" {
			s.t.Fatalf("the stream was answered with %d", a.StatusCode)
		}
		buf, rest := make([]byte, 64<<10), ""
		for {
			n, err := a.Body.Read(buf)
			rest += string(buf[:n])
			for {
				block, more, ok := strings.Cut(rest, "\n\n")
				if !ok {
					break
				}
				rest = more
				var e event
				for line := range strings.Lines(block) {
					name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
					switch name {
					case "event":
						e.kind = value
					case "id":
						e.id = value
					case "data":
						e.data = value
					}
				}
				if e.kind != "" && !yield(e) {
					return
				}
			}
			if err != nil {
				return
			}
		}
	}
}

// A page that was away for too long is told so, and gets no events out of
// order.
func TestStreamTellsOfGaps(t *testing.T) {
	s := newSite(t, nil).enter()
	for range 3 * feedSize {
		s.web.feed.put("fault", map[string]string{"error": "x"})
	}
	for e := range s.stream("?feed=1&wire=0") {
		switch e.kind {
		case "gap":
			return
		case "fault":
			t.Fatalf("event %s came without word of the gap", e.id)
		}
	}
}

// A page gets a large event by its number, in its place among the others.
func TestLargeEvents(t *testing.T) {
	s := newSite(t, nil).enter()
	first := s.web.feed.last()
	long := `{"text":"` + strings.Repeat("x", 1000) + `"}`
	s.web.feed.put("fault", json.RawMessage(`{"n":1}`))
	s.web.feed.put("fault", json.RawMessage(long))
	s.web.feed.put("fault", json.RawMessage(`{"n":3}`))
	var got []string
	for e := range s.stream(fmt.Sprintf("?feed=%d&wire=0&most=1000", first)) {
		switch e.kind {
		case "large":
			var at struct {
				Kind string
				Seq  uint64
			}
			if err := json.Unmarshal([]byte(e.data), &at); err != nil || at.Kind != "fault" {
				t.Fatal(e.data, err)
			}
			r := s.do(request{path: fmt.Sprintf("/api/v1/events/%d", at.Seq)})
			if r.status != http.StatusOK {
				t.Fatal(r.status, r.body)
			}
			got = append(got, strings.TrimSpace(r.body))
		case "fault":
			got = append(got, e.data)
		}
		if len(got) == 3 {
			break
		}
	}
	if want := []string{`{"n":1}`, long, `{"n":3}`}; !slices.Equal(got, want) {
		t.Errorf("events %q", got)
	}
	for path, status := range map[string]int{"x": 400, "0": 400, "1000000": 404} {
		if r := s.do(request{path: "/api/v1/events/" + path}); r.status != status {
			t.Errorf("event %s: %d instead of %d", path, r.status, status)
		}
	}
}

// What a stream says goes on where Last-Event-ID says that it was.
func TestStreamResumes(t *testing.T) {
	s := newSite(t, nil).enter()
	first := s.web.feed.last()
	for i := range 10 {
		s.web.feed.put("fault", map[string]int{"n": i})
	}
	q := httptest.NewRequest("GET", "/api/v1/events?feed=0&wire=0", nil)
	q.Header.Set("Last-Event-ID", "7-9")
	if feed, wire := s.web.positions(q); feed != 7 || wire != 9 {
		t.Errorf("it goes on at %d and %d", feed, wire)
	}
	// News of the servers may stand between: it comes when it comes.
	faults := func(since uint64) (all []feedEvent, gap bool) {
		all, gap = s.web.feed.since(since, 100)
		return slices.DeleteFunc(all, func(e feedEvent) bool { return e.kind != "fault" }), gap
	}
	all, gap := faults(first)
	if gap || len(all) != 10 {
		t.Fatalf("of 10 events %d are there (gap %v)", len(all), gap)
	}
	events, gap := faults(all[3].seq)
	if gap || len(events) != 6 || string(events[0].data) != `{"n":4}` {
		t.Errorf("after a break come %d events (gap %v): %v", len(events), gap, events)
	}
}

// A recording that was saved can be loaded, and is shown under its own name.
func TestSaveAndLoad(t *testing.T) {
	s := newSite(t, nil).enter()
	r := s.do(request{path: "/api/v1/wire/save?server=calc"})
	if r.status != http.StatusOK || !strings.Contains(r.body, "server/discover") || !strings.HasPrefix(r.header.Get("Content-Disposition"), "attachment") {
		t.Fatalf("saved with %d: %.200s", r.status, r.body)
	}
	back := s.do(request{method: "POST", path: "/api/v1/wire/load", body: r.body, header: map[string]string{"Content-Type": "application/x-txtar"}})
	var got struct {
		Server   string
		Messages int
	}
	if err := json.Unmarshal([]byte(back.body), &got); err != nil || got.Messages < 2 || got.Server == "calc" {
		t.Errorf("loaded as %s (%v)", back.body, err)
	}
	if nothing := s.do(request{path: "/api/v1/wire/save?server=nobody"}); nothing.status != http.StatusNotFound {
		t.Errorf("saving nothing was answered with %d", nothing.status)
	}
}

// The process that a server is can only be one of the configuration: the API
// has no word for a command.
func TestNoRouteTakesACommand(t *testing.T) {
	s := newSite(t, nil).enter()
	for _, path := range []string{"/api/v1/connect?transport=stdio&command=touch&args=MARKER", "/api/connect?command=touch", "/sse?transportType=stdio&command=touch", "/api/v1/servers", "/api/v1/servers/new"} {
		for _, method := range []string{"GET", "POST"} {
			r := s.do(request{method: method, path: path, body: `{"command":"touch","args":["MARKER"],"name":"new"}`})
			if r.status < 400 {
				t.Errorf("%s %s was answered with %d", method, path, r.status)
			}
		}
	}
	if n := len(s.work.Fleet.All()); n != 1 {
		t.Errorf("there are %d servers now", n)
	}
}

// A server is started only as the person has seen it.
func TestApprovalNeedsThePin(t *testing.T) {
	var approved []string
	s := newSite(t, &Options{
		Pending: func() []Pending { return []Pending{{Name: "x", Pin: "abc", Command: "npx x"}} },
		Approve: func(_ context.Context, name, pin string) error {
			approved = append(approved, name+" "+pin)
			return nil
		},
	}).enter()
	if r := s.do(request{method: "POST", path: "/api/v1/pending/x", body: `{}`}); r.status != http.StatusBadRequest {
		t.Errorf("without a pin: %d", r.status)
	}
	s.post("/api/v1/pending/x", `{"pin":"abc"}`, nil)
	if len(approved) != 1 || approved[0] != "x abc" {
		t.Errorf("approved: %q", approved)
	}
}

// The log keeps 100,000 messages at most, and the page gets them in pieces.
func TestManyMessages(t *testing.T) {
	s := newSite(t, nil).enter()
	wire := s.work.Log.Wire("flood")
	for range 120_000 {
		wire.Event("x")
	}
	var got struct {
		Kept     int
		Next     uint64
		Messages []summary
	}
	s.get("/api/v1/wire?limit=999999", &got)
	if got.Kept != 100_000 || len(got.Messages) != 1000 || got.Next == 0 {
		t.Errorf("%d are kept, %d were sent, next is %d", got.Kept, len(got.Messages), got.Next)
	}
}

func TestWebAddress(t *testing.T) {
	for address, ok := range map[string]bool{
		"https://auth.example.com/authorize?x=1": true, "http://127.0.0.1:9/a": true, "http://localhost/a": true, "http://[::1]:8/": true,
		"javascript:alert(1)": false, "JaVaScRiPt:alert(1)": false, "data:text/html,<script>": false, "file:///etc/passwd": false,
		"http://10.0.0.1/": false, "http://example.com/": false, "https://user:pw@example.com/": false, "//example.com": false, "": false, "vbscript:x": false,
	} {
		if got := webAddress(address); (got != "") != ok {
			t.Errorf("%q is let through as %q", address, got)
		}
	}
	st := summaryOf(connect.State{Phase: connect.NeedsLogin, Page: "javascript:fetch('//evil')"})
	if st.Page != "" {
		t.Errorf("the page to log in at is %q", st.Page)
	}
}
