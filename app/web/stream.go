package web

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
)

const (
	batch       = 500                   // events or messages at once
	breath      = 40 * time.Millisecond // between two batches, so that a flood is sent in large ones
	heartbeat   = time.Second           // between events, so that a page notices a host that does not respond
	idleTimeout = 30 * time.Second      // for a page that does not read
)

// stream sends events of the feed and summaries of messages to a page, from given
// positions. The id of each piece has both positions, so that a page that
// reconnects continues there.
//
//	?feed=N&wire=N   where to start; default: now
//	&most=N          instead of an event of more bytes, send where to get it
func (s *Server) stream(w http.ResponseWriter, r *http.Request) {
	feedAt, wireAt := s.positions(r)
	most, _ := strconv.Atoi(r.URL.Query().Get("most"))
	control := http.NewResponseController(w)
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	news, stopNews := s.feed.watch()
	defer stopNews()
	messages, stopMessages := s.work.Log.Watch()
	defer stopMessages()
	send := func(kind string, data []byte) error {
		control.SetWriteDeadline(time.Now().Add(idleTimeout))
		_, err := fmt.Fprintf(w, "event: %s\nid: %d-%d\ndata: %s\n\n", kind, feedAt, wireAt, data)
		return err
	}
	if send("hello", []byte("{}")) != nil || control.Flush() != nil {
		return
	}
	for {
		more := false
		events, gap := s.feed.since(feedAt, batch)
		if gap {
			feedAt = s.feed.last()
			events = nil
			if send("gap", []byte("{}")) != nil {
				return
			}
		}
		for _, e := range events {
			feedAt = e.seq
			if most > 0 && len(e.data) > most {
				e.data = fmt.Appendf(nil, `{"kind":%q,"seq":%d}`, e.kind, e.seq)
				e.kind = "large"
			}
			if send(e.kind, e.data) != nil {
				return
			}
		}
		list, lost := s.work.Log.Since(wireAt, batch)
		if len(list) > 0 {
			wireAt = list[len(list)-1].Seq
			data, err := mcp.Marshal(wirePiece{summaries(list), lost})
			if err != nil || send("wire", data) != nil {
				return
			}
		}
		more = len(events) == batch || len(list) == batch
		if len(events)+len(list) > 0 && control.Flush() != nil {
			return
		}
		if !s.wait(r, news, messages, more, func() error {
			control.SetWriteDeadline(time.Now().Add(idleTimeout))
			if _, err := fmt.Fprint(w, "event: beat\ndata: {}\n\n"); err != nil {
				return err
			}
			return control.Flush()
		}) {
			return
		}
	}
}

// event returns the data of one event of the feed.
func (s *Server) event(r *http.Request) (any, error) {
	seq, err := strconv.ParseUint(r.PathValue("seq"), 10, 64)
	if err != nil || seq == 0 {
		return nil, bad("an event number is required")
	}
	events, gap := s.feed.since(seq-1, 1)
	if gap || len(events) == 0 {
		return nil, missing("this event is no longer kept")
	}
	return events[0].data, nil
}

// A wirePiece is some messages; Lost reports that older ones were dropped.
type wirePiece struct {
	Messages []summary `json:"messages"`
	Lost     bool      `json:"lost,omitzero"`
}

// wait waits for events and then for the pause between two batches. It reports
// false when the page has disconnected.
func (s *Server) wait(r *http.Request, news, messages <-chan struct{}, more bool, beat func() error) bool {
	for !more {
		timer := time.NewTimer(heartbeat)
		select {
		case <-news:
			more = true
		case <-messages:
			more = true
		case <-timer.C:
			if beat() != nil {
				return false
			}
		case <-r.Context().Done():
			timer.Stop()
			return false
		case <-s.ctx.Done():
			timer.Stop()
			return false
		}
		timer.Stop()
	}
	select {
	case <-time.After(breath):
		return true
	case <-r.Context().Done():
		return false
	case <-s.ctx.Done():
		return false
	}
}

// positions returns where a stream starts.
func (s *Server) positions(r *http.Request) (feed, wire uint64) {
	feed, wire = s.feed.last(), s.work.Log.Last()
	number := func(text string, old uint64) uint64 {
		if n, err := strconv.ParseUint(text, 10, 64); err == nil {
			return n
		}
		return old
	}
	q := r.URL.Query()
	feed, wire = number(q.Get("feed"), feed), number(q.Get("wire"), wire)
	if a, b, ok := strings.Cut(r.Header.Get("Last-Event-ID"), "-"); ok {
		feed, wire = number(a, feed), number(b, wire)
	}
	return feed, wire
}
