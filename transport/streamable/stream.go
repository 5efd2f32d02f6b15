package streamable

import (
	"container/list"
	"context"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/era"
)

// A stream carries the messages of one call, or the news of a session, to a
// client of an older revision. The client may be let go, or go away, and come
// back for the rest: every event has an id and is kept by the store.
type stream struct {
	all  *sessions
	ses  *session
	name string // once it is opened

	ctx    context.Context // of the call; nil if there is none
	cancel func()          // ends the call, or the waiting for who listened to news; nil if there is neither
	first  reply           // to who made the call

	mu     sync.Mutex
	out    *reply        // where events are written; nil while nobody is there
	freed  chan struct{} // closed when the one who is there is to be let go; nil if the connection can be cut off, or there is
	news   *newsQueue    // which ends then
	prime  bool          // the client comes back when it is let go, and is told how; never changes
	opened bool          // something was told
	told   bool          // and the client knows from where to come back
	over   bool          // nothing more will come

	away *list.Element // in sessions.away while the client is; guarded by sessions.mu, as is
	left time.Time     // when it left
}

// newStream returns the stream of a call of a client that sent a request. The
// call runs in ctx and ends with cancel. Freed tells when the client is to be let
// go; it is nil if its connection is cut off instead.
func (s *sessions) newStream(ctx context.Context, cancel func(), ses *session, w http.ResponseWriter, r *http.Request) (st *stream, freed <-chan struct{}) {
	st = &stream{all: s, ses: ses, prime: ses.era.Resumes(), ctx: ctx, cancel: cancel, first: reply{h: s.h, w: w, ctx: r.Context(), jsonOnly: !acceptsEvents(r.Header)}}
	st.out = &st.first
	if !s.h.mayTakeOver(r) {
		st.freed = make(chan struct{})
		freed = st.freed
	}
	return st, freed
}

// retryAfter is how long a client is asked to wait before it comes back.
const retryAfter = "retry: 500\n"

// Tell is send, unless the call was cancelled or the client accepts no stream.
func (st *stream) Tell(build func(dst []byte) []byte) {
	if st.ctx.Err() == nil && !st.first.jsonOnly {
		st.send(build)
	}
}

// Ask is in asks.go; Release lets the client go, if it accepts the stream that
// it would come back to.
func (st *stream) Release() {
	if !st.first.jsonOnly {
		st.letGo()
	}
}

// send tells the client something: at once if it is there, and when it comes
// back otherwise.
func (st *stream) send(build func(dst []byte) []byte) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if !st.over {
		st.sendLocked(build)
	}
}

func (st *stream) sendLocked(build func(dst []byte) []byte) {
	if st.out == &st.first && st.first.ctx.Err() != nil {
		st.freeLocked() // it has gone, which was not noticed yet
	}
	st.openLocked()
	data := build(nil)
	id := st.all.store.AddEvent(st.ses.id, st.name, data)
	if st.out != nil {
		st.out.write(id, data)
		st.told = true
	}
}

func (st *stream) open() {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.openLocked()
}

// openLocked begins the stream. A client that comes back when it is let go gets
// an event without a message first, so that it knows from where.
func (st *stream) openLocked() {
	if st.opened {
		return
	}
	st.opened = true
	st.nameLocked()
	if st.prime {
		id := st.all.store.AddEvent(st.ses.id, st.name, nil)
		if st.out != nil {
			st.out.write(id, nil)
			st.told = true
		}
	}
}

// nameLocked names the stream, if it has no name: from now on a client may know
// where to come back to.
func (st *stream) nameLocked() {
	if st.name != "" {
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

// close ends the stream with the answer, or without one if that is nil. If
// nothing was said before, the answer is returned: it need not be a stream.
func (st *stream) close(answer *era.Answer) (silent *era.Answer) {
	if answer == nil {
		st.end()
		return nil
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	if !st.opened && st.out != nil {
		silent = answer
		st.out = nil // who waits is given the answer itself
	} else if !st.over {
		st.sendLocked(answer.Append)
	}
	st.over = true
	st.freeLocked()
	st.forget()
	return silent
}

// end ends the stream without a last message.
func (st *stream) end() {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.over = true
	st.freeLocked()
	st.forget()
}

func (st *stream) forget() {
	st.all.returned(st)
	if st.name != "" {
		st.ses.mu.Lock()
		defer st.ses.mu.Unlock()
		delete(st.ses.streams, st.name)
	}
}

// letGo ends the connection to the client, who may come back.
func (st *stream) letGo() {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.out != nil {
		st.openLocked()
		st.out.raw(retryAfter + "\n")
	}
	st.freeLocked()
}

func (st *stream) freeLocked() {
	if st.out == nil {
		return
	}
	out := st.out
	st.out = nil
	switch {
	case st.news != nil:
		st.news.end()
	case st.freed != nil:
		close(st.freed)
	case !st.over:
		out.cut()
	}
	if !st.over && st.cancel != nil {
		st.all.leftAlone(st)
	}
}

// abandon cancels a call that nobody waits for.
func (st *stream) abandon() {
	st.mu.Lock()
	alone, cancel := st.out == nil, st.cancel
	st.mu.Unlock()
	if alone && cancel != nil {
		cancel()
	}
}

// leave is the end of the connection from the client's side.
func (st *stream) leave(out *reply) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.out == out {
		st.freeLocked()
	}
}

// leaveIfGone is leave if the client that made the call has gone.
func (st *stream) leaveIfGone() {
	if st.first.ctx.Err() != nil {
		st.leave(&st.first)
	}
}

// join has a client that came back hear what it missed and what is to come. It
// reports false when nothing more is to come.
func (st *stream) join(out *reply, missed func() []StoredEvent) (freed <-chan struct{}, more bool) {
	st.mu.Lock()
	defer st.mu.Unlock()
	for _, e := range missed() {
		out.write(e.ID, e.Data)
	}
	if st.over {
		return nil, false
	}
	st.freeLocked() // there can be one only, and it is the last that came
	st.out, st.freed = out, make(chan struct{})
	st.all.returned(st)
	return st.freed, true
}

// write sends an event that is kept under an id; without data it is there for
// its id only.
func (o *reply) write(id string, data []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.over {
		return
	}
	o.open()
	o.event(id, func(dst []byte) []byte { return append(dst, data...) })
}

// raw sends bytes that are no event.
func (o *reply) raw(text string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.over {
		return
	}
	o.open()
	o.send([]byte(text))
}

// begin makes the answer a stream before there is an event.
func (o *reply) begin() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.over && !o.stream {
		o.open()
		o.send(nil)
	}
}
