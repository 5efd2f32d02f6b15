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

	"github.com/tenon-mcp/tenon/internal/eraconn"
	"github.com/tenon-mcp/tenon/internal/notifyqueue"
)

// A stream carries the messages of one call, or the changes of a session, to a
// legacy client. The client may disconnect and resume: every event has an id and
// is stored.
//
// Messages pass through one queue. While a client is connected, the goroutine of
// its HTTP request stores and writes them; otherwise the sender of a message
// stores it. So nothing is stored or written under a lock, and ids are in the
// order of the events.
type stream struct {
	all     *sessions
	ses     *session
	prime   bool // the revision resumes streams: the first event only gives an id
	changes bool // carries the changes of the session, not a call

	jsonOnly bool // the client accepts no stream: notifications are dropped

	shared *sharedStream // nil without a cluster

	ctx    context.Context // of the call; nil for changes
	detach func()          // ends the subscription to changes; set before the first client is served

	queue notifyqueue.Queue[message]

	// Used by the goroutine that delivers:
	name      string // set with the first event
	opened    bool   // an event was sent
	resumable bool   // the client has an id to resume from
	ended     bool   // the last message was delivered

	closed bool // no client can connect any more; guarded by mu

	first    clientConn       // of the client that made the call
	response eraconn.Response // to the request, once it is served

	mu      sync.Mutex
	client  *clientConn // nil while no client is connected
	cancel  func()      // ends the call, or the wait for a disconnected client; may be nil
	lingers *lingering  // set while changes are stored for a disconnected client

	element *list.Element // in sessions.disconnected or unreadChanges; guarded by sessions.mu, as is
	left    time.Time     // when the client disconnected
}

// A message is an item of a stream's queue: a message to send, or a command.
type message struct {
	data     []byte
	response *eraconn.Response // the response, not yet encoded
	end      bool              // the last one
	release  bool              // disconnect the client, which may resume
}

// A clientConn is a client that is connected to a stream.
type clientConn struct {
	out     eventWriter
	gone    atomic.Bool   // another client has connected
	settled chan struct{} // closed when the other client no longer uses this one; nil without another; guarded by stream.mu
}

// newStream returns the stream of a call with context ctx. The caller delivers,
// see serve.
func (s *sessions) newStream(ctx context.Context, cancel func(), ses *session, r *http.Request) *stream {
	st := &stream{all: s, ses: ses, prime: ses.era.Resumes(), ctx: ctx, cancel: cancel, jsonOnly: !acceptsEvents(r.Header)}
	st.queue.Receive()
	if s.h.opts.Cluster != nil {
		st.shared = new(sharedStream)
	}
	return st
}

// retryAfter asks the client to resume after 500 ms.
const retryAfter = "retry: 500\n"

// Notify sends a notification of the call, unless the call was cancelled or the
// client accepts no stream.
func (st *stream) Notify(n eraconn.Notification) {
	if st.ctx.Err() == nil && !st.jsonOnly {
		st.notify(n)
	}
}

// notify queues a notification. It does not wait for the client.
func (st *stream) notify(n eraconn.Notification) {
	data := n.Value(nil)
	st.put(notifyqueue.Item[message]{Kind: n.Kind, Key: n.Key, Size: len(data), Value: message{data: data}})
}

// send queues a message that must not be dropped.
func (st *stream) send(build func(dst []byte) []byte) {
	st.put(notifyqueue.Item[message]{Value: message{data: build(nil)}})
}

// close ends the stream with the response, or without one if that is nil.
func (st *stream) close(response *eraconn.Response) {
	st.put(notifyqueue.Item[message]{Value: message{response: response, end: true}})
}

// Release disconnects the client, which may resume, if it accepts a stream.
func (st *stream) Release() {
	if !st.jsonOnly {
		st.disconnect()
	}
}

// disconnect ends the connection to the client, which may resume.
func (st *stream) disconnect() { st.put(notifyqueue.Item[message]{Value: message{release: true}}) }

func (st *stream) put(it notifyqueue.Item[message]) {
	if st.queue.Put(it) {
		st.storePending()
	}
}

// storePending stores the queued messages while no client is connected. The
// caller delivers, until storePending returns.
func (st *stream) storePending() {
	whole := false
	defer func() {
		if !whole { // the store panicked
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

// store stores an event for a client that can resume.
func (st *stream) store(e *message) {
	if st.ended {
		return
	}
	if st.resumable {
		if data := e.encoded(); data != nil {
			st.all.backend.add(st, data, e.end)
		}
	}
	if e.end {
		st.finish()
	}
}

// encoded returns the encoded message; nil for a command.
func (e *message) encoded() []byte {
	if e.response != nil {
		return e.response.Append(nil)
	}
	return e.data
}

// finish records that the last message was delivered.
func (st *stream) finish() {
	st.ended = true
	st.all.clientReturned(st)
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
		id := st.all.backend.add(st, data, e.end)
		out.event(id, data)
		st.resumable = true
	}
	if e.end {
		st.finish()
	}
}

// open begins the stream, with an event without a message if the revision
// resumes streams, so that the client has an id.
func (st *stream) open(out *eventWriter) {
	if st.opened {
		return
	}
	st.opened = true
	st.register()
	if st.prime {
		out.event(st.all.backend.add(st, nil, false), nil)
		st.resumable = true
	}
}

// register names the stream, so that a client can resume it.
func (st *stream) register() {
	if st.name == "" || !st.changes {
		st.name = st.all.backend.name(st)
	}
	if st.changes {
		return
	}
	ses := st.ses
	ses.mu.Lock()
	defer ses.mu.Unlock()
	if ses.streams == nil {
		ses.streams = map[string]*stream{}
	}
	ses.streams[st.name] = st
}

// randomName returns a name for a stream. It is random, since other instances
// name streams of the same session, too.
func randomName() string { return "s" + strconv.FormatUint(rand.Uint64(), 36) }

// attach connects a client in place of an earlier one, whose connection is often
// lost before the server notices. It reports false if the stream is closed.
func (st *stream) attach(v *clientConn) bool {
	st.mu.Lock()
	if st.closed {
		st.mu.Unlock()
		return false
	}
	before, l := st.client, st.lingers
	st.client, st.lingers = v, nil
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

// claim makes the caller deliver, for its client. If another client has
// connected meanwhile, it refuses the request and reports false.
func (st *stream) claim(v *clientConn) bool {
	st.queue.Await()
	if st.shared != nil {
		st.shared.logging = false
	}
	st.all.clientReturned(st)
	if !v.gone.Load() {
		return true
	}
	st.leave(v)
	v.out.resume()
	refuse(v.out.w, http.StatusConflict, "another connection has taken over this stream")
	return false
}

// serve delivers messages to a client until it disconnects or is disconnected,
// or the stream ends. The caller has claimed the stream.
func (st *stream) serve(ctx context.Context, v *clientConn) {
	whole := false
	defer func() {
		if !whole { // the store panicked
			st.queue.Abort()
		}
	}()
	st.all.clientReturned(st)
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

// await waits for messages. It reports false if the client has disconnected.
func (st *stream) await(ctx context.Context, v *clientConn) bool {
	select {
	case <-st.queue.Ready():
		return !v.gone.Load()
	case <-ctx.Done():
		return false
	}
}

// deliver writes the queued messages. It reports whether the client stays
// connected.
func (st *stream) deliver(out *eventWriter) (stays bool) {
	items, lost := st.queue.Take()
	stays = true
	if lost && st.changes { // the client cannot resume: it connects again and reads the current state
		stays, st.resumable = false, false
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
		case e.end && !st.opened: // a plain response is enough
			if e.response != nil {
				out.respond(legacyStatus(e.response), e.response)
			} else {
				out.respondEmpty()
			}
			st.finish()
		default:
			st.write(out, e)
		}
	}
	return stays && !st.ended
}

// leave detaches a client. The caller no longer delivers.
func (st *stream) leave(v *clientConn) {
	st.mu.Lock()
	isLast, settled := st.client == v, v.settled
	if isLast {
		st.client = nil
	}
	st.mu.Unlock()
	switch {
	case !isLast:
		<-settled
	case st.ended:
	case st.changes:
		st.all.linger(st)
	default:
		st.all.clientLeft(st)
		if st.resumable {
			st.all.backend.left(st)
		}
	}
	st.storePending()
}

// abandon cancels a call without a connected client.
func (st *stream) abandon() {
	st.mu.Lock()
	alone, cancel := st.client == nil, st.cancel
	st.mu.Unlock()
	if alone && cancel != nil {
		cancel()
	}
}

// A legacy client that disconnects does not cancel its call: the call continues
// and the client may resume the stream. Since such a call costs the server a
// goroutine, their number and duration are bounded.

// clientLeft records that the client of a stream has disconnected. If there are
// too many such streams, the oldest is cancelled.
func (s *sessions) clientLeft(st *stream) {
	s.mu.Lock()
	left := s.disconnectedLike(st)
	st.left, st.element = time.Now(), left.PushFront(st)
	var oldest *stream
	if left.Len() > s.limits.Live {
		oldest = removeOldest(left)
	}
	s.mu.Unlock()
	if oldest != nil {
		oldest.abandon()
	}
}

// disconnectedLike returns the list for a stream whose client has disconnected. Streams
// of calls and streams of changes have separate bounds.
func (s *sessions) disconnectedLike(st *stream) *list.List {
	if st.changes {
		return &s.unreadChanges
	}
	return &s.disconnected
}

// clientReturned records that the client has resumed, or that the call has ended.
func (s *sessions) clientReturned(st *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if st.element != nil {
		s.disconnectedLike(st).Remove(st.element)
		st.element = nil
	}
}

// leftBefore removes and returns the calls whose clients disconnected before t.
func (s *sessions) leftBefore(t time.Time) (calls []*stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for e := s.disconnected.Back(); e != nil && e.Value.(*stream).left.Before(t); e = s.disconnected.Back() {
		calls = append(calls, removeOldest(&s.disconnected))
	}
	return calls
}

func removeOldest(left *list.List) *stream {
	st := left.Remove(left.Back()).(*stream)
	st.element = nil
	return st
}
