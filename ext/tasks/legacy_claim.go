package tasks

import (
	"context"
	"slices"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
)

// claim returns those of the keys of open input requests that nobody else asks
// the client, in this process or in another, and marks them until they are
// released.
func (l *legacyClient) claim(ctx context.Context, c *mcp.Call, id string, keys []string) []string {
	l.mu.Lock()
	s := l.tasks[id]
	if s != nil {
		keys = slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return s.asking[key] })
		for _, key := range keys {
			s.asking[key] = true
		}
	}
	l.mu.Unlock()
	if len(keys) == 0 || c.Caller.Session == nil {
		return keys
	}
	var out askParams
	res, err := request(within(ctx), l.server, c, methodAsk, askParams{ID: id, Keys: keys})
	if isMethodNotFound(err) {
		return keys // nobody else serves the session
	}
	if err == nil {
		err = res.Decode(&out)
	}
	if err != nil {
		out.Keys = nil // the next look at the task asks again
	}
	l.forget(id, slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return slices.Contains(out.Keys, key) }))
	return out.Keys
}

// forget forgets that this process asks the client.
func (l *legacyClient) forget(id string, keys []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.tasks[id]; s != nil {
		for _, key := range keys {
			delete(s.asking, key)
		}
	}
}

// release ends a claim. It does not block.
func (l *legacyClient) release(c *mcp.Call, id string, keys []string) {
	l.forget(id, keys)
	if c.Caller.Session == nil {
		return
	}
	go func() {
		// Until the server knows, nobody asks the client.
		for wait := 100 * time.Millisecond; ; wait = min(2*wait, 10*time.Second) {
			ctx, cancel := context.WithTimeout(within(context.Background()), callTimeout)
			_, err := request(ctx, l.server, c, methodAsk, askParams{ID: id, Keys: keys, Done: true})
			cancel()
			if err == nil || isMethodNotFound(err) || IsUnknown(err) {
				return
			}
			select {
			case <-time.After(wait):
			case <-l.session.Context.Done():
				return
			}
		}
	}()
}

// seen notes whether a task has ended, and reports whether it is one of the
// session.
func (l *legacyClient) seen(t Task) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.tasks[t.ID]
	if s != nil && t.Status.Final() {
		s.ended = true
	}
	return s != nil
}

// adopt follows a task that the client asks about, and that was created in
// another process that serves the session, or in another session: the one that
// the client is connected to notifies it and asks it. That needs a server which
// decides who asks.
func (l *legacyClient) adopt(ctx context.Context, c *mcp.Call, t Task) {
	if t.Status.Final() || c.Caller.Session == nil || l.room() != nil {
		return
	}
	if _, err := request(within(ctx), l.server, c, methodAsk, askParams{ID: t.ID, Done: true}); err != nil {
		return
	}
	l.mu.Lock()
	known := l.tasks[t.ID] != nil
	if !known {
		l.addLocked(t, nil)
	}
	l.mu.Unlock()
	if !known {
		go l.follow(c.Caller, t)
	}
}
