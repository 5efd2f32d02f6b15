package streamable_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
	"github.com/tenon-mcp/tenon/transport/streamable"
)

// A call that says nothing on the side is answered with JSON, always: the
// answer once lost a race against the end of the stream that never began.
func TestSilentCallIsAnswered(t *testing.T) {
	h := newHouse(t, tools{"quick": func(context.Context, *mcp.Call) (string, error) { return "done", nil }}, nil)
	named := h.session(mcp.Rev20251125)
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			for i := range 50 {
				res := h.send("POST", tool(fmt.Sprint(worker*1000+i+1), "quick"), named...)
				if text := h.text(res); !strings.Contains(text, "done") || res.Header.Get("Content-Type") != "application/json" {
					t.Errorf("%s %s: %q", res.Status, res.Header.Get("Content-Type"), text)
				}
			}
		})
	}
	all.Wait()
}

// Cancelled means silent: no answer, and no empty event either.
func TestCancelledCallIsSilent(t *testing.T) {
	began := make(chan bool, 1)
	wait := func(tell bool) func(ctx context.Context, c *mcp.Call) (string, error) {
		return func(ctx context.Context, c *mcp.Call) (string, error) {
			if tell {
				logs(c)
			}
			began <- true
			<-ctx.Done()
			return "", ctx.Err()
		}
	}
	h := newHouse(t, tools{"wait": wait(false), "tell": wait(true)}, nil)
	named := h.session(mcp.Rev20251125)
	for _, c := range []struct {
		tool   string
		status int
		events int // with a message
	}{
		{"wait", http.StatusAccepted, 0},
		{"tell", http.StatusOK, 1},
	} {
		var cancel sync.WaitGroup
		cancel.Go(func() {
			<-began
			h.send("POST", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"x"}}`, named...)
		})
		res := h.send("POST", tool(`"x"`, c.tool), named...)
		text := h.text(res)
		cancel.Wait()
		if n := strings.Count(text, "data: {"); res.StatusCode != c.status || n != c.events || strings.Contains(text, `"id":"x"`) {
			t.Errorf("%s: %s with %d events: %q", c.tool, res.Status, n, text)
		}
		if n := strings.Count(text, "id: "); n != 2*c.events {
			t.Errorf("%s: %d events in all: %q", c.tool, n, text)
		}
	}
}

// A handler may let the client go; a client that knows how comes back for the
// answer, and all others never notice.
func TestRelease(t *testing.T) {
	t.Run("freed", func(t *testing.T) { testRelease(t, false) })
	t.Run("cut off", func(t *testing.T) { testRelease(t, true) })
}

func testRelease(t *testing.T, takeOver bool) {
	answer := make(chan bool, 1)
	h := newHouse(t, tools{"release": func(ctx context.Context, c *mcp.Call) (string, error) {
		c.Release()
		select {
		case <-answer:
		case <-ctx.Done():
		}
		return "late", nil
	}}, &streamable.Options{TakeOver: takeOver})

	named := h.session(mcp.Rev20251125)
	text := h.text(h.send("POST", tool("7", "release"), named...))
	id, _, _ := strings.Cut(strings.TrimPrefix(text, "id: "), "\n")
	if !strings.HasPrefix(text, "id: ") || !strings.Contains(text, "\nretry: ") || strings.Contains(text, "tenon/release") || strings.Contains(text, "late") {
		t.Fatalf("the stream was %q", text)
	}
	answer <- true
	back := append([]string{"Accept", "text/event-stream", "Last-Event-Id", id}, named...)
	if text := h.text(h.send("GET", "", back...)); strings.Count(text, "data: ") != 1 || !strings.Contains(text, `"id":7,"result"`) || !strings.Contains(text, "late") {
		t.Errorf("who came back heard %q", text)
	}
	if text := h.text(h.send("GET", "", back...)); !strings.Contains(text, `"id":7,"result"`) {
		t.Errorf("who came back again, after the end, heard %q", text)
	}
	if res := h.send("DELETE", "", named...); res.StatusCode != 204 {
		t.Errorf("DELETE: %s", res.Status)
	}
	if res := h.send("GET", "", back...); res.StatusCode != 404 {
		t.Errorf("GET after DELETE: %s", res.Status)
	}

	answer <- true
	res := h.send("POST", tool("7", "release"), h.session(mcp.Rev20250618)...)
	if text := h.text(res); res.Header.Get("Content-Type") != "application/json" || !strings.Contains(text, "late") {
		t.Errorf("older revision: %s %q", res.Status, text)
	}
	answer <- true
	body, headers := newTool("7", "release", "{}")
	res = h.send("POST", body, headers...)
	if text := h.text(res); res.Header.Get("Content-Type") != "application/json" || !strings.Contains(text, "late") {
		t.Errorf("newest revision: %s %q", res.Status, text)
	}
}

// A client that has lost its stream of changes gets another at once, although
// the server has not noticed yet, and the changes with it.
func TestLastListenerHears(t *testing.T) {
	s := server.New(mcp.Implementation{Name: "news", Version: "1"}, nil)
	run := func(context.Context, *mcp.Call, struct{}) (string, error) { return "", nil }
	server.AddTool(s, "one", "", run, nil)
	h := newHouse(t, s, nil)
	named := append([]string{"Accept", "text/event-stream"}, h.session(mcp.Rev20251125)...)
	first := h.send("GET", "", named...)
	second := h.send("GET", "", named...)
	if first.StatusCode != 200 || second.StatusCode != 200 {
		t.Fatalf("%s, %s", first.Status, second.Status)
	}
	h.text(first) // which ends
	lines := bufio.NewScanner(second.Body)
	lines.Scan() // the first event is there, so news is listened for
	server.AddTool(s, "two", "", run, nil)
	for lines.Scan() {
		if strings.Contains(lines.Text(), mcp.NotificationToolsListChanged) {
			return
		}
	}
	t.Errorf("no news came: %v", lines.Err())
}

// A panic costs the one call, and nobody hears what it said.
func TestPanicCostsOneCall(t *testing.T) {
	h := newHouse(t, tools{
		"panics": func(context.Context, *mcp.Call) (string, error) { panic("a secret") },
		"works":  func(context.Context, *mcp.Call) (string, error) { return "fine", nil },
	}, nil)
	named := h.session(mcp.Rev20251125)
	newPanics, newHeaders := newTool("1", "panics", "{}")
	for name, text := range map[string]string{
		"older":  h.text(h.send("POST", tool("1", "panics"), named...)),
		"newest": h.text(h.send("POST", newPanics, newHeaders...)),
	} {
		if code(t, text) != mcp.CodeInternal || strings.Contains(text, "secret") {
			t.Errorf("%s: %s", name, text)
		}
	}
	if text := h.text(h.send("POST", tool("2", "works"), named...)); !strings.Contains(text, "fine") {
		t.Errorf("afterwards: %s", text)
	}
}

// Shutdown ends what stays open by itself, and lets calls come to their end:
// the client may still answer what they ask.
func TestShutdown(t *testing.T) {
	question, err := mcp.ElicitRequest(&mcp.ElicitParams{Message: "Sure?", RequestedSchema: []byte(`{"type":"object","properties":{}}`)})
	if err != nil {
		t.Fatal(err)
	}
	h := newHouse(t, tools{"asks": func(_ context.Context, c *mcp.Call) (string, error) {
		_, err := c.Ask("sure", question)
		return "answered", err
	}}, nil)
	named := h.session(mcp.Rev20251125)
	news := h.send("GET", "", append([]string{"Accept", "text/event-stream"}, named...)...)
	call := h.send("POST", tool("1", "asks"), named...)
	lines := bufio.NewScanner(call.Body)
	for lines.Scan() && !strings.Contains(lines.Text(), "elicitation/create") {
	}
	id := rawjson.Lookup([]byte(strings.TrimPrefix(lines.Text(), "data: ")), "id")
	h.h.Shutdown()
	if _, err := io.ReadAll(news.Body); err != nil {
		t.Errorf("the news did not end well: %v", err)
	}
	if res := h.send("POST", tool("2", "asks"), named...); res.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("a new request: %s", res.Status)
	}
	if res := h.send("GET", "", append([]string{"Accept", "text/event-stream"}, named...)...); res.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("a new stream: %s", res.Status)
	}
	if res := h.send("POST", `{"jsonrpc":"2.0","id":`+string(id)+`,"result":{"action":"accept","content":{}}}`, named...); res.StatusCode != http.StatusAccepted {
		t.Errorf("an answer: %s", res.Status)
	}
	for lines.Scan() {
		if strings.Contains(lines.Text(), `"id":1,"result"`) && strings.Contains(lines.Text(), "answered") {
			return
		}
	}
	t.Errorf("the call was not answered: %v", lines.Err())
}

// Which method may be used, and when.
func TestHTTPMethods(t *testing.T) {
	h := newHouse(t, tools{}, nil)
	const sse = "text/event-stream"
	for _, c := range []struct {
		name, method string
		headers      []string
		want         int
	}{
		{"GET without a session", "GET", []string{"Accept", sse}, 400},
		{"GET of an unknown session", "GET", []string{"Accept", sse, "Mcp-Session-Id", "x"}, 404},
		{"GET of a page", "GET", []string{"Accept", "text/html"}, 405},
		{"GET in the newest revision", "GET", []string{"Accept", sse, "Mcp-Protocol-Version", string(mcp.Rev20260728)}, 405},
		{"DELETE without a session", "DELETE", nil, 400},
		{"DELETE of an unknown session", "DELETE", []string{"Mcp-Session-Id", "x"}, 404},
		{"DELETE in the newest revision", "DELETE", []string{"Mcp-Protocol-Version", string(mcp.Rev20260728)}, 405},
		{"PUT", "PUT", nil, 405},
		{"OPTIONS without CORS", "OPTIONS", nil, 405},
	} {
		res := h.send(c.method, "", c.headers...)
		if res.StatusCode != c.want || c.want == 405 && !strings.Contains(res.Header.Get("Allow"), "POST") {
			t.Errorf("%s: %s, Allow %q", c.name, res.Status, res.Header.Get("Allow"))
		}
	}
}

// A subscription of the newest revision has no place in a session, where it
// would stay open for ever.
func TestListenInASession(t *testing.T) {
	h := newHouse(t, tools{}, nil)
	named := h.session(mcp.Rev20251125)
	for _, method := range []string{mcp.MethodSubscriptionsListen, mcp.MethodDiscover} {
		text := h.text(h.send("POST", `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":{"notifications":{}}}`, named...))
		if code(t, text) != mcp.CodeMethodNotFound {
			t.Errorf("%s: %s", method, text)
		}
	}
}

// The arguments that stand in headers are compared with those in the body.
func TestParamHeaders(t *testing.T) {
	s := server.New(mcp.Implementation{Name: "headers", Version: "1"}, nil)
	type args struct {
		Region string `json:"region,omitempty" schema:"header=Region"`
	}
	server.AddTool(s, "place", "", func(_ context.Context, _ *mcp.Call, in args) (string, error) { return in.Region, nil }, nil)
	h := newHouse(t, s, nil)
	for _, c := range []struct {
		args   string
		header []string
		status int
	}{
		{`{"region":"eu"}`, []string{"Mcp-Param-Region", "eu"}, 200},
		{`{"region":"eu"}`, []string{"mcp-param-region", " eu "}, 200},
		{`{"region":"eu"}`, []string{"Mcp-Param-Region", "=?base64?ZXU=?="}, 200},
		{`{"region":"eu"}`, []string{"Mcp-Param-Region", "=?base64?ZXU?="}, 400},
		{`{"region":"eu"}`, []string{"Mcp-Param-Region", "us"}, 400},
		{`{"region":"eu"}`, nil, 400},
		{`{}`, nil, 200},
		{`{}`, []string{"Mcp-Param-Region", "eu"}, 400},
		{`{}`, []string{"Mcp-Param-Other", "eu"}, 200},
	} {
		body, headers := newTool(`"a"`, "place", c.args)
		res := h.send("POST", body, append(headers, c.header...)...)
		text := h.text(res)
		if res.StatusCode != c.status || (code(t, text) == mcp.CodeHeaderMismatch) != (c.status == 400) || !strings.Contains(text, `"id":"a"`) {
			t.Errorf("%s with %q: %s %s", c.args, c.header, res.Status, text)
		}
	}
	// A session has no such headers.
	if text := h.text(h.send("POST", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"place","arguments":{"region":"eu"}}}`, h.session(mcp.Rev20251125)...)); code(t, text) != 0 {
		t.Errorf("in a session: %s", text)
	}
}

// A page may send the headers that its tools want.
func TestPreflight(t *testing.T) {
	h := newHouse(t, tools{}, &streamable.Options{Origins: []string{"https://app.example"}, CORS: true})
	res := h.send("OPTIONS", "", "Origin", "https://app.example", "Access-Control-Request-Method", "POST",
		"Access-Control-Request-Headers", "content-type,mcp-param-region,x-other")
	allowed := strings.ToLower(res.Header.Get("Access-Control-Allow-Headers"))
	if res.StatusCode != 204 || !strings.Contains(allowed, "mcp-method") || !strings.Contains(allowed, "mcp-param-region") || strings.Contains(allowed, "x-other") {
		t.Errorf("%s: %s", res.Status, allowed)
	}
}
