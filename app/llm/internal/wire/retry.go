package wire

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/app/llm"
)

// Retry says how often and when a request is sent again. It is, as long as
// nothing of an answer was shown, after errors that time may heal.
type Retry struct {
	Attempts int           // how often in all; 0 means 5, 1 means never again
	First    time.Duration // the first wait, doubled each time; 0 means 1 second
	Longest  time.Duration // the longest wait of our own, and the longest that a provider may ask for; 0 means 1 minute
}

func (r Retry) attempts() int {
	if r.Attempts == 0 {
		return 5
	}
	return r.Attempts
}

// after says how long to wait after a try, and whether to try again at all.
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
	first, longest := r.First, r.Longest
	if first == 0 {
		first = time.Second
	}
	if longest == 0 {
		longest = time.Minute
	}
	if e.RetryAfter > 0 {
		return e.RetryAfter, e.RetryAfter <= longest
	}
	wait := first << min(try-1, 16)
	if wait > longest || wait <= 0 {
		wait = longest
	}
	return wait - rand.N(wait/4+1), true // so that many do not come back at once
}

// final marks an error that trying again does not heal, whatever its kind.
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

// retryAfter is what the head of an answer asks for.
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

// bounded turns seconds into a duration, without ever overflowing.
func bounded(seconds float64) time.Duration {
	return time.Duration(min(seconds, 1e6) * float64(time.Second))
}
