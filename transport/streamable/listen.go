package streamable

import (
	"context"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// listen serves a subscription of the newest era, which ends with the client
// or with Shutdown.
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
		sub, a := s.subscribe(ctx, m, p, era.ReplyWriter{Notify: out.notification, Headers: headers})
		if sub == nil {
			out.answerIfThere(&a)
			return
		}
		out.hold()
		s.follow(ctx, sub, out)
		a = sub.End()
		out.notify(sub) // what had come before
		out.answerIfThere(&a)
	}
}

// refuseSubscription answers a request for one subscription too many.
func refuseSubscription(w http.ResponseWriter, id jsonrpc.ID, refused *jsonrpc.Error) {
	w.Header().Set("Retry-After", "10")
	writeJSON(w, http.StatusTooManyRequests, jsonrpc.AppendError(nil, id, refused))
}

// follow sends the notifications of a subscription until the client or the
// server goes. It is where a stream of the newest era spends its life, so little
// should be alive above it, and it waits for as few things as it can.
func (s *Handler) follow(ctx context.Context, sub *era.Subscription, out *reply) {
	s.followed.add(sub)
	defer s.followed.drop(sub)
	alive := time.AfterFunc(s.opts.KeepAlive, sub.Wake)
	defer alive.Stop()
	for !s.isClosing() { // of which followed wakes it
		select {
		case <-sub.Ready():
			if lost := out.notify(sub); lost {
				s.opts.Logger.LogAttrs(ctx, slog.LevelWarn, "stream dropped", slog.String("reason", "too many unread notifications"))
				return // the client listens again and looks for itself
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

// subscriptions are those of the newest era that are open.
type subscriptions struct {
	mu  sync.Mutex
	all map[*era.Subscription]struct{}
}

func (s *subscriptions) add(sub *era.Subscription) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[*era.Subscription]struct{}{}
	}
	s.all[sub] = struct{}{}
}

func (s *subscriptions) drop(sub *era.Subscription) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, sub)
}

func (s *subscriptions) wake() {
	s.mu.Lock()
	all := slices.Collect(maps.Keys(s.all))
	s.mu.Unlock()
	for _, sub := range all {
		sub.Wake()
	}
}

// tell sends the notifications that wait.
func (o *reply) notify(sub *era.Subscription) (lost bool) {
	notes, lost := sub.Take()
	for _, n := range notes {
		o.built(func(dst []byte) []byte { return sub.Append(dst, n) })
	}
	return lost
}

// subscribe opens a subscription, or serves it until the client or the server
// goes, if the Handler does not detach.
func (s *Handler) subscribe(ctx context.Context, m *jsonrpc.Message, p *mcp.Principal, back era.ReplyWriter) (*era.Subscription, era.Response) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.open, cancel)()
	return s.server.Listen(ctx, m, p, back)
}
