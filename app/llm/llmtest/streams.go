package llmtest

import (
	"bytes"
	"fmt"
	"io"
	"iter"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/app/llm"
)

// Streams plays recorded streams whole, in small reads, with CR LF, and truncated
// after every byte. It compares the result for each NAME.sse with NAME.want, which
// it writes if UPDATE=1 is set.
func Streams(t *testing.T, pattern string, play func(name string, stream []byte, n int) string) {
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: no streams (%v)", pattern, err)
	}
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".sse"), func(t *testing.T) {
			stream, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			got := madeUp(play(name, stream, 0))
			file := strings.TrimSuffix(name, ".sse") + ".want"
			if os.Getenv("UPDATE") == "1" {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			for n := 1; n < 8; n++ {
				if cut := madeUp(play(name, stream, n)); cut != got {
					t.Errorf("in pieces of %d bytes it says\n%s", n, cut)
				}
			}
			crlf := bytes.ReplaceAll(stream, []byte("\n"), []byte("\r\n"))
			if other := madeUp(play(name, crlf, 0)); other != got {
				t.Errorf("with CR LF it says\n%s", other)
			}
			endedAnywhere(t, name, stream, got, play)
		})
	}
}

// endedAnywhere truncates the stream after every byte. The result must end with
// an error, unless only bytes without meaning are missing.
func endedAnywhere(t *testing.T, name string, stream []byte, whole string, play func(string, []byte, int) string) {
	complete := strings.Contains(whole, "\ndone ") || strings.HasPrefix(whole, "done ")
	for end := range stream {
		got := play(name, stream[:end], 0)
		CheckEnd(t, got, got)
		lines := strings.SplitAfter(strings.TrimSuffix(got, "\n"), "\n")
		last := lines[len(lines)-1]
		if complete && strings.HasPrefix(last, "done ") {
			continue
		}
		if !strings.HasPrefix(last, "error ") {
			t.Errorf("ended after %d bytes, the last line is %q", end, last)
			return
		}
	}
}

// byChance matches generated IDs, which madeUp replaces.
var byChance = regexp.MustCompile(`call_[A-Z2-7]{26}`)

func madeUp(s string) string { return byChance.ReplaceAllString(s, "call_MADE_UP") }

// SeedStreams adds recorded streams, and parts of them, to a fuzz test.
func SeedStreams(f *testing.F, pattern string) {
	files, _ := filepath.Glob(pattern)
	for _, name := range files {
		stream, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(stream)
		f.Add(stream[:len(stream)/2])
		f.Add(stream[len(stream)/3:])
	}
	f.Add([]byte("data: [DONE]\n\n"))
	f.Add([]byte("data: {\"error\":\"no\"}\n\n"))
	f.Add([]byte("event: error\ndata: [[[\n\n"))
}

// CheckEnd checks that a transcript has exactly one end, at its end, and that it
// equals the transcript of the same bytes in other pieces.
func CheckEnd(t *testing.T, whole, pieces string) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(whole, "\n"), "\n")
	ends := 0
	for _, l := range lines {
		if strings.HasPrefix(l, "done ") || strings.HasPrefix(l, "error ") {
			ends++
		}
	}
	last := lines[len(lines)-1]
	if ends != 1 || !strings.HasPrefix(last, "done ") && !strings.HasPrefix(last, "error ") {
		t.Errorf("it ends %d times, at last with %q", ends, last)
	}
	if whole != pieces && madeUp(whole) != madeUp(pieces) {
		t.Errorf("whole:\n%s\nin pieces:\n%s", whole, pieces)
	}
}

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
