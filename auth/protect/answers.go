package protect

import (
	"context"
	"crypto/sha256"
	"errors"
	"sync"
	"time"
)

const maxAnswers = 10_000

// A tokenHash stands for a token where the token itself must not be kept.
type tokenHash = [sha256.Size]byte

// An answer is what was found out about a token, and until when it holds.
type answer struct {
	id    *Identity
	err   error
	until time.Time
}

// answers keeps what was found out. Good and bad news have rooms of their own,
// so that a flood of made-up tokens does not push out the real ones.
type answers struct {
	now func() time.Time

	mu        sync.Mutex
	good, bad map[tokenHash]answer
	asking    map[tokenHash]*question
}

// A question is one that somebody is asking about a token.
type question struct {
	done  chan struct{} // closed when found is set
	found answer
}

func newAnswers(now func() time.Time) *answers {
	return &answers{now: now, good: map[tokenHash]answer{}, bad: map[tokenHash]answer{}, asking: map[tokenHash]*question{}}
}

// get returns the answer for a token, and asks for it if there is none. Callers
// that come while a question about the token is open share its answer, also if
// that is an error. ask says whether its answer may be kept.
func (a *answers) get(ctx context.Context, token tokenHash, ask func(context.Context) (answer, bool)) (*Identity, error) {
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
func (a *answers) look(token tokenHash) (known answer, open *question, mine bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, room := range []map[tokenHash]answer{a.good, a.bad} {
		if known, ok := room[token]; ok && a.now().Before(known.until) {
			return known, nil, false
		}
	}
	if open := a.asking[token]; open != nil {
		return answer{}, open, false
	}
	open = &question{done: make(chan struct{}), found: answer{err: unavailable(errors.New("the question was not answered"))}}
	a.asking[token] = open
	return answer{}, open, true
}

func (a *answers) askOnce(ctx context.Context, token tokenHash, q *question, ask func(context.Context) (answer, bool)) {
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
func (a *answers) keep(token tokenHash, found answer) {
	room, other := a.good, a.bad
	if found.err != nil {
		room, other = a.bad, a.good
	}
	delete(other, token)
	if len(room) >= maxAnswers {
		a.makeRoom(room)
	}
	room[token] = found
}

// makeRoom drops what no longer holds or, if all of it does, a tenth of it.
func (a *answers) makeRoom(room map[tokenHash]answer) {
	now := a.now()
	for token, known := range room {
		if !now.Before(known.until) {
			delete(room, token)
		}
	}
	for token := range room {
		if len(room) < maxAnswers*9/10 {
			return
		}
		delete(room, token)
	}
}
