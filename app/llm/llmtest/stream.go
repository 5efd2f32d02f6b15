package llmtest

import (
	"bytes"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"

	"github.com/tenon-mcp/tenon/app/llm"
)

// Bytes returns a client whose requests are all answered with this stream of
// events, at most n bytes per read; 0 means no limit.
func Bytes(stream []byte, n int) *http.Client {
	return &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
		if r.Body != nil {
			_, _ = io.Copy(io.Discard, r.Body)
			r.Body.Close()
		}
		var body io.Reader = bytes.NewReader(stream)
		if n > 0 {
			body = &slow{body, n}
		}
		return &http.Response{
			StatusCode: 200, Status: "200 OK", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
			Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(body),
		}, nil
	})}
}

type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

type slow struct {
	r io.Reader
	n int
}

func (s *slow) Read(p []byte) (int, error) { return s.r.Read(p[:min(len(p), s.n)]) }

// Transcript returns an answer as text with one line for each event.
func Transcript(events iter.Seq2[llm.Event, error]) string {
	var b strings.Builder
	for e, err := range events {
		if err != nil {
			fmt.Fprintf(&b, "error %s: %s\n", llm.KindOf(err), strings.ReplaceAll(err.Error(), "\n", " | "))
			continue
		}
		b.WriteString(string(e.Kind))
		if e.Text != "" {
			fmt.Fprintf(&b, " %q", e.Text)
		}
		if e.Call != nil {
			fmt.Fprintf(&b, " %s %s %s", e.Call.ID, e.Call.Name, e.Call.Arguments)
			if e.Call.Problem != "" {
				fmt.Fprintf(&b, " problem %q", e.Call.Problem)
			}
		}
		for _, s := range []string{e.Signature, string(e.Stop), e.Note} {
			if s != "" {
				fmt.Fprintf(&b, " %s", s)
			}
		}
		if e.Usage != (llm.Usage{}) {
			fmt.Fprintf(&b, " in=%d out=%d read=%d write=%d cost=%g", e.Usage.Input, e.Usage.Output, e.Usage.CacheRead, e.Usage.CacheWrite, e.Usage.Cost)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
