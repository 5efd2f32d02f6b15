package upstream

import (
	"context"
	"net/http"
	"testing"
	"time"
)

// A wait that the API asks for is honoured up to the maximum itself; a longer one is
// not.
func TestWaitsUpToTheMaximum(t *testing.T) {
	for after, want := range map[string]int{"30": 2, "31": 1, "2147483648": 1, "99999999999999999999": 1} {
		c := &Client{sleep: func(_ context.Context, d time.Duration) error {
			if d < 30*time.Second {
				t.Errorf("waits %s", d)
			}
			return nil
		}}
		sent := 0
		_, err := c.retry(t.Context(), &Request{Retry: Retry{Max: 1, On: []int{429}, MaxWait: 30 * time.Second, Safe: true}}, func() (*Response, error) {
			sent++
			return &Response{Status: 429, Header: http.Header{"Retry-After": {after}}}, nil
		})
		if sent != want || err != nil {
			t.Errorf("Retry-After %s: sent %d times, %v", after, sent, err)
		}
	}
}

func TestWait(t *testing.T) {
	now := time.Unix(2_000_000_000, 0)
	for _, test := range []struct {
		header http.Header
		want   time.Duration // -1 means none
		used   bool
	}{
		{http.Header{"Retry-After": {"5"}}, 5 * time.Second, false},
		{http.Header{"Retry-After": {now.Add(time.Minute).UTC().Format(http.TimeFormat)}}, time.Minute, false},
		{http.Header{"X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Reset": {"2000000007"}}, 7 * time.Second, true},
		{http.Header{"Ratelimit-Remaining": {"0"}, "Ratelimit-Reset": {"8"}}, 8 * time.Second, true},
		{http.Header{"Ratelimit": {"limit=100, remaining=0, reset=9"}}, 9 * time.Second, true},
		{http.Header{"Ratelimit": {`"default";r=0;t=30`}}, 30 * time.Second, true},
		{http.Header{"Ratelimit": {`"burst";r=0;t=3, "day";r=0;t=40`}}, 40 * time.Second, true},
		{http.Header{"Ratelimit": {`"burst";r=5;t=3`, `"day"; r=0; t=50`}}, 50 * time.Second, true},
		{http.Header{"Ratelimit": {`"default";r=10;t=30`}}, -1, false},
		{http.Header{"Ratelimit": {`"default";r=0`}}, -1, false},
		{http.Header{"Ratelimit": {`;;,=,"`}}, -1, false},
		{http.Header{}, -1, false},
	} {
		d, ok := Wait(test.header, now)
		if ok != (test.want >= 0) || ok && d != test.want || Exhausted(test.header) != test.used {
			t.Errorf("%v: %s, %v, exhausted %v", test.header, d, ok, Exhausted(test.header))
		}
	}
}
