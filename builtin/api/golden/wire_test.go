package golden

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

type endless struct{ read int }

func (e *endless) Read(p []byte) (int, error) {
	e.read += len(p)
	return copy(p, strings.Repeat("x", len(p))), nil
}

type answering struct{ body io.Reader }

func (a answering) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(a.body), Request: r}, nil
}

// A run against an API reads no more of an answer than the server asks for, beside
// what is recorded.
func TestRecordingDoesNotReadAnEndlessAnswer(t *testing.T) {
	body := &endless{}
	base := &url.URL{Scheme: "http", Host: "example.com"}
	w := &wire{base: base, live: true, network: answering{body}}
	res, err := w.RoundTrip(&http.Request{Method: http.MethodGet, URL: base, Header: http.Header{}})
	if err != nil {
		t.Fatal(err)
	}
	if body.read > 4*maxRecorded || len(w.recorded) != 0 {
		t.Errorf("read %d bytes, recorded %d answers", body.read, len(w.recorded))
	}
	got, err := io.ReadAll(io.LimitReader(res.Body, 2*maxRecorded))
	if err != nil || len(got) != 2*maxRecorded {
		t.Errorf("the server gets %d bytes: %v", len(got), err)
	}
	if err := res.Body.Close(); err != nil {
		t.Error(err)
	}
}
