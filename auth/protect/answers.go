package protect

import (
	"context"
	"crypto/sha256"
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
	asking    map[tokenHash]chan struct{} // closed when the answer is there
}

func newAnswers(now func() time.Time) *answers {
	return &answers{now: now, good: map[tokenHash]answer{}, bad: map[tokenHash]answer{}, asking: map[tokenHash]chan struct{}{}}
}

// get returns the answer for a token, and asks for it if there is none. Only
// one caller at a time asks about a token; when its question fails, the next
// one asks again. ask says whether its answer may be kept.
func (a *answers) get(ctx context.Context, token tokenHash, ask func(context.Context) (answer, bool)) (*Identity, error) {
	for {
		known, wait, mine := a.look(token)
		switch {
		case mine:
			found := a.askOnce(ctx, token, ask)
			return found.id, found.err
		case wait == nil:
			return known.id, known.err
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, unavailable(ctx.Err())
		}
	}
}

// look finds an answer, or somebody who is asking, or makes the caller the one
// who asks.
func (a *answers) look(token tokenHash) (known answer, wait <-chan struct{}, mine bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, room := range []map[tokenHash]answer{a.good, a.bad} {
		if known, ok := room[token]; ok && a.now().Before(known.until) {
			return known, nil, false
		}
	}
	if wait, ok := a.asking[token]; ok {
		return answer{}, wait, false
	}
	a.asking[token] = make(chan struct{})
	return answer{}, nil, true
}

func (a *answers) askOnce(ctx context.Context, token tokenHash, ask func(context.Context) (answer, bool)) (found answer) {
	var keep bool
	defer func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if keep {
			a.keep(token, found)
		}
		close(a.asking[token])
		delete(a.asking, token)
	}()
	found, keep = ask(context.WithoutCancel(ctx)) // others wait for it, whatever becomes of this caller
	return found
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
