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

// A hearing is the stream on which servers of older revisions push what belongs
// to no request. It is kept open as long as the session is.
type listenState struct {
	mu     sync.Mutex
	gap    chan struct{} // closed when something may have been missed
	ended  bool
	first  chan struct{} // closed when the server has answered for the first time
	tried  func()        // closes first
	cancel context.CancelFunc
	late   atomic.Bool // somebody went on before the stream was there, and may miss something
}

func (h *listenState) init() {
	h.gap, h.first = make(chan struct{}), make(chan struct{})
	h.tried = sync.OnceFunc(func() { close(h.first) })
}

// interrupted is closed at the next interruption.
func (h *listenState) interrupted() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.gap
}

// interrupt lets everybody know who listens.
func (h *listenState) interrupt() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.ended {
		close(h.gap)
		h.gap = make(chan struct{})
	}
}

// end is the interruption after which nothing comes.
func (h *listenState) end() {
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

// hear keeps the stream open in the background, if the server has one.
func (l *link) hear() {
	if !l.begin(false) {
		return
	}
	ctx, cancel := context.WithCancel(l.ctx)
	l.hearing.mu.Lock()
	l.hearing.cancel = cancel
	if l.hearing.ended {
		cancel()
	}
	l.hearing.mu.Unlock()
	go func() { // ends with the link, or when the server does not want it
		defer l.end()
		defer cancel()
		defer l.hearing.tried()
		var at cursor
		for l.listen(ctx, &at) && at.wait(ctx) {
		}
	}()
}

// listen reads the stream once, and reports whether to come back.
func (l *link) listen(ctx context.Context, at *cursor) bool {
	one, lose := context.WithCancelCause(ctx)
	defer lose(nil)
	resp, err := l.get(one, at.id)
	if err != nil {
		return ctx.Err() == nil
	}
	defer resp.Body.Close()
	l.hearing.tried()
	switch status := resp.StatusCode; {
	case isStream(resp):
		if late := l.hearing.late.Swap(false); late || at.missed {
			at.missed = false
			l.hearing.interrupt()
		}
	case (status == http.StatusNotFound || status == http.StatusBadRequest) && at.id != "":
		at.id, at.missed = "", true // the stream cannot be resumed, or the session is lost: the next try tells
		return true
	case status == http.StatusNotFound && l.hasSession():
		l.lost.Store(true)
		l.hearing.end()
		return false
	case status >= 500 || status == http.StatusTooManyRequests || status == http.StatusConflict:
		return true // for now
	case at.id != "":
		at.id = "" // what came meanwhile is not to be had any more
		l.hearing.interrupt()
		return true
	default:
		return false
	}
	beat := watchIdle(resp.Body, lose)
	defer beat.stop()
	err = l.pushed(beat, at)
	if ctx.Err() != nil {
		return false
	}
	if tooLarge(err) {
		l.in.InvalidFrame(nil, err)
	}
	if at.id == "" {
		l.hearing.interrupt()
	}
	return true
}

func (l *link) hasSession() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.session != ""
}

// pushed takes in what comes until the stream ends.
func (l *link) pushed(stream io.Reader, at *cursor) error {
	events := sse.NewReader(stream, maxAnswer)
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
			case it.IsResponse() && l.strayed(it.Message):
			case it.IsResponse():
				l.in.InvalidFrame(e.Data, l.unexpected(it.ID))
			case it.IsRequest():
				l.asks(it.Message, 0, nil)
			default:
				l.told(&it.Message, 0)
			}
		}
	}
}

// messages reads a frame of an older server, which may hold several messages.
func messages(data []byte) []jsonrpc.BatchItem {
	if jsonrpc.IsBatch(data) {
		items, err := jsonrpc.DecodeBatch(data, maxBatchTaken)
		if err != nil {
			return []jsonrpc.BatchItem{{Err: err}}
		}
		return items
	}
	m, err := jsonrpc.Decode(data)
	return []jsonrpc.BatchItem{{Message: m, Err: err}}
}

// awaitHearing waits, not for long, until the server has answered whether there
// is such a stream. Many servers send their questions on it even while a call is
// open, and drop them where it is not there yet.
func (l *link) awaitHearing(ctx context.Context) {
	t := time.NewTimer(time.Second)
	defer t.Stop()
	select {
	case <-l.hearing.first:
	case <-t.C:
		l.hearing.late.Store(true)
	case <-ctx.Done():
	}
}
