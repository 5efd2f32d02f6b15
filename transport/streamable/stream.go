package streamable

import (
	"container/list"
	"context"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/internal/notifyqueue"
)

// A stream carries the messages of one call, or the changes of a session, to a
// client of an older revision. The client may be let go, or go away, and resume:
// every event has an id and is kept by the store.
//
// Messages pass through one queue. While a client is connected, the goroutine of
// its HTTP request delivers them: it stores each and writes it. While none is,
// whoever sends a message stores it. So nothing is stored or written under a
// lock, and the order of the ids is that of the events.
type stream struct {
	all     *sessions
	ses     *session
	prime   bool // the client resumes when it is let go, and is told from where at once
	changes bool // it carries the changes of the session, not a call

	jsonOnly bool // the client of the call does not accept a stream: notifications are left out

	ctx    context.Context // of the call; nil for changes
	detach func()          // ends the subscription to changes; set before the first client is served

	queue notifyqueue.Queue[message]

	// For the goroutine that delivers:
	name   string // set with the first event
	opened bool   // there was an event
	told   bool   // the client knows an id to resume from
	ended  bool   // the last message was delivered

	first    visit        // of the client that made the call
	response era.Response // to the request, once it is served

	mu      sync.Mutex
	visit   *visit     // the client that is connected; nil while none is
	cancel  func()     // ends the call, or the waiting for a client that left; nil if there is neither
	lingers *lingering // changes are kept for a client that left; nil otherwise
	closed  bool       // no client can connect any more

	away *list.Element // in sessions.away while the client is; guarded by sessions.mu, as is
	left time.Time     // when it left
}

// A message waits in a stream, or says what to do when those before it are
// delivered.
type message struct {
	data    []byte
	answer  *era.Response // the response, which is not encoded yet
	end     bool          // nothing follows
	release bool          // the client is let go
}

// A visit is a client that is connected to a stream.
type visit struct {
	out     eventWriter
	gone    atomic.Bool   // another client has taken its place
	settled chan struct{} // closed when the other client does no more to this one; nil before there is another; guarded by stream.mu
}

// newStream returns the stream of a call. The call runs in ctx and ends with
// cancel. The caller delivers, see serve.
func (s *sessions) newStream(ctx context.Context, cancel func(), ses *session, r *http.Request) *stream {
	st := &stream{all: s, ses: ses, prime: ses.era.Resumes(), ctx: ctx, cancel: cancel, jsonOnly: !acceptsEvents(r.Header)}
	st.queue.Receive()
	return st
}

// retryAfter is how long a client is asked to wait before it comes back.
const retryAfter = "retry: 500\n"

// Tell sends a notification of the call, unless that was cancelled or the client
// accepts no stream.
func (st *stream) Notify(n era.Notification) {
	if st.ctx.Err() == nil && !st.jsonOnly {
		st.notify(n)
	}
}

// notify queues a notification. It does not wait for the client.
func (st *stream) notify(n era.Notification) {
	data := n.Value(nil)
	st.put(notifyqueue.Item[message]{Kind: n.Kind, Key: n.Key, Size: len(data), Value: message{data: data}})
}

// send queues a message that must not be dropped.
func (st *stream) send(build func(dst []byte) []byte) {
	st.put(notifyqueue.Item[message]{Value: message{data: build(nil)}})
}

// close ends the stream with the response, or without one if that is nil.
func (st *stream) close(answer *era.Response) {
	st.put(notifyqueue.Item[message]{Value: message{answer: answer, end: true}})
}

// Ask is in asks.go; Release lets the client go, if it accepts the stream that
// it would resume.
func (st *stream) Release() {
	if !st.jsonOnly {
		st.letGo()
	}
}

// letGo ends the connection to the client, who may resume.
func (st *stream) letGo() { st.put(notifyqueue.Item[message]{Value: message{release: true}}) }

func (st *stream) put(it notifyqueue.Item[message]) {
	if st.queue.Put(it) {
		st.keep()
	}
}

// keep stores what waits while no client is connected, and ends the delivering
// of the caller.
func (st *stream) keep() {
	whole := false
	defer func() {
		if !whole { // the store has panicked
			st.queue.Abort()
		}
	}()
	for items, ok := st.queue.Next(); ok; items, ok = st.queue.Next() {
		for _, it := range items {
			st.store(&it.Value)
		}
	}
	whole = true
}

// store keeps an event for a client that resumes. One that knows no id cannot.
func (st *stream) store(e *message) {
	if st.ended {
		return
	}
	if st.told {
		if data := e.encoded(); data != nil {
			st.all.store.AddEvent(st.ses.id, st.name, data)
		}
	}
	if e.end {
		st.finish()
	}
}

// encoded returns the message of an event; nil if it has none.
func (e *message) encoded() []byte {
	if e.answer != nil {
		return e.answer.Append(nil)
	}
	return e.data
}

// finish notes that the last message was delivered.
func (st *stream) finish() {
	st.ended = true
	st.all.returned(st)
	st.ses.mu.Lock()
	defer st.ses.mu.Unlock()
	delete(st.ses.streams, st.name)
}

// write sends an event to a client and stores it.
func (st *stream) write(out *eventWriter, e *message) {
	switch data := e.encoded(); {
	case st.ended:
		return
	case data != nil:
		st.open(out)
		id := st.all.store.AddEvent(st.ses.id, st.name, data)
		out.event(id, data)
		st.told = true
	}
	if e.end {
		st.finish()
	}
}

// open begins the stream. A client that resumes when it is let go gets an event
// without a message first, so that it knows from where.
func (st *stream) open(out *eventWriter) {
	if st.opened {
		return
	}
	st.opened = true
	st.register()
	if st.prime {
		out.event(st.all.store.AddEvent(st.ses.id, st.name, nil), nil)
		st.told = true
	}
}

// register names the stream: from now on a client may know where to resume.
func (st *stream) register() {
	if st.changes {
		st.name = changeStream
		return
	}
	ses := st.ses
	ses.mu.Lock()
	defer ses.mu.Unlock()
	st.name = "s" + strconv.FormatUint(rand.Uint64(), 36) // other instances name streams of this session, too
	if ses.streams == nil {
		ses.streams = map[string]*stream{}
	}
	ses.streams[st.name] = st
}

// attach makes a client the one that is connected. There is one of them, the
// last that came: it has often lost its connection before the server noticed.
// It reports false if the stream is closed.
func (st *stream) attach(v *visit) bool {
	st.mu.Lock()
	if st.closed {
		st.mu.Unlock()
		return false
	}
	before, l := st.visit, st.lingers
	st.visit, st.lingers = v, nil
	if before != nil {
		before.settled = make(chan struct{})
	}
	st.mu.Unlock()
	if l != nil {
		l.stop()
	}
	if before != nil {
		before.gone.Store(true)
		st.queue.Wake()
		before.out.interrupt()
		close(before.settled)
	}
	return true
}

// take makes the caller the one who delivers, for its client. It reports false,
// and has answered, if another client has taken the place already.
func (st *stream) take(v *visit) bool {
	st.queue.Await()
	st.all.returned(st)
	if !v.gone.Load() {
		return true
	}
	st.leave(v)
	v.out.resume()
	refuse(v.out.w, http.StatusConflict, "another connection has taken over this stream")
	return false
}

// serve delivers messages to a client until it goes, it is let go, or the stream
// ends. The caller has become the one who delivers.
func (st *stream) serve(ctx context.Context, v *visit) {
	whole := false
	defer func() {
		if !whole { // the store has panicked
			st.queue.Abort()
		}
	}()
	st.all.returned(st)
	var alive *time.Timer
	for st.deliver(&v.out) && !v.out.failed {
		if v.out.stream && alive == nil {
			alive = time.AfterFunc(st.all.h.opts.KeepAlive, st.queue.Wake)
			defer alive.Stop()
		} else if alive != nil {
			alive.Reset(v.out.keepAlive())
		}
		if !st.await(ctx, v) {
			break
		}
	}
	st.leave(v)
	whole = true
}

// await waits until there is something to deliver. It reports false if the
// client has gone.
func (st *stream) await(ctx context.Context, v *visit) bool {
	select {
	case <-st.queue.Ready():
		return !v.gone.Load()
	case <-ctx.Done():
		return false
	}
}

// deliver writes what waits. It reports whether the client stays.
func (st *stream) deliver(out *eventWriter) (stays bool) {
	items, lost := st.queue.Take()
	stays = true
	if lost && st.changes { // the client cannot resume: it connects again and looks for itself
		stays, st.told = false, false
	}
	for _, it := range items {
		e := &it.Value
		switch {
		case !stays:
			st.store(e)
		case e.release:
			st.open(out)
			out.raw(retryAfter + "\n")
			stays = false
		case e.end && !st.opened: // it need not be a stream
			if e.answer != nil {
				out.answer(okStatus, e.answer)
			} else {
				out.nothing()
			}
			st.finish()
		default:
			st.write(out, e)
		}
	}
	return stays && !st.ended
}

// leave ends the connection of a client, and the delivering of the caller.
func (st *stream) leave(v *visit) {
	st.mu.Lock()
	isLast, settled := st.visit == v, v.settled
	if isLast {
		st.visit = nil
	}
	st.mu.Unlock()
	switch {
	case !isLast:
		<-settled
	case st.ended:
	case st.changes:
		st.all.linger(st)
	default:
		st.all.leftAlone(st)
	}
	st.keep()
}

// abandon cancels a call that no client waits for.
func (st *stream) abandon() {
	st.mu.Lock()
	alone, cancel := st.visit == nil, st.cancel
	st.mu.Unlock()
	if alone && cancel != nil {
		cancel()
	}
}
