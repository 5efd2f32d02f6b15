package api

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// A fault is what happens to one request between a pack and its API.
type fault struct {
	name string
	// answer writes the faulty response. body is that of the API, if the
	// request reached it.
	answer func(w http.ResponseWriter, r *http.Request, body []byte)
}

func text(status int, kind, body string, headers ...string) func(http.ResponseWriter, *http.Request, []byte) {
	return func(w http.ResponseWriter, _ *http.Request, _ []byte) {
		w.Header().Set("Content-Type", kind)
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

func hijacked(f func(w io.Writer)) func(http.ResponseWriter, *http.Request, []byte) {
	return func(w http.ResponseWriter, _ *http.Request, _ []byte) {
		c, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		f(c)
		c.Close()
	}
}

// faults are what APIs and networks do.
var faults = []fault{
	{"no answer", func(w http.ResponseWriter, r *http.Request, _ []byte) {
		select {
		case <-r.Context().Done():
		case <-time.After(20 * time.Second):
		}
	}},
	{"half an answer, then silence", func(w http.ResponseWriter, r *http.Request, _ []byte) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"ok":true,"value":[`)
		w.(http.Flusher).Flush()
		select {
		case <-r.Context().Done():
		case <-time.After(20 * time.Second):
		}
	}},
	{"429", text(429, "application/json", `{"message":"slow down","ok":false,"error":"ratelimited"}`, "Retry-After", "0")},
	{"429 for an hour", text(429, "application/json", `{}`, "Retry-After", "3600")},
	{"500", text(500, "application/json", `{"message":"oops"}`)},
	{"502 as HTML", text(502, "text/html", "<html><body><h1>Bad Gateway</h1></body></html>")},
	{"503", text(503, "text/plain", "down", "Retry-After", "0")},
	{"cut body", hijacked(func(w io.Writer) {
		io.WriteString(w, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 5000\r\n\r\n{\"ok\":true,\"orders\":[{\"id\":")
	})},
	{"closed connection", hijacked(func(io.Writer) {})},
	{"no HTTP", hijacked(func(w io.Writer) { io.WriteString(w, "SSH-2.0-OpenSSH_9.2\r\n") })},
	{"HTML with 200", text(200, "text/html", "<html><body>Please log in</body></html>")},
	{"broken JSON", text(200, "application/json", `{"ok":true,"messages":[{"ts":`)},
	{"a string", text(200, "application/json", `"fine"`)},
	{"a number", text(200, "application/json", `12`)},
	{"an array of numbers", text(200, "application/json", `[1,2,3]`)},
	{"null", text(200, "application/json", `null`)},
	{"wrong types", text(200, "application/json", `{"ok":"yes","id":{},"items":7,"orders":"none","value":{"a":1},"messages":true,"channels":"x","members":3,"files":1,"number":"x","next_cursor":[1],"response_metadata":4,"@odata.nextLink":9}`)},
	{"nothing", text(200, "application/json", ``)},
	{"huge body", func(w http.ResponseWriter, _ *http.Request, _ []byte) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"ok":true,"value":["`)
		chunk := bytes.Repeat([]byte("tea "), 64<<10)
		for range 256 { // 64 MiB
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
		io.WriteString(w, `"]}`)
	}},
	{"deep JSON", text(200, "application/json", strings.Repeat("[", 20000)+strings.Repeat("]", 20000))},
	{"redirect elsewhere", text(302, "text/plain", "", "Location", "http://203.0.113.9/steal")},
	{"redirect to a file", text(302, "text/plain", "", "Location", "file:///etc/passwd")},
	{"redirect in a circle", func(w http.ResponseWriter, r *http.Request, _ []byte) {
		http.Redirect(w, r, r.URL.String(), http.StatusTemporaryRedirect)
	}},
	{"304 without a request for it", text(304, "application/json", "")},
}

// A proxy puts a fault between a pack and its API.
type proxy struct {
	api    string // origin
	writes func(r *http.Request) bool

	mu     sync.Mutex
	fault  *fault
	at     int  // the number of the request, from 0, that has the fault
	after  bool // the API has processed the request before the fault
	always bool // all further requests have the fault, too
	seen   int
	done   map[string]int // writes that the API has processed, by request
}

// arm chooses the fault for the next call.
func (p *proxy) arm(f *fault, at int, after, always bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault, p.at, p.after, p.always, p.seen, p.done = f, at, after, always, 0, map[string]int{}
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	sent, err := io.ReadAll(r.Body) // only then does the server notice that the client has gone
	if err != nil {
		return
	}
	p.mu.Lock()
	var f *fault
	if p.fault != nil && (p.seen == p.at || p.always && p.seen > p.at) {
		f = p.fault
	}
	after := p.after
	p.seen++
	p.mu.Unlock()
	if f != nil && !after {
		f.answer(w, r, nil)
		return
	}
	status, header, body, err := p.forward(r, sent, "http://"+r.Host)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	if f != nil {
		f.answer(w, r, body)
		return
	}
	for k, v := range header {
		w.Header()[k] = v
	}
	w.WriteHeader(status)
	w.Write(body)
}

// forward sends a request to the API, with the names of the proxy in what it
// returns.
func (p *proxy) forward(r *http.Request, data []byte, self string) (int, http.Header, []byte, error) {
	req, err := http.NewRequestWithContext(r.Context(), r.Method, p.api+r.URL.RequestURI(), bytes.NewReader(data))
	if err != nil {
		return 0, nil, nil, err
	}
	req.Header = r.Header.Clone()
	req.Header.Del("Accept-Encoding")
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return 0, nil, nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, nil, nil, err
	}
	if p.writes(r) && resp.StatusCode < 300 && !bytes.Contains(body, []byte(`"replayed":true`)) && !bytes.Contains(body, []byte(`"ok":false`)) {
		p.mu.Lock()
		p.done[r.Method+" "+r.URL.Path]++
		p.mu.Unlock()
	}
	own := func(s string) string {
		return strings.NewReplacer(p.api, self, strings.Replace(p.api, "127.0.0.1", "localhost", 1), self).Replace(s)
	}
	header := http.Header{}
	for _, name := range []string{"Content-Type", "Link", "Location", "Etag", "Retry-After"} {
		if v := resp.Header.Get(name); v != "" {
			header.Set(name, own(v))
		}
	}
	return resp.StatusCode, header, []byte(own(string(body))), nil
}

// An attempt is a call that faults are tried with.
type attempt struct {
	tool     string
	args     func(i int) object
	requests int // that it sends
}

// injected tries every fault with every attempt, at each of its requests, before
// and after the API has processed the request, and for good. At least 200 faults
// are tried. Whatever happens, the call ends with a result, an error is clear, and
// nothing is done twice.
func injected(t *testing.T, name, api, base string, writes func(*http.Request) bool, attempts []attempt) {
	t.Helper()
	p := &proxy{api: api, writes: writes, done: map[string]int{}}
	srv := httptest.NewServer(p)
	t.Cleanup(srv.Close)
	data := "timeout: 30s"
	if name == "orders" {
		data = "timeout: 10s"
	}
	change := []string{data, "timeout: 250ms\n  retry: {max: 2, max_wait: 50ms}"}
	var uploads []string
	if name == "slack" {
		uploads = atEmulator(srv.URL)
		change = append(change, append(uploads, "\n  retry: {max: 3, on: [429, 502, 503, 504], max_wait: 60s}", "")...)
	}
	c := pack(t, name, srv.URL+base, change...)
	n, failed, i := 0, 0, 0
	for _, a := range attempts {
		for f := range faults {
			for at := range a.requests {
				for _, mode := range []struct{ after, always bool }{{false, false}, {true, false}, {false, true}} {
					if at > 0 && mode.always || len(attempts) > 4 && mode.always && f%2 == 1 {
						continue // enough of these
					}
					i++
					what := fmt.Sprintf("%s: %s at request %d, after=%t, always=%t", a.tool, faults[f].name, at, mode.after, mode.always)
					p.arm(&faults[f], at, mode.after, mode.always)
					r := call(t, c, a.tool, a.args(i))
					n++
					if r.failed {
						failed++
						clear(t, what, r.text)
					}
					p.mu.Lock()
					if r.failed && len(p.done) > 0 && !notProcessed[faults[f].name] && !saysDone.MatchString(r.text) {
						t.Errorf("%s: the error does not say that %v may have been done: %s", what, p.done, r.text)
					}
					for request, times := range p.done {
						if times > 1 {
							t.Errorf("%s: %s was done %d times", what, request, times)
						}
					}
					p.mu.Unlock()
				}
			}
		}
	}
	p.arm(nil, 0, false, false)
	c = pack(t, name, srv.URL+base, uploads...)
	for _, a := range attempts { // and afterwards all is well
		if r := call(t, c, a.tool, a.args(i+1)); r.failed {
			t.Errorf("%s afterwards: %s", a.tool, r.text)
		}
		i++
	}
	t.Logf("%s: %d faults, %d calls failed", name, n, failed)
	if n < 200 {
		t.Errorf("only %d faults were tried", n)
	}
}

// clear judges the text of an error.
func clear(t *testing.T, what, text string) {
	t.Helper()
	if len(text) < 15 || len(text) > 1500 {
		t.Errorf("%s: the error has %d characters: %.200q", what, len(text), text)
	}
	for _, bad := range []string{"panic", "goroutine", "nil pointer", "0x", "jsontext", "gojq", "<html", "<h1>", "127.0.0.1:", "%!"} {
		if strings.Contains(text, bad) {
			t.Errorf("%s: the error says %q: %s", what, bad, text)
		}
	}
}

// notProcessed has the faults that say that the request was not processed.
var notProcessed = map[string]bool{"429": true, "429 for an hour": true, "redirect in a circle": true}

// saysDone matches errors which say that the request was done, or may have been.
var saysDone = regexp.MustCompile(`(?i)the request was done|first request succeeded|not known whether`)

func fixed(o object) func(int) object { return func(int) object { return o } }

func methodWrites(r *http.Request) bool {
	return r.Method != http.MethodGet && r.Method != http.MethodHead
}

func TestOrdersPackWithFaults(t *testing.T) {
	t.Parallel()
	injected(t, "orders", orderService(t), "/v1", methodWrites, []attempt{
		{"search_orders", fixed(object{"status": "sent", "limit": 5}), 1},
		{"get_order", fixed(object{"order_id": "T-0042"}), 1},
		{"process_refund", func(i int) object {
			return object{"order_id": fmt.Sprintf("T-%04d", 30+i), "amount": 0.01, "reason": "test of faults"}
		}, 3},
	})
}

func TestGitHubPackWithFaults(t *testing.T) {
	t.Parallel()
	repo, at := object{"owner": "admin", "repo": "tea"}, github(t)
	injected(t, "github", at, "", methodWrites, []attempt{
		{"list_issues", fixed(repo), 1},
		{"get_file", fixed(object{"owner": "admin", "repo": "tea", "path": "docs/guide.md"}), 1},
		{"create_issue", func(i int) object {
			return object{"owner": "admin", "repo": "tea", "title": fmt.Sprintf("Fault %d", i)}
		}, 1},
		{"submit_review", func(i int) object {
			return object{"owner": "admin", "repo": "tea", "number": 36, "event": "COMMENT", "body": fmt.Sprintf("Fault %d", i)}
		}, 2},
		{"write_file", func(i int) object {
			return object{"owner": "admin", "repo": "tea", "path": fmt.Sprintf("faults/%d.txt", i), "content": "tea", "message": "a fault", "branch": "feature"}
		}, 1},
		{"merge_pull", func(i int) object {
			return object{"owner": "admin", "repo": "tea", "number": pullRequest(t, at, fmt.Sprintf("fault-%d", i))}
		}, 2},
	})
}

func TestSlackPackWithFaults(t *testing.T) {
	t.Parallel()
	api, channel := slack(t)
	writes := func(r *http.Request) bool {
		for _, method := range []string{"chat.postMessage", "reactions.add", "files.completeUploadExternal"} {
			if strings.HasSuffix(r.URL.Path, method) {
				return true
			}
		}
		return false
	}
	injected(t, "slack", api, "/api", writes, []attempt{
		{"list_channels", func(i int) object { return object{"archived": i%2 == 0, "limit": 1 + i%200} }, 1},
		{"read_channel", fixed(object{"channel": channel, "limit": 5}), 1},
		{"post_message", func(i int) object { return object{"channel": channel, "text": fmt.Sprintf("Fault %d", i)} }, 2},
		{"upload_file", func(i int) object {
			return object{"channel": channel, "name": fmt.Sprintf("f%d.txt", i), "content": "tea"}
		}, 3},
	})
}

func TestOneNotePackWithFaults(t *testing.T) {
	t.Parallel()
	api, _ := graphServer(t)
	injected(t, "onenote", api, "/v1.0", methodWrites, []attempt{
		{"list_pages", fixed(object{"section_id": "1-sec3"}), 1},
		{"extract_page", fixed(object{"page_id": "1-page46"}), 1},
		{"create_page", func(i int) object {
			return object{"section_id": "1-sec1", "title": fmt.Sprintf("Fault %d", i), "text": "Tea."}
		}, 1},
		{"append_to_page", fixed(object{"page_id": "1-page1", "text": "More."}), 1},
	})
}
