package httpsse

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/sse"
)

// A remote is the client's [jsonrpc.Stream]: it reads messages from events and
// writes each message with POST.
type remote struct {
	endpoint *Endpoint
	http     *http.Client
	own      *http.Transport // closed with the stream; nil if the caller set Endpoint.HTTP
	post     *url.URL

	ctx     context.Context // for all requests; Close ends it
	cancel  context.CancelFunc
	body    io.ReadCloser // of the stream; nil before it is open
	events  *sse.Reader
	queue   chan frame
	reading sync.WaitGroup
	done    chan struct{}
	close   sync.Once
	failed  atomic.Pointer[error] // why a message could not be sent
}

// A frame is what Read returns.
type frame struct {
	data []byte
	err  error
}

// read queues messages of the stream until it ends.
func (s *remote) read() {
	for {
		e, err := s.events.Next()
		if err == nil && (len(e.Data) == 0 || e.Name != "" && e.Name != "message") {
			continue
		}
		if !s.put(frame{e.Data, err}) || err != nil {
			return
		}
	}
}

func (s *remote) put(f frame) bool {
	select {
	case s.queue <- f:
		return true
	case <-s.done:
		return false
	}
}

func (s *remote) Read() ([]byte, error) {
	select {
	case f := <-s.queue:
		if f.err == nil || s.ctx.Err() == nil {
			return f.data, f.err
		}
	case <-s.done:
	}
	if err := s.failed.Load(); err != nil {
		return nil, *err
	}
	return nil, io.EOF
}

// Write sends each message in order. A request that the server refuses with a
// status gets an error response; a refusal of another message ends the stream.
func (s *remote) Write(frames []byte) error {
	for line := range bytes.Lines(frames) {
		line = bytes.TrimSuffix(line, []byte{'\n'})
		if len(line) == 0 {
			continue
		}
		err := s.send(line)
		if refused, ok := errors.AsType[*StatusError](err); ok && refused.Status != http.StatusNotFound {
			if answer := s.refusal(line, refused); answer != nil {
				s.put(frame{data: answer})
				continue
			}
		}
		if err != nil {
			s.failed.CompareAndSwap(nil, &err) // for Read
			return err
		}
	}
	return nil
}

// refusal returns the error response to a refused request; nil for other messages.
func (s *remote) refusal(line []byte, refused *StatusError) []byte {
	m, err := jsonrpc.Decode(line)
	if err != nil || m.IsResponse() || m.IsNotification() {
		return nil
	}
	return jsonrpc.AppendError(nil, m.ID, &jsonrpc.Error{Code: mcp.CodeInternal, Message: refused.Error()})
}

func (s *remote) send(message []byte) error {
	ctx, cancel := context.WithTimeoutCause(s.ctx, cmp.Or(max(s.endpoint.PostTimeout, 0), 30*time.Second), errors.New("the server did not accept a message in time"))
	defer cancel()
	r, err := s.request(http.MethodPost, s.post, message)
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := s.http.Do(r.WithContext(ctx))
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return withoutURL(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode < 200 || 299 < resp.StatusCode {
		return statusError("a message", resp)
	}
	// Read to its end, so that the connection can be reused.
	_, _ = io.CopyN(io.Discard, resp.Body, 4<<10)
	return nil
}

func (s *remote) request(method string, to *url.URL, body []byte) (*http.Request, error) {
	var from io.Reader
	if body != nil {
		from = bytes.NewReader(body)
	}
	r, err := http.NewRequestWithContext(s.ctx, method, to.String(), from)
	if err != nil {
		return nil, err
	}
	if s.endpoint.Header != nil {
		r.Header = s.endpoint.Header.Clone()
	}
	return r, nil
}

// withoutURL removes the URL, which may contain secrets, from an error.
func withoutURL(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}

// Close ends the stream and every request.
func (s *remote) Close() error {
	s.close.Do(func() {
		close(s.done)
		s.cancel()
		if s.body != nil {
			_ = s.body.Close()
		}
		s.reading.Wait()
		if s.own != nil {
			s.own.CloseIdleConnections()
		}
	})
	return nil
}

// A StatusError is a request that the server refused with an HTTP status.
type StatusError struct {
	Status int
	what   string // the request
	text   string // of the body
}

func (e *StatusError) Error() string {
	s := fmt.Sprintf("the server refused %s: %d %s", e.what, e.Status, http.StatusText(e.Status))
	if e.text != "" {
		s += fmt.Sprintf(" (%q)", e.text)
	}
	return s
}

// statusError returns a StatusError with the start of the body.
func statusError(what string, resp *http.Response) error {
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 200)) // a partial body is enough
	return &StatusError{Status: resp.StatusCode, what: what, text: string(bytes.TrimSpace(text))}
}
