package protect

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"
)

const maxVerdicts = 10_000

// A tokenHash identifies a token without storing it.
type tokenHash = [sha256.Size]byte

// A verdict is the result of verifying a token, and how long it is valid.
type verdict struct {
	id    *Identity
	err   error
	until time.Time
}

// verdicts caches results. Accepted and refused tokens are separate, so that
// a flood of invalid tokens does not evict valid ones.
type verdicts struct {
	now func() time.Time

	mu        sync.Mutex
	good, bad map[tokenHash]verdict
	asking    map[tokenHash]*query
}

// A query is a verification in progress.
type query struct {
	done  chan struct{} // closed when found is set
	found verdict
}

func newVerdicts(now func() time.Time) *verdicts {
	return &verdicts{now: now, good: map[tokenHash]verdict{}, bad: map[tokenHash]verdict{}, asking: map[tokenHash]*query{}}
}

// get returns the verdict for a token, and calls ask if there is none.
// Concurrent callers with the same token share one call and its result, even
// if it is an error. ask returns whether its result may be cached.
func (a *verdicts) get(ctx context.Context, token tokenHash, ask func(context.Context) (verdict, bool)) (*Identity, error) {
	known, open, leader := a.lookup(token)
	switch {
	case leader:
		a.askOnce(ctx, token, open, ask)
		known = open.found
	case open != nil:
		select {
		case <-open.done:
			known = open.found
		case <-ctx.Done():
			return nil, unavailable(ctx.Err())
		}
	}
	return known.id, known.err
}

// lookup returns a cached verdict, or a query in progress, or starts a query
// for the caller.
func (a *verdicts) lookup(token tokenHash) (known verdict, open *query, leader bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, room := range []map[tokenHash]verdict{a.good, a.bad} {
		if known, ok := room[token]; ok && a.now().Before(known.until) {
			return known, nil, false
		}
	}
	if open := a.asking[token]; open != nil {
		return verdict{}, open, false
	}
	open = &query{done: make(chan struct{}), found: verdict{err: unavailable(errors.New("verification did not finish"))}}
	a.asking[token] = open
	return verdict{}, open, true
}

func (a *verdicts) askOnce(ctx context.Context, token tokenHash, q *query, ask func(context.Context) (verdict, bool)) {
	var keep bool
	defer func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if keep {
			a.keep(token, q.found)
		}
		delete(a.asking, token)
		close(q.done)
	}()
	q.found, keep = ask(context.WithoutCancel(ctx)) // others may wait for it
}

// keep caches a verdict and makes room for it.
func (a *verdicts) keep(token tokenHash, found verdict) {
	room, other := a.good, a.bad
	if found.err != nil {
		room, other = a.bad, a.good
	}
	delete(other, token)
	if len(room) >= maxVerdicts {
		a.makeRoom(room)
	}
	room[token] = found
}

// makeRoom drops expired verdicts, or a tenth of all if none has expired.
func (a *verdicts) makeRoom(room map[tokenHash]verdict) {
	now := a.now()
	for token, known := range room {
		if !now.Before(known.until) {
			delete(room, token)
		}
	}
	for token := range room {
		if len(room) < maxVerdicts*9/10 {
			return
		}
		delete(room, token)
	}
}

const (
	shortestPause = time.Second
	defaultPause  = 5 * time.Second // without Retry-After
	longestPause  = 60 * time.Second
)

// A gate pauses requests to an endpoint that is busy or cannot be reached.
// After the pause it admits one request at a time until one succeeds.
type gate struct {
	mu      sync.Mutex
	until   time.Time // end of the pause; zero means none
	probing bool      // a trial request is in progress
}

// A pausedError reports that an endpoint is paused.
type pausedError struct {
	wait  time.Duration // remaining pause
	cause error         // nil if another request failed
}

func (e *pausedError) Error() string {
	wait := "paused for " + e.wait.Round(time.Second).String()
	if e.cause == nil {
		return wait
	}
	return fmt.Sprintf("%v; %s", e.cause, wait)
}

func (e *pausedError) Unwrap() error { return e.cause }

// enter admits a request or returns the remaining pause as an error. The
// caller calls leave afterwards with the pause that the response requires, 0
// for none.
func (g *gate) enter(now time.Time) (leave func(now time.Time, pause time.Duration), err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	probe := !g.until.IsZero()
	switch {
	case probe && now.Before(g.until):
		return nil, &pausedError{wait: max(g.until.Sub(now), shortestPause)}
	case probe && g.probing:
		return nil, &pausedError{wait: shortestPause}
	case probe:
		g.probing = true
	}
	return func(now time.Time, pause time.Duration) {
		g.mu.Lock()
		defer g.mu.Unlock()
		if probe {
			g.probing, g.until = false, time.Time{}
		}
		if until := now.Add(pause); pause > 0 && until.After(g.until) {
			g.until = until
		}
	}, nil
}

// pauseOf returns the pause that a response with status 429 or 503 requires,
// within bounds; 0 for any other status.
func pauseOf(status int, header http.Header, now time.Time) time.Duration {
	if status != http.StatusTooManyRequests && status != http.StatusServiceUnavailable {
		return 0
	}
	pause := defaultPause
	text := header.Get("Retry-After")
	if n, err := strconv.ParseUint(text, 10, 64); err == nil {
		pause = time.Duration(min(n, uint64(longestPause/time.Second))) * time.Second
	} else if at, err := http.ParseTime(text); err == nil {
		pause = at.Sub(now)
	}
	return min(max(pause, shortestPause), longestPause)
}
