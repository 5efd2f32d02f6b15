package streamclient

import (
	"context"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/sse"
)

// A pushStream is the state of the push stream, on which legacy servers send
// messages that belong to no request. It stays open as long as the session.
type pushStream struct {
	mu     sync.Mutex
	gap    chan struct{} // closed when notifications may have been missed
	ended  bool
	first  chan struct{} // closed at the first response of the server to GET
	tried  func()        // closes first
	cancel context.CancelFunc
	late   atomic.Bool // calls began before the stream was open and may miss notifications
}

func (h *pushStream) init() {
	h.gap, h.first = make(chan struct{}), make(chan struct{})
	h.tried = sync.OnceFunc(func() { close(h.first) })
}

// interrupted returns a channel that is closed at the next interruption.
func (h *pushStream) interrupted() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.gap
}

// interrupt reports an interruption to all subscriptions.
func (h *pushStream) interrupt() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.ended {
		close(h.gap)
		h.gap = make(chan struct{})
	}
}

// end reports the last interruption and closes the stream.
func (h *pushStream) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended {
		return
	}
	h.ended = true
	close(h.gap)
	if h.cancel != nil {
		h.cancel()
	}
	h.tried()
}

// openPushStream keeps the push stream open in the background, if the server has one.
func (l *link) openPushStream() {
	if !l.begin() {
		return
	}
	ctx, cancel := context.WithCancel(l.ctx)
	l.push.mu.Lock()
	l.push.cancel = cancel
	if l.push.ended {
		cancel()
	}
	l.push.mu.Unlock()
	go func() { // ends with the link, or when the server refuses the stream
		defer l.end()
		defer cancel()
		defer l.push.tried()
		var at cursor
		for l.followPushStream(ctx, &at) && at.wait(ctx) {
		}
	}()
}

// followPushStream opens the push stream and reads it to its end. It reports whether to
// open it again.
func (l *link) followPushStream(ctx context.Context, at *cursor) bool {
	one, lose := context.WithCancelCause(ctx)
	defer lose(nil)
	resp, err := l.get(one, at.id)
	if err != nil {
		return ctx.Err() == nil
	}
	defer resp.Body.Close()
	l.push.tried()
	switch status := resp.StatusCode; {
	case isStream(resp):
		if late := l.push.late.Swap(false); late || at.missed {
			at.missed = false
			l.push.interrupt()
		}
	case (status == http.StatusNotFound || status == http.StatusBadRequest) && at.id != "":
		at.id, at.missed = "", true // the stream cannot be resumed, or the session is lost: the next attempt tells which
		return true
	case status == http.StatusNotFound && l.hasSession():
		l.lost.Store(true)
		l.push.end()
		return false
	case status >= 500 || status == http.StatusTooManyRequests || status == http.StatusConflict:
		return true // a temporary refusal
	case at.id != "":
		at.id = "" // the events in between are lost
		l.push.interrupt()
		return true
	default:
		return false
	}
	beat := watchIdle(resp.Body, lose)
	defer beat.stop()
	err = l.readPushStream(beat, at)
	if ctx.Err() != nil {
		return false
	}
	if tooLarge(err) {
		l.in.InvalidFrame(nil, err)
	}
	if at.id == "" {
		l.push.interrupt()
	}
	return true
}

func (l *link) hasSession() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.session != ""
}

// readPushStream handles the messages of the push stream until it ends.
func (l *link) readPushStream(stream io.Reader, at *cursor) error {
	events := sse.NewReader(stream, maxMessage)
	for {
		e, err := events.Next()
		if err != nil {
			return err
		}
		at.see(&e)
		if !isMessage(&e) {
			continue
		}
		l.tap(jsonrpc.In, e.Data)
		for _, it := range messages(e.Data) {
			switch {
			case it.Err != nil:
				l.in.InvalidFrame(e.Data, it.Err)
			case it.IsResponse() && l.deliverStray(it.Message):
			case it.IsResponse():
				l.in.InvalidFrame(e.Data, l.unexpected(it.ID))
			case it.IsRequest():
				l.serveRequest(it.Message, 0, nil)
			default:
				l.handleNotification(&it.Message, 0)
			}
		}
	}
}

// messages decodes a frame of a legacy server, which may be a batch.
func messages(data []byte) []jsonrpc.BatchItem {
	if jsonrpc.IsBatch(data) {
		items, err := jsonrpc.DecodeBatch(data, maxBatch)
		if err != nil {
			return []jsonrpc.BatchItem{{Err: err}}
		}
		return items
	}
	m, err := jsonrpc.Decode(data)
	return []jsonrpc.BatchItem{{Message: m, Err: err}}
}

// awaitPushStream waits up to a second for the server's response to GET. Many
// servers send input requests on the push stream even while a call is open, and
// drop them if the stream is not open yet.
func (l *link) awaitPushStream(ctx context.Context) {
	t := time.NewTimer(time.Second)
	defer t.Stop()
	select {
	case <-l.push.first:
	case <-t.C:
		l.push.late.Store(true)
	case <-ctx.Done():
	}
}
