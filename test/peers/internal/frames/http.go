package frames

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
)

// Server returns a handler that takes down what h is sent and what it sends,
// as JSON or as server-sent events. A session is one talk, and so is a request
// that belongs to none. A session of HTTP+SSE is known by the query of the URL
// that its messages go to.
func (r *Recording) Server(h http.Handler) http.Handler {
	var exchanges atomic.Int64
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		x := &exchange{ResponseWriter: w, recording: r, talk: req.Header.Get(sessionHeader)}
		if x.talk == "" {
			x.talk = req.URL.RawQuery
		}
		x.number = exchanges.Add(1)
		req.Body = &body{req.Body, x}
		h.ServeHTTP(x, req)
		x.end()
	})
}

const sessionHeader = "Mcp-Session-Id"

// An exchange is one HTTP request and its answer.
type exchange struct {
	http.ResponseWriter
	recording *Recording
	number    int64

	mu       sync.Mutex
	talk     string
	received bytes.Buffer
	started  bool // the answer has its headers, so that the talk is known
	events   bool // it is a stream
	sent     bytes.Buffer
}

// Unwrap is for http.ResponseController.
func (x *exchange) Unwrap() http.ResponseWriter { return x.ResponseWriter }

func (x *exchange) WriteHeader(status int) {
	x.mu.Lock()
	x.start()
	x.mu.Unlock()
	x.ResponseWriter.WriteHeader(status)
}

func (x *exchange) Write(b []byte) (int, error) {
	x.mu.Lock()
	x.start()
	x.sent.Write(b)
	for x.events {
		event, rest, whole := bytes.Cut(x.sent.Bytes(), []byte("\n\n"))
		if !whole {
			break
		}
		x.event(string(event))
		x.sent = *bytes.NewBuffer(bytes.Clone(rest))
	}
	x.mu.Unlock()
	return x.ResponseWriter.Write(b)
}

// start is called when the headers of the answer are complete.
func (x *exchange) start() {
	if x.started {
		return
	}
	x.started = true
	if id := x.Header().Get(sessionHeader); id != "" {
		x.talk = id
	}
	if x.talk == "" {
		x.talk = fmt.Sprint("exchange ", x.number)
	}
	x.events = strings.HasPrefix(x.Header().Get("Content-Type"), "text/event-stream")
	if x.received.Len() > 0 {
		x.recording.add(x.talk, false, x.received.String())
	}
}

// event takes down what one event brings; a comment, or the mark at the start
// of a stream, brings nothing.
func (x *exchange) event(text string) {
	var data []string
	name := ""
	for line := range strings.SplitSeq(text, "\n") {
		if n, ok := strings.CutPrefix(line, "event:"); ok {
			name = strings.TrimSpace(n)
		}
		if d, ok := strings.CutPrefix(line, "data:"); ok {
			data = append(data, strings.TrimPrefix(d, " "))
		}
	}
	switch all := strings.Join(data, "\n"); {
	case name == "endpoint":
		_, x.talk, _ = strings.Cut(all, "?")
	case all != "":
		x.recording.add(x.talk, true, all)
	}
}

func (x *exchange) end() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.start()
	switch {
	case x.sent.Len() == 0:
	case x.events:
		x.recording.add(x.talk, true, "an event without an end: "+x.sent.String())
	case strings.HasPrefix(x.Header().Get("Content-Type"), "application/json"):
		x.recording.add(x.talk, true, x.sent.String())
	}
}

// A body keeps what is read from it.
type body struct {
	io.ReadCloser
	of *exchange
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.of.mu.Lock()
	defer b.of.mu.Unlock()
	b.of.received.Write(p[:n])
	return n, err
}
