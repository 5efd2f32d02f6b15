package web

import (
	"context"
	"sync"
	"time"
)

// listed keeps the lists of the servers, so that opening the page sends the
// servers nothing that the host knows already.
type listed struct {
	mu  sync.Mutex
	all map[string]*listing
}

// A listing is the lists of a server in one of its runs. Done is closed when they
// are complete.
type listing struct {
	starts int
	at     time.Time
	done   chan struct{}
	lists  *lists
}

// unannounced is how long lists are kept of a server that does not notify clients
// of changes.
const unannounced = time.Minute

// of returns the lists of a server: the kept ones, unless fresh is set, the server
// was restarted or it reported a change. Ask requests them from the server; pages
// that need them at the same time share one request.
func (l *listed) of(ctx context.Context, server string, starts int, fresh bool, ask func(context.Context, *lists)) *lists {
	l.mu.Lock()
	if l.all == nil {
		l.all = map[string]*listing{}
	}
	kept := l.all[server]
	if kept == nil || fresh || kept.stale(starts) {
		kept = &listing{starts: starts, at: time.Now(), done: make(chan struct{}), lists: newLists()}
		l.all[server] = kept
		l.mu.Unlock()
		ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), askFor) // others may wait for it
		defer stop()
		ask(ctx, kept.lists)
		close(kept.done)
		return kept.lists
	}
	l.mu.Unlock()
	select {
	case <-kept.done:
		return kept.lists
	case <-ctx.Done():
		late := newLists()
		late.Problems = append(late.Problems, context.Cause(ctx).Error())
		return late
	}
}

// stale reports whether the lists must be requested again.
func (k *listing) stale(starts int) bool {
	if k.starts != starts {
		return true
	}
	select {
	case <-k.done:
	default:
		return false
	}
	return k.lists.Capabilities == nil || !k.lists.announced() && time.Since(k.at) > unannounced
}

// announced reports whether the server notifies clients when any of its lists
// changes.
func (d *lists) announced() bool {
	c := d.Capabilities
	return (c.Tools == nil || c.Tools.ListChanged) && (c.Prompts == nil || c.Prompts.ListChanged) && (c.Resources == nil || c.Resources.ListChanged)
}

// forget drops the lists of a server that has changed.
func (l *listed) forget(server string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.all, server)
}
