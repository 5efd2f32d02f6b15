package golden

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/builtin/api/expr"
	"github.com/tenon-mcp/tenon/builtin/api/spec"
	"github.com/tenon-mcp/tenon/builtin/api/upstream"
)

// A wire answers requests from a list, or passes them on to the network and
// records the answers.
type wire struct {
	base    *url.URL // requests to other origins are shown with theirs
	live    bool
	network http.RoundTripper
	hidden  []string // query parameters that are credentials

	mu       sync.Mutex
	answers  []spec.Answer
	next     int
	count    int
	problems []string
	recorded []spec.Answer
}

// RoundTrip implements [http.RoundTripper].
func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	var sent []byte
	if r.Body != nil {
		sent, _ = io.ReadAll(r.Body)
		r.Body.Close()
	}
	if w.live {
		return w.forward(r, sent)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.count++
	if w.next >= len(w.answers) {
		w.problems = append(w.problems, fmt.Sprintf("unexpected request %s", w.shown(r)))
		return response(r, &spec.Answer{Status: http.StatusTeapot, Body: json.RawMessage(`"the case has no answer for this request"`)}), nil
	}
	a := &w.answers[w.next]
	w.next++
	w.compare(a, r, sent)
	return response(r, a), nil
}

// shown returns a request as cases write it, without the credential.
func (w *wire) shown(r *http.Request) string {
	u := *r.URL
	var kept []string
	for _, pair := range strings.Split(u.RawQuery, "&") {
		name, _, _ := strings.Cut(pair, "=")
		if decoded, err := url.QueryUnescape(name); err == nil {
			name = decoded
		}
		if pair != "" && !slices.Contains(w.hidden, name) {
			kept = append(kept, pair)
		}
	}
	u.RawQuery = strings.Join(kept, "&")
	if upstream.Origin(w.base) != upstream.Origin(&u) {
		return r.Method + " " + u.String()
	}
	return r.Method + " " + u.RequestURI()
}

// compare reports where a request is not the one that the case expects.
func (w *wire) compare(a *spec.Answer, r *http.Request, sent []byte) {
	if shown := w.shown(r); !w.same(a.Request, shown) {
		w.problems = append(w.problems, fmt.Sprintf("expected the request %s, got %s", a.Request, shown))
	}
	for name, want := range a.Headers {
		if got := r.Header.Get(name); got != want {
			w.problems = append(w.problems, fmt.Sprintf("%s: expected the header %s: %s, got %q", a.Request, name, want, got))
		}
	}
	if a.Sent == nil {
		return
	}
	if fields := formFields(r.Header.Get("Content-Type"), sent); fields != nil {
		sent = fields
	}
	if text, err := expr.Decode(a.Sent); err == nil && expr.Text(text) == string(sent) || same(a.Sent, sent) {
		return
	}
	w.problems = append(w.problems, fmt.Sprintf("%s: expected the body %s, got %s", a.Request, clip(string(a.Sent)), clip(string(sent))))
}

// formFields returns the fields of a body of multipart/form-data as an object of their
// contents; a name that is repeated has an array. It returns nil for other bodies.
func formFields(kind string, sent []byte) []byte {
	media, params, err := mime.ParseMediaType(kind)
	if err != nil || media != "multipart/form-data" {
		return nil
	}
	fields := map[string]any{}
	for r := multipart.NewReader(bytes.NewReader(sent), params["boundary"]); ; {
		part, err := r.NextPart()
		if err != nil {
			break
		}
		content, err := io.ReadAll(part)
		if err != nil {
			break
		}
		name, value := part.FormName(), any(string(content))
		switch before := fields[name].(type) {
		case nil:
			fields[name] = value
		case []any:
			fields[name] = append(before, value)
		default:
			fields[name] = []any{before, value}
		}
	}
	out, err := expr.Encode(fields)
	if err != nil {
		return nil
	}
	return out
}

// same compares method, path and query; the query in any order and without the
// credential.
func (w *wire) same(want, got string) bool {
	a, b := strings.Fields(want), strings.Fields(got)
	if len(a) != 2 || len(b) != 2 || a[0] != b[0] {
		return false
	}
	x, err := url.Parse(a[1])
	if err != nil {
		return false
	}
	y, err := url.Parse(b[1])
	if err != nil {
		return false
	}
	query := x.Query()
	for _, name := range w.hidden {
		query.Del(name)
	}
	x, y = w.base.ResolveReference(x), w.base.ResolveReference(y)
	return upstream.Origin(x) == upstream.Origin(y) && x.EscapedPath() == y.EscapedPath() && query.Encode() == y.Query().Encode()
}

// response makes the response of an answer.
func response(r *http.Request, a *spec.Answer) *http.Response {
	body := []byte(a.Body)
	header := http.Header{}
	if v, err := expr.Decode(a.Body); err == nil && len(a.Body) > 0 {
		if text, ok := v.(string); ok {
			body = []byte(text)
			header.Set("Content-Type", "text/plain; charset=utf-8")
		} else {
			header.Set("Content-Type", "application/json")
		}
	}
	for name, value := range a.Reply {
		header.Set(name, value)
	}
	status := a.Status
	if status == 0 {
		status = http.StatusOK
	}
	return &http.Response{StatusCode: status, Status: http.StatusText(status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: header, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)), Request: r}
}

// maxRecorded is the maximum size of a recorded body.
const maxRecorded = 1 << 20

// forward sends a request to the API and records the answer. Neither the headers of
// the request nor the parameter of a credential are recorded.
func (w *wire) forward(r *http.Request, sent []byte) (*http.Response, error) {
	if sent != nil {
		r = r.Clone(r.Context())
		r.Body = io.NopCloser(bytes.NewReader(sent))
	}
	res, err := w.network.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxRecorded+1)) // the server bounds what it reads itself
	rest := io.Reader(failing{err})
	if err == nil {
		rest = res.Body
	}
	res.Body = readCloser{io.MultiReader(bytes.NewReader(body), rest), res.Body}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.count++
	if len(body) <= maxRecorded {
		w.recorded = append(w.recorded, w.answer(r, res, body))
	}
	return res, nil
}

func (w *wire) answer(r *http.Request, res *http.Response, body []byte) spec.Answer {
	a := spec.Answer{Request: w.shown(r), Status: res.StatusCode}
	for _, name := range []string{"Content-Type", "Link", "Location", "ETag", "Retry-After"} {
		if value := res.Header.Get(name); value != "" {
			if a.Reply == nil {
				a.Reply = map[string]string{}
			}
			a.Reply[strings.ToLower(name)] = value
		}
	}
	if v, err := expr.Decode(body); err == nil {
		a.Body, _ = expr.Encode(v)
	} else if utf8.Valid(body) {
		a.Body, _ = json.Marshal(string(body))
	}
	return a
}

// readCloser is a body whose beginning was read already.
type readCloser struct {
	io.Reader
	io.Closer
}

// failing returns the error with which a body ended.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) {
	if f.err != nil {
		return 0, f.err
	}
	return 0, io.EOF
}
