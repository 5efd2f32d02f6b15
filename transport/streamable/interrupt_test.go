package streamable

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
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

// A pipeWriter is a ResponseWriter whose connection, once taken over, is a pipe.
type pipeWriter struct {
	http.ResponseWriter
	conn net.Conn
}

func (w pipeWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) { return w.conn, nil, nil }

// A stream whose client takes not even the head of its response ends when
// WriteIdle has passed, on a connection that was taken over as on any other.
func TestHeadOnTakenConnectionHasADeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, err := NewHandler(nil, &Options{TakeOver: true})
		if err != nil {
			t.Fatal(err)
		}
		near, far := net.Pipe()
		ended := make(chan struct{})
		h.serveLongPoll(pipeWriter{httptest.NewRecorder(), near}, httptest.NewRequest(http.MethodPost, "/", nil), func(ctx context.Context, w http.ResponseWriter) {
			defer close(ended)
			o := &eventWriter{h: h, w: w, ctx: ctx}
			o.begin()
			if !o.failed {
				t.Error("the client has taken the head")
			}
		})
		select {
		case <-ended:
		case <-time.After(h.opts.WriteIdle + time.Second):
			t.Errorf("the head is still being written after %s", h.opts.WriteIdle)
		}
		far.Close()
		<-ended
		h.Shutdown()
	})
}
