package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/internal/leaktest"
	"github.com/tenon-mcp/tenon/sse"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// echo is a wire in which every event is a piece of text, "end" ends it and
// "bad" is an error.
type echo struct{}

func (echo) Parse(e sse.Event, out func(llm.Event)) (bool, error) {
	switch string(e.Data) {
	case "end":
		return true, nil
	case "bad":
		return false, (Report{Type: "overloaded_error", Message: "Overloaded"}).Err(0)
	}
	out(llm.Event{Kind: llm.EventText, Text: string(e.Data)})
	return false, nil
}
func (echo) End(func(llm.Event)) error            { return Truncated("end") }
func (echo) Outcome() (llm.StopReason, llm.Usage) { return llm.StopEnd, llm.Usage{} }

type answer struct {
	status int
	header http.Header
	body   string
	err    error
	hang   bool // after the body
}

// provider answers one after the other and counts the time.
type provider struct {
	answers []answer
	at      []time.Duration
	start   time.Time
}

func (p *provider) RoundTrip(r *http.Request) (*http.Response, error) {
	p.at = append(p.at, time.Since(p.start))
	a := p.answers[min(len(p.at), len(p.answers))-1]
	if a.err != nil {
		return nil, a.err
	}
	if a.header == nil {
		a.header = http.Header{}
	}
	if a.status == 200 && a.header.Get("Content-Type") == "" {
		a.header.Set("Content-Type", "text/event-stream")
	}
	body := io.Reader(strings.NewReader(a.body))
	if a.hang {
		body = io.MultiReader(body, hanging{r.Context()})
	}
	return &http.Response{StatusCode: a.status, Header: a.header, Body: io.NopCloser(body), Request: r}, nil
}

type hanging struct{ ctx context.Context }

func (h hanging) Read([]byte) (int, error) { <-h.ctx.Done(); return 0, h.ctx.Err() }

func run(ctx context.Context, p *provider, c Client) string {
	p.start = time.Now()
	c.Provider, c.HTTP = "test", &http.Client{Transport: p}
	var b strings.Builder
	for e, err := range c.Stream(ctx, Call{URL: "http://provider.test/v1", Body: []byte("{}"), Parser: func() Parser { return echo{} }}) {
		if err != nil {
			fmt.Fprintf(&b, "error %s", llm.KindOf(err))
			if errors.Is(err, context.Canceled) {
				b.WriteString(" by the caller")
			}
			continue
		}
		fmt.Fprintf(&b, "%s%s ", e.Kind, e.Text)
	}
	return b.String()
}

const good = "data: a\n\ndata: end\n\n"

func after(s string) http.Header { return http.Header{"Retry-After": {s}} }

func TestRetry(t *testing.T) {
	for _, test := range []struct {
		name    string
		answers []answer
		want    string
		wait    []time.Duration // between the tries; exact if the provider says so, at most otherwise
	}{
		{"at once", []answer{{status: 200, body: good}}, "texta done ", nil},
		{"429 with seconds", []answer{{status: 429, header: after("7")}, {status: 200, body: good}}, "retry texta done ", []time.Duration{7 * time.Second}},
		{"429 with a date", []answer{{status: 429, header: after("Sat, 01 Jan 2000 00:00:30 GMT")}, {status: 200, body: good}}, "retry texta done ", []time.Duration{30 * time.Second}},
		{"milliseconds", []answer{{status: 429, header: http.Header{"Retry-After-Ms": {"250"}}}, {status: 200, body: good}}, "retry texta done ", []time.Duration{250 * time.Millisecond}},
		{"too long to wait", []answer{{status: 429, header: after("3600")}}, "error rate", nil},
		{"absurd", []answer{{status: 429, header: after("1e300")}}, "error rate", nil},
		{"Gemini's delay", []answer{{status: 429, body: `[{"error":{"code":429,"message":"slow","status":"RESOURCE_EXHAUSTED","details":[{"retryDelay":"13s"}]}}]`}, {status: 200, body: good}}, "retry texta done ", []time.Duration{13 * time.Second}},
		{"529, 500, 503, 502", []answer{{status: 529}, {status: 500}, {status: 503}, {status: 502}, {status: 200, body: good}}, "retry retry retry retry texta done ", []time.Duration{-1, -2, -4, -8}},
		{"five times", []answer{{status: 500}}, "retry retry retry retry error server", []time.Duration{-1, -2, -4, -8}},
		{"no connection", []answer{{err: errors.New("refused")}, {status: 200, body: good}}, "retry texta done ", []time.Duration{-1}},
		{"an error before the first token", []answer{{status: 200, body: "data: bad\n\n"}, {status: 200, body: good}}, "retry texta done ", []time.Duration{-1}},
		{"cut before the first token", []answer{{status: 200, body: ": hello\n\n"}, {status: 200, body: good}}, "retry texta done ", []time.Duration{-1}},
		{"an error after it", []answer{{status: 200, body: "data: a\n\ndata: bad\n\n"}}, "texta error overloaded", nil},
		{"cut after it", []answer{{status: 200, body: "data: a\n\n"}}, "texta error network", nil},
		{"never again", []answer{{status: 400}}, "error bad_request", nil},
		{"no credit", []answer{{status: 429, body: `{"error":{"code":"insufficient_quota","message":"You exceeded your current quota"}}`}}, "error quota", nil},
		{"told not to", []answer{{status: 500, header: http.Header{"X-Should-Retry": {"false"}}}}, "error server", nil},
		{"a page of another service", []answer{{status: 200, header: http.Header{"Content-Type": {"text/html"}}, body: "<html>Log in</html>"}}, "error bad_request", nil},
		{"redirect", []answer{{status: 307, header: http.Header{"Location": {"https://elsewhere.test/"}}}}, "error bad_request", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &provider{answers: test.answers}
				if got := run(t.Context(), p, Client{}); got != test.want {
					t.Errorf("got %q, want %q", got, test.want)
				}
				if len(p.at) != len(test.wait)+1 {
					t.Fatalf("%d tries, want %d", len(p.at), len(test.wait)+1)
				}
				for i, want := range test.wait {
					got := p.at[i+1] - p.at[i]
					if want > 0 && got != want {
						t.Errorf("wait %d was %s, want %s", i, got, want)
					}
					if most := -want * time.Second; want < 0 && (got > most || got < most*3/4) {
						t.Errorf("wait %d was %s, want at most %s and not much less", i, got, most)
					}
				}
			})
		})
	}
}

func TestIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &provider{answers: []answer{{status: 200, body: "data: a\n\n", hang: true}}}
		if got := run(t.Context(), p, Client{Idle: time.Minute}); got != "texta error network" {
			t.Errorf("got %q", got)
		}
		if d := time.Since(p.start); d != time.Minute {
			t.Errorf("it took %s", d)
		}
	})
}

func TestCancelWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(3*time.Second, cancel)
		p := &provider{answers: []answer{{status: 429, header: after("50")}}}
		if got := run(ctx, p, Client{}); got != "retry error canceled by the caller" {
			t.Errorf("got %q", got)
		}
		if d := time.Since(p.start); d != 3*time.Second {
			t.Errorf("it took %s", d)
		}
	})
}

// Neither the head nor the query of a URL gets into an error.
func TestNetworkErrorsAreClean(t *testing.T) {
	p := &provider{answers: []answer{{err: errors.New("dial: sk-secret-key refused")}}}
	c := Client{Provider: "test", HTTP: &http.Client{Transport: p}, Secrets: []string{"sk-secret-key"}, Retry: Retry{Attempts: 1}}
	for _, err := range c.Stream(t.Context(), Call{URL: "http://user:pass@h.test/v1?key=sk-other", Parser: func() Parser { return echo{} }}) {
		text := fmt.Sprintf("%v %+v", err, errors.Unwrap(err))
		for _, secret := range []string{"sk-secret-key", "sk-other", "pass"} {
			if strings.Contains(text, secret) {
				t.Errorf("%s in %s", secret, text)
			}
		}
		if !strings.Contains(text, "cannot reach http://h.test/v1") {
			t.Errorf("it does not say where: %s", text)
		}
	}
}
