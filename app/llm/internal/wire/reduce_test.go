package wire

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/app/llm"
)

type silence struct{ asked int }

func (s *silence) RoundTrip(r *http.Request) (*http.Response, error) {
	s.asked++
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// nothing is a parser of an answer that never comes.
type nothing struct{ Parser }

func (nothing) Outcome() (llm.StopReason, llm.Usage) { return "", llm.Usage{} }

// D26: a provider that accepts the connection and says nothing is given up after
// two waits of three minutes, not after five of ten.
func TestSilentProviderIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, test := range []struct{ first, idle, want time.Duration }{
			{0, 0, 6 * time.Minute}, {0, time.Minute, 2 * time.Minute}, {10 * time.Minute, 0, 20 * time.Minute},
		} {
			s := &silence{}
			c := &Client{Provider: "p", HTTP: &http.Client{Transport: s}, FirstByte: test.first, Idle: test.idle}
			start := time.Now()
			var err error
			retries := 0
			for e, failed := range c.Stream(context.Background(), Call{URL: "http://p.example", Parser: func() Parser { return nothing{} }}) {
				if err = failed; e.Kind == llm.EventRetry {
					retries++
				}
			}
			if took := time.Since(start).Truncate(time.Minute); took != test.want || s.asked != 2 || retries != 1 || llm.KindOf(err) != llm.ErrNetwork || !strings.Contains(err.Error(), "no data received for") {
				t.Errorf("%+v: %d requests in %s, %v", test, s.asked, took, err)
			}
		}
	})
}

func TestURL(t *testing.T) {
	for _, test := range [][3]string{
		{"https://a/v1", "/models", "https://a/v1/models"},
		{"https://a/v1///", "/models", "https://a/v1/models"},
		{"https://a/openai?api-version=1", "/chat/completions", "https://a/openai/chat/completions?api-version=1"},
		{"https://a/?x=1", "/v1/models?limit=100", "https://a/v1/models?x=1&limit=100"},
		{"https://a", "/v1/models?limit=100", "https://a/v1/models?limit=100"},
	} {
		if got := URL(test[0], test[1]); got != test[2] {
			t.Errorf("%s + %s = %s", test[0], test[1], got)
		}
	}
}
