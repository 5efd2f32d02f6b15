package streamclient

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/sse"
	"github.com/tenon-mcp/tenon/transport/internal/httpheader"
)

// The delay before resuming a broken stream. The retry time of the server is
// clamped to leastRetry and mostRetry; without one, the delay starts at
// firstRetry and doubles up to mostWait.
const (
	leastRetry = 100 * time.Millisecond
	mostRetry  = 60 * time.Second
	firstRetry = time.Second
	mostWait   = 30 * time.Second
	maxRetries = 10 // in a row without an event
)

// A cursor is the position in a stream of events.
type cursor struct {
	id       string        // of the last event; empty if it has none
	retry    time.Duration // the retry time of the server
	asked    bool          // retry is set
	fruitful bool          // an event arrived since the last wait
	missed   bool          // events may have been missed, not yet reported
	failures int           // attempts in a row without an event
}

// see records the id and the retry time of an event.
func (c *cursor) see(e *sse.Event) {
	c.fruitful = true
	if e.HasID {
		c.id = ""
		if sendable(e.ID) { // otherwise Last-Event-ID cannot carry it
			c.id = e.ID
		}
	}
	if e.HasRetry {
		c.retry, c.asked = min(max(e.Retry, leastRetry), mostRetry), true
	}
}

// wait waits before the next attempt. It reports false if ctx ends first.
func (c *cursor) wait(ctx context.Context) bool {
	if c.fruitful {
		c.failures = 0
	}
	c.fruitful = false
	d := min(firstRetry<<min(c.failures, 10), mostWait)
	if c.asked {
		d = c.retry
	}
	c.failures++
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// events reads the response from a stream, and resumes the stream when it breaks
// if a legacy server has given its events ids.
func (p *post) events(ctx context.Context, resp *http.Response) {
	stream, header := resp.Body, resp.Header
	for {
		err := p.readAlive(stream, header)
		if p.answered.Load() {
			p.linger(stream)
			stream.Close()
			return
		}
		stream.Close()
		if p.modern || p.cursor.id == "" || ctx.Err() != nil || p.dropped.Load() || tooLarge(err) {
			p.done(jsonrpc.Response{Err: p.broken(ctx, err)})
			return
		}
		if stream, err = p.resume(ctx, err); err != nil {
			p.done(jsonrpc.Response{Err: err})
			return
		}
	}
}

func tooLarge(err error) bool {
	_, ok := errors.AsType[*sse.LimitError](err)
	return ok
}

// readAlive is read with an idle timeout for subscriptions. Other calls have
// none: the caller's context bounds them.
func (p *post) readAlive(stream io.Reader, h http.Header) error {
	if p.m.Method != mcp.MethodSubscriptionsListen {
		return p.read(stream, h)
	}
	beat := watchIdle(stream, func(err error) {
		p.fail(&StreamEndedError{Method: p.m.Method, Cause: err})
	})
	defer beat.stop()
	return p.read(beat, h)
}

// read reads events until the response arrives or the stream ends.
func (p *post) read(stream io.Reader, h http.Header) error {
	events := sse.NewReader(stream, maxMessage)
	for !p.answered.Load() {
		e, err := events.Next()
		if err != nil {
			return err
		}
		p.cursor.see(&e)
		if isMessage(&e) {
			p.link.tap(jsonrpc.In, e.Data)
			p.take(e.Data, h)
		}
	}
	return nil
}

// isMessage reports whether an event carries a message. An event without data
// only sets the id, and named events belong to others.
func isMessage(e *sse.Event) bool {
	return len(e.Data) > 0 && (e.Name == "" || e.Name == "message")
}

// linger reads a stream to its end after the response, for at most a second, so
// that its connection can be reused.
func (p *post) linger(stream io.Reader) {
	t := time.AfterFunc(time.Second, func() { p.cancel(context.Canceled) })
	defer t.Stop()
	drain(stream)
}

// resume reopens a broken stream after its last event.
func (p *post) resume(ctx context.Context, cause error) (io.ReadCloser, error) {
	for p.cursor.failures < maxRetries || p.cursor.fruitful {
		if !p.cursor.wait(ctx) {
			return nil, p.broken(ctx, cause)
		}
		resp, err := p.link.get(ctx, p.cursor.id)
		switch {
		case err == nil && isStream(resp):
			return resp.Body, nil
		case err == nil:
			answer := p.link.refused(p.m.Method, resp, p.session)
			resp.Body.Close()
			if lost, ok := errors.AsType[*errSessionLost](answer.Err); ok {
				lost.unserved = false
				return nil, lost
			}
			if cause = answer.Err; cause == nil {
				cause = answer.Error
			}
			if resp.StatusCode < 500 {
				return nil, p.broken(ctx, cause)
			}
		default:
			cause = err
		}
	}
	return nil, p.broken(ctx, cause)
}

func isStream(resp *http.Response) bool {
	return resp.StatusCode == http.StatusOK && contentType(resp.Header) == typeEvents
}

// get opens a stream of events with GET: the rest of the stream that has the
// event with the id after or, if that is empty, the session's push stream.
func (l *link) get(ctx context.Context, after string) (*http.Response, error) {
	h := http.Header{"Accept": takesEvents}
	l.identify(h)
	if after != "" {
		h[httpheader.LastEvent] = []string{after}
	}
	return l.to.send(ctx, http.MethodGet, h, nil)
}

// sendable reports whether a text can be the value of a header unchanged.
func sendable(s string) bool {
	return len(s) <= 4096 && strings.IndexFunc(s, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) < 0 && strings.TrimSpace(s) == s
}
