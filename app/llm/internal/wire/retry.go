package wire

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/app/llm"
)

// Retry configures retries. A request is sent again after a temporary error, as
// long as no part of the answer was yielded.
type Retry struct {
	Attempts int           // total number of attempts; 0 means 5, 1 means no retry
	First    time.Duration // first wait, doubled each time; 0 means 1 second
	Longest  time.Duration // longest wait, also the longest that a provider may request; 0 means 1 minute
}

func (r Retry) attempts() int { return cmp.Or(r.Attempts, 5) }

// after returns the wait after an attempt and whether to retry.
func (r Retry) after(try int, err error) (time.Duration, bool) {
	e, ok := errors.AsType[*llm.Error](err)
	if !ok || try >= r.attempts() {
		return 0, false
	}
	switch e.Kind {
	case llm.ErrRate, llm.ErrOverloaded, llm.ErrServer, llm.ErrNetwork:
	default:
		return 0, false
	}
	if stop, ok := errors.AsType[*final](e.Err); ok && stop != nil {
		return 0, false
	}
	first, longest := cmp.Or(r.First, time.Second), cmp.Or(r.Longest, time.Minute)
	if e.RetryAfter > 0 {
		return e.RetryAfter, e.RetryAfter <= longest
	}
	wait := first << min(try-1, 16)
	if wait > longest || wait <= 0 {
		wait = longest
	}
	return wait - rand.N(wait/4+1), true // jitter spreads the retries of many clients
}

// final marks an error as permanent, whatever its kind.
type final struct{ why string }

func (f *final) Error() string { return f.why }

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// retryAfter returns the wait that the headers request, or 0.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 {
		return bounded(ms / 1000)
	}
	text := strings.TrimSpace(h.Get("Retry-After"))
	if s, err := strconv.ParseFloat(text, 64); err == nil && s > 0 {
		return bounded(s)
	}
	if at, err := http.ParseTime(text); err == nil && at.After(now) {
		return at.Sub(now)
	}
	return 0
}

// bounded converts seconds to a duration without overflow.
func bounded(seconds float64) time.Duration {
	return time.Duration(min(seconds, 1e6) * float64(time.Second))
}
