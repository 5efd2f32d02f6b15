package protect

import (
	"context"
	"crypto/sha256"
	"errors"
	"sync"
	"time"
)

const maxVerdicts = 10_000

// A tokenHash stands for a token where the token itself must not be kept.
type tokenHash = [sha256.Size]byte

// An answer is what was found out about a token, and until when it holds.
type verdict struct {
	id    *Identity
	err   error
	until time.Time
}

// verdicts keeps what was found out. Good and bad news have rooms of their own,
// so that a flood of made-up tokens does not push out the real ones.
type verdicts struct {
	now func() time.Time

	mu        sync.Mutex
	good, bad map[tokenHash]verdict
	asking    map[tokenHash]*query
}

// A question is one that somebody is asking about a token.
type query struct {
	done  chan struct{} // closed when found is set
	found verdict
}

func newVerdicts(now func() time.Time) *verdicts {
	return &verdicts{now: now, good: map[tokenHash]verdict{}, bad: map[tokenHash]verdict{}, asking: map[tokenHash]*query{}}
}

// get returns the answer for a token, and asks for it if there is none. Callers
// that come while a question about the token is open share its answer, also if
// that is an error. ask says whether its answer may be kept.
func (a *verdicts) get(ctx context.Context, token tokenHash, ask func(context.Context) (verdict, bool)) (*Identity, error) {
	known, open, mine := a.look(token)
	switch {
	case mine:
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

// look finds an answer, or the open question, or makes the caller the one who
// asks it.
func (a *verdicts) look(token tokenHash) (known verdict, open *query, mine bool) {
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
	open = &query{done: make(chan struct{}), found: verdict{err: unavailable(errors.New("the question was not answered"))}}
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
	q.found, keep = ask(context.WithoutCancel(ctx)) // others wait for it, whatever becomes of this caller
}

// keep stores an answer and makes room for it if need be.
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

// makeRoom drops what no longer holds or, if all of it does, a tenth of it.
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
