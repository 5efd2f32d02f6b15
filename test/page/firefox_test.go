package page

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/ext/apps"
	"github.com/tenon-mcp/tenon/internal/needtest"
)

// A firefox is a Firefox that is driven by WebDriver BiDi, with just enough of it
// to open a page and to evaluate expressions in it.
type firefox struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Reader
	next int
	tab  string
	sent map[string]firefoxRequest // by their ids, without those that were refused
}

// A firefoxRequest is a request that a tab or frame has sent.
type firefoxRequest struct {
	Context string
	Request struct {
		Request string // its id
		URL     string
	}
	ErrorText string
}

// startFirefox starts a Firefox without a window and connects to it.
func startFirefox(t *testing.T) *firefox {
	t.Helper()
	program := needtest.Program(t, "firefox-esr", "firefox")
	ctx, stop := context.WithCancel(context.Background())
	t.Cleanup(stop)
	cmd := exec.CommandContext(ctx, program, "--headless", "--no-remote", "--profile", t.TempDir(), "--remote-debugging-port", "0", "about:blank")
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
	out, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(); cmd.Wait() })
	address := make(chan string, 1)
	go func() {
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if _, at, ok := strings.Cut(lines.Text(), "listening on ws://"); ok {
				address <- at
			}
		}
	}()
	select {
	case at := <-address:
		return connectBiDi(t, at)
	case <-time.After(2 * waitLimit):
		t.Fatal("Firefox did not start")
		return nil
	}
}

func connectBiDi(t *testing.T, at string) *firefox {
	t.Helper()
	conn, err := net.Dial("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	key := make([]byte, 16)
	rand.Read(key)
	fmt.Fprintf(conn, "GET /session HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: %s\r\nSec-WebSocket-Version: 13\r\n\r\n", at, base64.StdEncoding.EncodeToString(key))
	f := &firefox{t: t, conn: conn, in: bufio.NewReader(conn), sent: map[string]firefoxRequest{}}
	res, err := http.ReadResponse(f.in, nil)
	if err != nil || res.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("connect to Firefox: %v %v", res, err)
	}
	f.do("session.new", `{"capabilities":{}}`)
	f.do("session.subscribe", `{"events":["network.beforeRequestSent","network.fetchError"]}`)
	var tree struct{ Contexts []struct{ Context string } }
	f.must(json.Unmarshal(f.do("browsingContext.getTree", `{}`), &tree))
	f.tab = tree.Contexts[0].Context
	return f
}

func (f *firefox) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

// do sends a command and returns its result.
func (f *firefox) do(method, params string) json.RawMessage {
	f.t.Helper()
	f.next++
	f.must(f.write(fmt.Appendf(nil, `{"id":%d,"method":%q,"params":%s}`, f.next, method, params)))
	f.must(f.conn.SetReadDeadline(time.Now().Add(2 * waitLimit)))
	for {
		frame, err := f.read()
		f.must(err)
		var m struct {
			ID      int
			Type    string
			Result  json.RawMessage
			Error   string
			Message string
			Method  string
			Params  json.RawMessage
		}
		if json.Unmarshal(frame, &m) != nil || m.ID != f.next {
			f.event(m.Method, m.Params)
			continue
		}
		if m.Type == "error" {
			f.t.Fatalf("%s: %s: %s", method, m.Error, m.Message)
		}
		return m.Result
	}
}

// event keeps a request that was sent. One that a policy refuses is an event, too,
// and is cancelled before it is sent.
func (f *firefox) event(method string, params json.RawMessage) {
	var r firefoxRequest
	if json.Unmarshal(params, &r) != nil {
		return
	}
	switch {
	case method == "network.beforeRequestSent":
		f.sent[r.Request.Request] = r
	case method == "network.fetchError" && r.ErrorText == "NS_BINDING_ABORTED":
		delete(f.sent, r.Request.Request)
	}
}

// write sends one text frame; frames of clients are masked.
func (f *firefox) write(text []byte) error {
	head := []byte{0x81, 0x80 | byte(len(text))}
	if len(text) > 125 { // no command has more than 64 KB
		head = binary.BigEndian.AppendUint16([]byte{0x81, 0x80 | 126}, uint16(len(text)))
	}
	mask := []byte{7, 1, 9, 3} // Firefox refuses one of zeros
	all := append(head, mask...)
	for i, c := range text {
		all = append(all, c^mask[i%4])
	}
	_, err := f.conn.Write(all)
	return err
}

// read returns the next text, whole.
func (f *firefox) read() ([]byte, error) {
	var all []byte
	for {
		var head [2]byte
		if _, err := io.ReadFull(f.in, head[:]); err != nil {
			return nil, err
		}
		size := uint64(head[1] & 0x7f)
		if size >= 126 {
			long := make([]byte, map[uint64]int{126: 2, 127: 8}[size])
			if _, err := io.ReadFull(f.in, long); err != nil {
				return nil, err
			}
			size = binary.BigEndian.Uint64(append(make([]byte, 8-len(long)), long...))
		}
		part := make([]byte, size)
		if _, err := io.ReadFull(f.in, part); err != nil {
			return nil, err
		}
		if head[0]&0x0f > 2 { // a control frame
			continue
		}
		if all = append(all, part...); head[0]&0x80 != 0 {
			return all, nil
		}
	}
}

// eval evaluates an expression whose value is text.
func (f *firefox) eval(expression string) string {
	f.t.Helper()
	var r struct {
		Result struct{ Value string }
	}
	f.must(json.Unmarshal(f.do("script.evaluate", fmt.Sprintf(`{"expression":%s,"target":{"context":%q},"awaitPromise":true}`, quote("(async () => String(await ("+expression+")))()"), f.tab)), &r))
	return r.Result.Value
}

func (f *firefox) until(condition string) {
	f.t.Helper()
	for end := time.Now().Add(2 * waitLimit); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if f.eval("!!("+condition+")") == "true" {
			return
		}
	}
	f.t.Fatalf("this did not become true in Firefox: %s\n%.1500s", condition, f.eval("document.body.innerText"))
}

// show opens a page and its tool show.
func (f *firefox) show(st *viewFixture) {
	f.t.Helper()
	clear(f.sent)
	f.do("browsingContext.navigate", fmt.Sprintf(`{"context":%q,"url":%q,"wait":"complete"}`, f.tab, st.address()))
	f.until(`document.querySelector('#top .side > *')`)
	f.eval(`location.hash = '#/drive/viewer/tools/show'`)
	f.until(`document.querySelector('.tool h2')?.innerText.trim() === 'show' && document.querySelector('.tool textarea.grow, .tool input')`)
}

// run runs the tool with a word.
func (f *firefox) run(word string) {
	f.t.Helper()
	f.eval(typeWord(word))
	f.eval(`[...document.querySelectorAll('.tool button, button')].find((b) => b.innerText.trim() === 'Run').click()`)
}

// report waits for the nth report of the view.
func (f *firefox) report(st *viewFixture, n int) json.RawMessage {
	f.t.Helper()
	for end := time.Now().Add(3 * waitLimit); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		st.mu.Lock()
		reports := st.reports
		st.mu.Unlock()
		if len(reports) > n {
			return json.RawMessage(reports[n])
		}
	}
	f.t.Fatalf("the view did not report; the page shows %.2000s", f.eval("document.body.innerText"))
	return nil
}

// outside lists what frames have requested outside of the sandbox since show.
func (f *firefox) outside() (all []string) {
	f.t.Helper()
	f.eval(`fetch('/mark.svg').then(() => new Promise((ok) => setTimeout(ok, 500)))`) // reads the events until now
	for _, r := range f.sent {
		if r.Context != f.tab && !strings.Contains(r.Request.URL, ".localhost:") {
			all = append(all, r.Request.URL)
		}
	}
	return all
}

// The sandbox holds in Firefox, too.
func TestAttacksOfViewsInFirefox(t *testing.T) {
	t.Parallel()
	f := startFirefox(t)
	t.Run("attacks", func(t *testing.T) {
		f.t = t
		st := newViewFixture(t, viewAttacks, apps.ViewUI{}, setup{})
		f.show(st)
		f.run(st.url)
		var got map[string]string
		f.must(json.Unmarshal(f.report(st, 0), &got))
		for name, outcome := range got {
			if !strings.HasPrefix(outcome, "blocked") {
				t.Errorf("a view can %s: %s", name, outcome)
			}
		}
		if len(got) < 40 {
			t.Errorf("only %d attacks were made: %v", len(got), got)
		}
		if at := f.eval(`location.origin`); at != st.url {
			t.Errorf("the page is at %s", at)
		}
		if asked := f.outside(); len(asked) > 0 {
			t.Errorf("the view requested %q", asked)
		}
	})
	t.Run("quiet", func(t *testing.T) {
		f.t = t
		st := newViewFixture(t, quietAttacks+`run(async () => { await init(); await fetch('https://declared.example/x').catch(() => {}); return await attackQuietly('view.evil.example'); });`,
			apps.ViewUI{CSP: &apps.CSP{ConnectDomains: []string{"https://declared.example"}}}, setup{})
		f.show(st)
		f.run("")
		const allow = `[...document.querySelectorAll('button')].find((b) => b.innerText === 'Allow and show')`
		f.until(allow)
		f.eval(allow + `.click()`)
		f.report(st, 0)
		if asked := f.outside(); len(asked) != 1 || asked[0] != "https://declared.example/x" {
			t.Errorf("the view requested %q", asked)
		}
	})
	t.Run("leaving", func(t *testing.T) {
		f.t = t
		st := newViewFixture(t, leaving, apps.ViewUI{}, setup{})
		f.show(st)
		for i, how := range waysToLeave {
			f.run(how + " " + st.url)
			if got := string(f.report(st, i)); got != quote(how) {
				t.Fatalf("%s: the view reported %s", how, got)
			}
			if asked := f.outside(); len(asked) > 0 {
				t.Errorf("%s: the view requested %q", how, asked)
			}
			if at := f.eval(`location.origin + ' ' + (document.querySelector('nav') !== null)`); at != st.url+" true" {
				t.Errorf("%s: the page is %s", how, at)
			}
		}
	})
	t.Run("floods", func(t *testing.T) {
		f.t = t
		st := newViewFixture(t, flooding, apps.ViewUI{}, setup{})
		f.show(st)
		f.run("")
		if got := string(f.report(st, 0)); got != `{"heard":"0"}` {
			t.Errorf("forged messages were answered: %s", got)
		}
		f.until(`document.querySelector('.app-frame').style.height === '800px' && document.body.innerText.includes('dropped')`)
		st.mu.Lock()
		defer st.mu.Unlock()
		if len(st.reports) != 1 || st.secrets > 0 {
			t.Errorf("forged calls were made: %q, %d", st.reports, st.secrets)
		}
	})
}
