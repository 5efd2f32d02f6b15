package protect

import (
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"
)

const (
	shortestPause = time.Second
	defaultPause  = 5 * time.Second // where a busy endpoint does not say for how long
	longestPause  = 60 * time.Second
)

// A gate keeps requests from an endpoint that is busy or cannot be reached.
// After a pause one request at a time is let through, until one is answered.
type gate struct {
	mu      sync.Mutex
	until   time.Time // end of the pause; zero means that there is none
	probing bool      // a request is on its way to find out whether it is over
}

// A pausedError reports that an endpoint is not asked at present.
type pausedError struct {
	wait  time.Duration // until it is asked again
	cause error         // nil if another request met the cause
}

func (e *pausedError) Error() string {
	wait := "not asked again for " + e.wait.Round(time.Second).String()
	if e.cause == nil {
		return wait
	}
	return fmt.Sprintf("%v; %s", e.cause, wait)
}

func (e *pausedError) Unwrap() error { return e.cause }

// enter lets a request through, or says for how long none is. The caller calls
// leave afterwards with the pause that the answer asks for, 0 if none.
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

// pauseOf returns how long an endpoint that answered with status 429 or 503
// wants to be left alone, within bounds; 0 for any other status.
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
