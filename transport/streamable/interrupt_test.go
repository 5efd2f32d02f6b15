package streamable

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A hookedWriter calls before before each write.
type hookedWriter struct {
	http.ResponseWriter
	before func()
}

func (w hookedWriter) Write(p []byte) (int, error) {
	w.before()
	return w.ResponseWriter.Write(p)
}

func (w hookedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// A client that connects again while an event is on its way to the connection
// before breaks nothing: the event arrives whole and the response ends in order.
func TestInterruptCompletesTheWrite(t *testing.T) {
	h, err := NewHandler(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o := &eventWriter{h: h, ctx: r.Context()}
		o.w = hookedWriter{w, o.interrupt}
		o.event("1", []byte("{}"))
		o.event("2", []byte("{}"))
		if !o.failed {
			t.Error("it writes on after the interruption")
		}
	}))
	defer s.Close()
	res, err := s.Client().Get(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || !strings.HasPrefix(string(text), "id: 1\ndata: {}\n\n") || strings.Contains(string(text), "id: 2") {
		t.Errorf("the client got %q, %v", text, err)
	}
}
