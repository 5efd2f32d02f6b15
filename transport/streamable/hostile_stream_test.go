package streamable_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/transport/streamable"
)

// An ear hears a stream event by event.
type ear struct {
	t     *testing.T
	lines *bufio.Scanner
	last  string // the id of the last event that had one
}

func hear(t *testing.T, body io.Reader) *ear {
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, 1<<20)
	return &ear{t: t, lines: lines}
}

// next returns the data of the next event, or a comment with its colon; it is
// empty at the end of the stream.
func (e *ear) next() string {
	e.t.Helper()
	for e.lines.Scan() {
		line := e.lines.Text()
		if id, ok := strings.CutPrefix(line, "id: "); ok {
			e.last = id
		}
		if data, ok := strings.CutPrefix(line, "data: "); ok && data != "" || strings.HasPrefix(line, ":") {
			return line[len(line)-max(len(data), 1):]
		}
	}
	return ""
}

// expect reads events, comments aside, that have something in them.
func (e *ear) expect(parts ...string) {
	e.t.Helper()
	for _, part := range parts {
		event := e.next()
		for event == ":" {
			event = e.next()
		}
		if event == "" || !strings.Contains(event, part) {
			e.t.Fatalf("heard %q, want %s (%v)", event, part, e.lines.Err())
		}
	}
}

// open sends a request and listens to the stream that it makes.
func (f *fort) listen(r *request) (*socket, *ear) {
	f.t.Helper()
	s := f.dial()
	s.write(r.on(f))
	a := s.head()
	if a.Status != 200 || a.Header.Get("Content-Type") != "text/event-stream" {
		f.t.Fatalf("%d %s", a.Status, a.Header.Get("Content-Type"))
	}
	return s, hear(f.t, a.Body)
}

func modernGated(id, name string, steps int) *request {
	return askTool(id, "gated", fmt.Sprintf(`"name":%q,"steps":%d`, name, steps)).swap(`"_meta":{`, `"_meta":{"progressToken":"`+name+`",`)
}

func oldGated(id, name string, steps int) string {
	return strings.Replace(oldTool(id, "gated", fmt.Sprintf(`"name":%q,"steps":%d`, name, steps)), `"params":{`, `"params":{"_meta":{"progressToken":"`+name+`"},`, 1)
}

// Who goes away has cancelled the call, in the newest revision; a half-closed
// connection counts as gone.
func TestDisconnectCancels(t *testing.T) {
	f := newFort(t, false, nil)
	for name, hangUp := range map[string]func(net.Conn) error{
		"close": net.Conn.Close,
		"reset": func(c net.Conn) error { c.(*net.TCPConn).SetLinger(0); return c.Close() },
		"half":  func(c net.Conn) error { return c.(*net.TCPConn).CloseWrite() },
	} {
		for _, steps := range []int{0, 1} { // before and after the answer has become a stream
			s := f.dial()
			s.write(modernGated("1", name, 3).on(f))
			<-f.began
			if steps > 0 {
				f.gate <- true
				hear(t, s.head().Body).expect(`"progress":1`)
			}
			if err := hangUp(s.c); err != nil {
				t.Fatal(err)
			}
			if got := <-f.cancelled; got != name {
				t.Errorf("%s was cancelled instead of %s", got, name)
			}
			if name != "half" {
				continue
			}
			if rest, _ := io.ReadAll(s.r); strings.Contains(string(rest), "too late") {
				t.Errorf("after it was cancelled came %q", rest)
			}
		}
	}
}

// Who goes away has cancelled nothing, in older revisions, and may come back.
func TestOldDisconnectCancelsNothing(t *testing.T) {
	f := newFort(t, false, nil)
	in := f.enter(rev2025, "")
	s := f.dial()
	s.write(in(oldGated("7", "a", 3)).on(f))
	<-f.began
	f.gate <- true
	e := hear(t, s.head().Body)
	e.expect(`"progress":1`)
	s.c.Close()
	f.gate <- true
	f.gate <- true
	_, back := f.listen(in("").header("Last-Event-ID", "Last-Event-ID: "+e.last))
	back.expect(`"progress":2`, `"progress":3`, `"id":7,"result"`)
	if rest := back.next(); rest != "" {
		t.Errorf("after the answer came %q", rest)
	}
	// The answer to a call that has told nothing yet is not lost on others.
	s = f.dial()
	s.write(in(oldGated("8", "b", 1)).on(f))
	<-f.began
	s.c.Close()
	f.gate <- true
	if a := f.raw(in(oldTool("9", "echo", `"msg":"hi"`)).on(f)); a.short() != "200 9 ok" {
		t.Errorf("afterwards %s", a.short())
	}
}

// Calls that their clients have left cost those clients nothing: only so many
// go on, and those left first are cancelled first.
func TestLeftCallsAreBounded(t *testing.T) {
	t.Run("freed", func(t *testing.T) { testLeftCalls(t, false) })
	t.Run("cut off", func(t *testing.T) { testLeftCalls(t, true) })
}

func testLeftCalls(t *testing.T, takeOver bool) {
	f := newFortAs(t, false, streamable.Options{TakeOver: takeOver, Sessions: streamable.SessionLimits{Live: 3}})
	leave := func(i int) {
		s := f.dial()
		s.write(f.enter(rev2025, "")(oldGated("1", fmt.Sprint(i), 1)).on(f))
		<-f.began
		s.c.Close()
		waitFor(t, "the server notices", func() bool { return f.open.Load() == 0 }) // so that they leave in this order
	}
	for i := range 3 {
		leave(i)
	}
	for i := range 8 {
		leave(i + 3)
		if got := <-f.cancelled; got != fmt.Sprint(i) {
			t.Fatalf("%s was cancelled instead of %d", got, i)
		}
	}
}

// The lists are whole, page by page, in both eras.
func TestPagesOverHTTP(t *testing.T) {
	f := newFort(t, false, nil)
	in := f.enter(rev2025, "")
	cursorIn := regexp.MustCompile(`"nextCursor":"([^"]*)"`)
	nameIn := regexp.MustCompile(`"name":"([a-z]+)"`)
	for era, page := range map[string]func(cursor string) *request{
		"newest": func(c string) *request { return ask("1", "tools/list", "", c) },
		"older": func(c string) *request {
			return in(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + c + `}}`)
		},
	} {
		cursor, pages, seen := "", 0, map[string]int{}
		for {
			a := f.raw(page(cursor).on(f))
			for _, m := range nameIn.FindAllStringSubmatch(a.Text, -1) {
				seen[m[1]]++
			}
			pages++
			next := cursorIn.FindStringSubmatch(a.Text)
			if next == nil || pages > 10 {
				break
			}
			cursor = `"cursor":"` + next[1] + `"`
		}
		for _, tool := range []string{"echo", "gated", "held", "count", "big", "log", "ask", "routed", "strict", "admin", "panic", "none", "nan"} {
			if seen[tool] != 1 {
				t.Errorf("%s: %s was listed %d times", era, tool, seen[tool])
			}
		}
		if pages != 4 {
			t.Errorf("%s: %d pages", era, pages)
		}
	}
}

// A stream on which nothing happens is kept alive with comments.
func TestKeepAlive(t *testing.T) {
	f := newFort(t, false, &streamable.Options{KeepAlive: 5 * time.Millisecond})
	in := f.enter(rev2025, "")
	for name, r := range map[string]*request{
		"listen": ask("1", "subscriptions/listen", "", `"notifications":{"toolsListChanged":true}`),
		"GET":    in(""),
	} {
		s, e := f.listen(r)
		comments := 0
		for comments < 5 {
			switch event := e.next(); event {
			case ":":
				comments++
			case "":
				t.Fatalf("%s: the stream has ended", name)
			}
		}
		s.c.Close()
	}
	s, e := f.listen(func() *request {
		go func() { <-f.began; f.gate <- true }()
		return modernGated("1", "a", 2)
	}())
	defer s.c.Close()
	if e.expect(`"progress":1`); e.next() != ":" {
		t.Error("a call that has told something is not kept alive")
	}
	f.gate <- true
	e.expect(`"progress":2`, `"id":1,"result"`)
}

// M36, and what a listener hears of resources; it ends with a result when the
// server does.
func TestListenToTheEnd(t *testing.T) {
	f := newFort(t, false, nil)
	_, first := f.listen(ask(`"a"`, "subscriptions/listen", "", `"notifications":{"resourceSubscriptions":["test://one"]}`))
	_, second := f.listen(ask(`2`, "subscriptions/listen", "", `"notifications":{"toolsListChanged":true}`))
	in := f.enter(rev2025, "")
	if a := f.raw(in(`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"test://one"}}`).on(f)); a.short() != "200 1 ok" {
		t.Fatal(a.Text)
	}
	_, old := f.listen(in(""))
	old.lines.Scan() // the first event is there, so news is listened for
	const subscription = `"io.modelcontextprotocol/subscriptionId":`
	first.expect("notifications/subscriptions/acknowledged")
	second.expect("notifications/subscriptions/acknowledged")
	f.RemovePrompts("greet") // which only the session hears of
	old.expect("notifications/prompts/list_changed")
	f.ResourceUpdated("test://one")
	f.ResourceUpdated("test://broken")
	first.expect("notifications/resources/updated")
	old.expect("notifications/resources/updated")
	f.RemoveTools("nan")
	second.expect(subscription + `2`)
	old.expect("notifications/tools/list_changed")
	f.h.Shutdown()
	first.expect(`"id":"a","result"`)
	second.expect(`"id":2,"result"`)
	for _, e := range []*ear{first, second, old} {
		if rest := e.next(); rest != "" || e.lines.Err() != nil {
			t.Errorf("the end was %q, %v", rest, e.lines.Err())
		}
	}
}

// M12: calls with one progress token each hear their own.
func TestSameProgressToken(t *testing.T) {
	f := newFort(t, false, nil)
	for _, who := range []string{"a", "b"} {
		a := f.raw(askTool("1", "count", `"n":3,"who":"`+who+`"`).swap(`"_meta":{`, `"_meta":{"progressToken":"t",`).on(f))
		if strings.Count(a.Text, `"message":"`+who+`"`) != 3 {
			t.Errorf("%s heard %s", who, a.Text)
		}
	}
}

// H50: the end of the server while calls are in flight.
func TestServeToTheEnd(t *testing.T) {
	f := newFixture(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- streamable.Serve(ctx, l, f.Server, nil, nil) }()
	at := &fort{t: t, fixture: f, addr: l.Addr().String(), path: streamable.Path}
	_, at.port, _ = net.SplitHostPort(at.addr)
	var calls sync.WaitGroup
	for i := range 100 {
		calls.Go(func() {
			if a := at.raw(modernGated("1", fmt.Sprint(i), 1).on(at)); a.short() != "200 1 ok" {
				t.Errorf("call %d was answered %s", i, a.short())
			}
		})
	}
	for range 100 {
		<-f.began
	}
	s := at.dial()
	late := askEcho().header("Expect", "Expect: 100-continue")
	head, body, _ := strings.Cut(late.on(at), "\r\n\r\n")
	s.write(head + "\r\n\r\n")
	for line := "x"; line != "\r\n"; { // until the server wants the body
		if line, err = s.r.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	waitFor(t, "nobody is let in", func() bool {
		c, err := net.Dial("tcp", at.addr)
		if err == nil {
			c.Close()
		}
		return err != nil
	})
	s.write(body)
	if a := s.read(); a.Status != 503 {
		t.Errorf("a new request: %d %s", a.Status, a.Text)
	}
	for range 100 {
		f.gate <- true
	}
	calls.Wait()
	if err := <-ended; err != nil {
		t.Errorf("Serve ended with %v", err)
	}
}

// A call that was cancelled tells nothing more, whatever it does.
func TestCancelledTellsNothing(t *testing.T) {
	f := newFort(t, false, nil)
	for _, rev := range []string{"2025-03-26", rev2025} {
		in := f.enter(rev, "")
		s := f.dial()
		s.write(in(oldGated("5", "a", 3)).on(f))
		<-f.began
		f.gate <- true
		e := hear(t, s.head().Body)
		e.expect(`"progress":1`)
		if a := f.raw(in(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}`).on(f)); a.Status != 202 {
			t.Errorf("%s: %d", rev, a.Status)
		}
		<-f.cancelled
		if rest := e.next(); rest != "" {
			t.Errorf("%s: after it was cancelled came %q", rev, rest)
		}
	}
}
