package streamable

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/tenon-mcp/tenon/internal/eraconn"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// listen serves a modern subscription until the client disconnects or Shutdown is
// called.
func (s *Handler) listen(w http.ResponseWriter, m *jsonrpc.Message, p *mcp.Principal, headers map[string]string) longPoll {
	release, refused := s.server.Subscribe(p)
	if refused != nil {
		refuseSubscription(w, m.ID, refused)
		return nil
	}
	return func(ctx context.Context, w http.ResponseWriter) {
		defer release()
		out := s.newReply(ctx, w)
		defer out.close()
		sub, a := s.subscribe(ctx, m, p, eraconn.ReplyWriter{Notify: out.notification, Headers: headers})
		if sub == nil {
			out.respondIfConnected(&a)
			return
		}
		out.hold()
		s.follow(ctx, sub, out)
		a = sub.End()
		out.notify(sub) // those from before the end
		out.respondIfConnected(&a)
	}
}

// refuseSubscription refuses a subscription beyond the limit.
func refuseSubscription(w http.ResponseWriter, id jsonrpc.ID, refused *jsonrpc.Error) {
	w.Header().Set("Retry-After", "10")
	writeJSON(w, http.StatusTooManyRequests, jsonrpc.AppendError(nil, id, refused))
}

// follow sends the notifications of a subscription until the client disconnects
// or the server shuts down. Open streams wait here, so its stack should be small.
func (s *Handler) follow(ctx context.Context, sub *eraconn.Subscription, out *reply) {
	s.listening.Store(sub, nil)
	defer s.listening.Delete(sub)
	alive := time.AfterFunc(s.opts.KeepAlive, sub.Wake)
	defer alive.Stop()
	for !s.isClosing() { // Shutdown wakes it
		select {
		case <-sub.Ready():
			if lost := out.notify(sub); lost {
				s.opts.Logger.LogAttrs(ctx, slog.LevelWarn, "stream dropped", slog.String("reason", "too many unread notifications"))
				return // the client subscribes again and reads the current state
			}
			alive.Reset(out.keepAlive())
			if out.failed {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// notify sends the queued notifications.
func (o *reply) notify(sub *eraconn.Subscription) (lost bool) {
	notes, lost := sub.Take()
	for _, n := range notes {
		o.eventFrom(func(dst []byte) []byte { return sub.Append(dst, n) })
	}
	return lost
}

// subscribe opens a subscription. If the Handler does not detach it, subscribe
// serves it to its end.
func (s *Handler) subscribe(ctx context.Context, m *jsonrpc.Message, p *mcp.Principal, back eraconn.ReplyWriter) (*eraconn.Subscription, eraconn.Response) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.open, cancel)()
	return s.server.Listen(ctx, m, p, back)
}
