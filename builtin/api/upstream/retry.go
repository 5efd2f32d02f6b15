package upstream

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Retry says when a request is repeated.
type Retry struct {
	Max     int
	On      []int // status codes
	MaxWait time.Duration
	// Safe says that repeating the request has no second effect.
	Safe bool
}

// retry sends a request until it succeeds or must not be repeated.
func (c *Client) retry(ctx context.Context, r *Request, send func() (*Response, error)) (*Response, error) {
	for n := 0; ; n++ {
		res, err := send()
		if n >= r.Retry.Max || !r.Retry.Safe || ctx.Err() != nil {
			return res, err
		}
		wait := backoff(n)
		switch {
		case err != nil:
			failed, ok := errors.AsType[*Error](err)
			if !ok || !failed.Temporary {
				return nil, err
			}
		case !limited(res) && !slices.Contains(r.Retry.On, res.Status):
			return res, nil
		default:
			if told, ok := Wait(res.Header, time.Now()); ok {
				wait = told
			}
		}
		if wait > r.Retry.MaxWait {
			return res, err
		}
		if c.sleep(ctx, wait+jitter(wait/10)) != nil {
			return res, err
		}
	}
}

// limited reports whether a response is that of an exceeded rate limit.
func limited(res *Response) bool {
	return (res.Status == http.StatusForbidden || res.Status == http.StatusTooManyRequests) && Exhausted(res.Header)
}

// Exhausted reports whether a response says that its client may send no further
// request for now.
func Exhausted(h http.Header) bool {
	_, left := rateLimit(h)
	return left == "0" || h.Get("X-RateLimit-Remaining") == "0"
}

// rateLimit returns what is left of a limit, and the seconds until there is more: by
// the field RateLimit ("name";r=0;t=30, or remaining=0, reset=30 in older drafts), or
// by RateLimit-Remaining and RateLimit-Reset. Of several limits it is the one that is
// exhausted longest.
func rateLimit(h http.Header) (reset, left string) {
	reset, left = h.Get("RateLimit-Reset"), h.Get("RateLimit-Remaining")
	longest := -1
	older := map[string]string{}
	for _, member := range strings.Split(strings.Join(h.Values("RateLimit"), ","), ",") {
		params := map[string]string{}
		for _, param := range strings.Split(member, ";") {
			name, value, _ := strings.Cut(strings.TrimSpace(param), "=")
			params[name], older[name] = value, value
		}
		if n, err := strconv.Atoi(params["t"]); err == nil && params["r"] == "0" && n > longest {
			longest, reset, left = n, params["t"], "0"
		}
	}
	if older["remaining"] != "" && longest < 0 {
		reset, left = older["reset"], older["remaining"]
	}
	return reset, left
}

// backoff returns the wait before the next attempt: about 0.5 s, 1 s, 2 s and so
// on.
func backoff(n int) time.Duration {
	d := 500 * time.Millisecond << min(n, 6)
	return d/2 + jitter(d)
}

func jitter(d time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	return rand.N(d)
}

// Wait returns how long a response asks its client to wait: Retry-After, or the time
// of RateLimit, RateLimit-Reset or X-RateLimit-Reset if nothing remains.
func Wait(h http.Header, now time.Time) (time.Duration, bool) {
	if after := h.Get("Retry-After"); after != "" {
		if wait, ok := seconds(after); ok {
			return wait, true
		}
		if at, err := http.ParseTime(after); err == nil {
			return max(0, at.Sub(now)), true
		}
	}
	if reset, left := rateLimit(h); left == "0" {
		if wait, ok := seconds(reset); ok {
			return wait, true
		}
	}
	if h.Get("X-RateLimit-Remaining") == "0" {
		if epoch, err := strconv.ParseInt(h.Get("X-RateLimit-Reset"), 10, 64); err == nil && epoch > 1e9 {
			return max(0, time.Unix(epoch, 0).Sub(now)), true
		}
	}
	return 0, false
}

// seconds reads a number of seconds. One that is too large counts as 68 years.
func seconds(text string) (time.Duration, bool) {
	n, err := strconv.ParseUint(text, 10, 31)
	return time.Duration(n) * time.Second, err == nil || errors.Is(err, strconv.ErrRange)
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
