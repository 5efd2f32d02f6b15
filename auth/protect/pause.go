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
