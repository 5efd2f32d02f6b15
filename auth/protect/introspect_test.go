package protect

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func newIntrospector(t *testing.T, is *issuer, change func(*IntrospectionOptions)) (*introspector, *clock) {
	t.Helper()
	o := IntrospectionOptions{Endpoint: is.url + "/introspect", Issuer: is.url, Audiences: []string{resource}, ClientID: "rs", ClientSecret: "s3cr:t", Fetch: fetcher(t)}
	if change != nil {
		change(&o)
	}
	v, err := Introspection(&o)
	if err != nil {
		t.Fatal(err)
	}
	c := &clock{at: time.Now()}
	v.(*introspector).now = c.now
	return v.(*introspector), c
}

// CVE-2026-11717, CVE-2026-11718: an opaque token is good only if it is active,
// in time, and ours.
func TestIntrospectionAnswers(t *testing.T) {
	is := newIssuer(t)
	now := time.Now().Unix()
	for _, test := range []struct {
		name, answer string
		status       int
		want         string // good, invalid or unavailable
	}{
		{"good", fmt.Sprintf(`{"active":true,"sub":"ada","aud":%q,"scope":"a b","exp":%d}`, resource, now+60), 200, "good"},
		{"no exp", fmt.Sprintf(`{"active":true,"sub":"ada","aud":[%q]}`, resource), 200, "good"},
		{"named issuer", fmt.Sprintf(`{"active":true,"sub":"ada","aud":%q,"iss":%q}`, resource, is.url), 200, "good"},
		{"inactive", `{"active":false}`, 200, "invalid"},
		{"active as a string", fmt.Sprintf(`{"active":"true","sub":"ada","aud":%q}`, resource), 200, "invalid"},
		{"active in another case", fmt.Sprintf(`{"Active":true,"sub":"ada","aud":%q}`, resource), 200, "invalid"},
		{"active twice", fmt.Sprintf(`{"active":false,"active":true,"sub":"ada","aud":%q}`, resource), 200, "unavailable"},
		{"silent", `{}`, 200, "invalid"},
		{"no audience", `{"active":true,"sub":"ada"}`, 200, "invalid"},
		{"another audience", `{"active":true,"sub":"ada","aud":"https://other.example"}`, 200, "invalid"},
		{"another issuer", fmt.Sprintf(`{"active":true,"sub":"ada","aud":%q,"iss":"https://evil.example"}`, resource), 200, "invalid"},
		{"issuer is a number", fmt.Sprintf(`{"active":true,"sub":"ada","aud":%q,"iss":1}`, resource), 200, "invalid"},
		{"expired", fmt.Sprintf(`{"active":true,"sub":"ada","aud":%q,"exp":%d}`, resource, now-120), 200, "invalid"},
		{"nobody", fmt.Sprintf(`{"active":true,"aud":%q}`, resource), 200, "invalid"},
		{"bound by certificate", fmt.Sprintf(`{"active":true,"sub":"a","aud":%q,"cnf":{"x5t#S256":"x"}}`, resource), 200, "invalid"},
		{"not JSON", `yes`, 200, "unavailable"},
		{"an array", `[]`, 200, "unavailable"},
		{"we are not let in", `{"active":true}`, 401, "unavailable"},
		{"a kind of token that is not looked at", `{"error":"unsupported_token_type"}`, 400, "invalid"},
		{"we ask badly", `{"error":"invalid_request"}`, 400, "unavailable"},
		{"an error that grants", fmt.Sprintf(`{"error":"unsupported_token_type","active":true,"sub":"ada","aud":%q}`, resource), 400, "invalid"},
		{"broken", fmt.Sprintf(`{"active":true,"sub":"ada","aud":%q}`, resource), 500, "unavailable"},
		{"asked too often", `{}`, 429, "unavailable"}, // CVE-2026-45781: no answer is not a good one
	} {
		t.Run(test.name, func(t *testing.T) {
			is.mu.Lock()
			is.about = func(string) (int, string) { return test.status, test.answer }
			is.mu.Unlock()
			v, _ := newIntrospector(t, is, nil)
			id, err := v.Verify(t.Context(), "opaque", nil)
			got := "good"
			switch {
			case errors.Is(err, ErrUnavailable):
				got = "unavailable"
			case isInvalid(err):
				got = "invalid"
			case err != nil || id.Principal.ID != "ada":
				got = fmt.Sprint(id, err)
			}
			if got != test.want {
				t.Errorf("got %s (%v), want %s", got, err, test.want)
			}
		})
	}
}

func TestIntrospectionSaysWhoAsks(t *testing.T) {
	is := newIssuer(t)
	var user, password, hint string
	is.Server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ = r.BasicAuth()
		hint = r.FormValue("token") + " " + r.FormValue("token_type_hint")
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"active":true,"sub":"ada"}`)
	})
	v, _ := newIntrospector(t, is, func(o *IntrospectionOptions) { o.OnlyOurs, o.Audiences = true, nil })
	if err := verify(t, v, "opaque"); err != nil {
		t.Error(err)
	}
	if user != "rs" || password != "s3cr%3At" || hint != "opaque access_token" {
		t.Errorf("%q %q %q", user, password, hint)
	}
}

// Answers are kept for a while, good and bad; a token that was taken back is
// not good for longer than that, and failures are not kept at all.
func TestIntrospectionCache(t *testing.T) {
	is := newIssuer(t)
	var mu sync.Mutex
	status, answer := 200, fmt.Sprintf(`{"active":true,"sub":"ada","aud":%q}`, resource)
	is.about = func(string) (int, string) {
		mu.Lock()
		defer mu.Unlock()
		return status, answer
	}
	become := func(s int, a string) {
		mu.Lock()
		defer mu.Unlock()
		status, answer = s, a
	}
	v, c := newIntrospector(t, is, func(o *IntrospectionOptions) { o.CacheFor = time.Hour })
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if err := verify(t, v, "one"); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := is.asked.Load(); n != 1 {
		t.Errorf("50 calls made %d questions", n)
	}
	good := answer
	become(200, `{"active":false}`)
	if err := verify(t, v, "two"); !isInvalid(err) {
		t.Errorf("another token got the first one's answer: %v", err)
	}
	c.pass(longestCache - time.Second)
	if err := verify(t, v, "one"); err != nil {
		t.Errorf("within the time: %v", err)
	}
	c.pass(time.Second)
	if err := verify(t, v, "one"); !isInvalid(err) {
		t.Errorf("taken back: %v", err)
	}
	before := is.asked.Load()
	become(500, "")
	if err := verify(t, v, "one"); !isInvalid(err) || is.asked.Load() != before {
		t.Errorf("bad news are kept too: %v", err)
	}
	c.pass(longestCache)
	if err := verify(t, v, "one"); !errors.Is(err, ErrUnavailable) {
		t.Errorf("down: %v", err)
	}
	become(200, good)
	if err := verify(t, v, "one"); err != nil {
		t.Errorf("up again: %v", err)
	}
	// Not longer than the token itself.
	become(200, fmt.Sprintf(`{"active":true,"sub":"ada","aud":%q,"exp":%d}`, resource, c.now().Add(5*time.Second).Unix()))
	if err := verify(t, v, "short"); err != nil {
		t.Error(err)
	}
	before = is.asked.Load()
	c.pass(10 * time.Second)
	if _ = verify(t, v, "short"); is.asked.Load() != before+1 {
		t.Error("an answer outlived its token")
	}
}

// A busyEndpoint is an introspection endpoint that answers 200 or wants to be
// left alone.
type busyEndpoint struct {
	*httptest.Server
	mu     sync.Mutex
	status int
	retry  string
	asked  int
	hold   chan struct{} // verdicts wait for it; nil means at once
}

func newBusyEndpoint(t *testing.T) *busyEndpoint {
	e := &busyEndpoint{status: http.StatusOK}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e.mu.Lock()
		e.asked++
		status, retry, hold := e.status, e.retry, e.hold
		e.mu.Unlock()
		if hold != nil {
			<-hold
		}
		w.Header().Set("Content-Type", "application/json")
		if retry != "" {
			w.Header().Set("Retry-After", retry)
		}
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"active":true,"sub":"ada","aud":%q}`, resource)
	}))
	t.Cleanup(e.Close)
	return e
}

func (e *busyEndpoint) become(status int, retry string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.status, e.retry = status, retry
}

func (e *busyEndpoint) wantAsked(t *testing.T, n int) {
	t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.asked != n {
		t.Errorf("asked %d times, want %d", e.asked, n)
	}
}

// A4: an endpoint that answers 429 or 503 is left alone for as long as it wants,
// within bounds. Nobody is let in meanwhile whose answer is not kept.
func TestBusyIntrospectionIsLeftAlone(t *testing.T) {
	for _, cache := range []time.Duration{0, -1} {
		for _, test := range []struct {
			status int
			retry  string
			pause  time.Duration
		}{
			{429, "7", 7 * time.Second}, {503, "7", 7 * time.Second}, {429, "", 5 * time.Second}, {503, "soon", 5 * time.Second}, {429, "-3", 5 * time.Second},
			{429, "0", time.Second}, {429, "86400", time.Minute}, {429, "99999999999999999999", 5 * time.Second}, {429, "18446744073709551615", time.Minute},
			{503, "Mon, 02 Jan 2006 15:04:05 GMT", time.Second},
		} {
			e := newBusyEndpoint(t)
			v, c := newIntrospector(t, newIssuer(t), func(o *IntrospectionOptions) { o.Endpoint, o.CacheFor = e.URL, cache })
			e.become(test.status, test.retry)
			for i := range 20 {
				if err := verify(t, v, fmt.Sprint("token-", i)); !errors.Is(err, ErrUnavailable) {
					t.Errorf("%+v: error %v", test, err)
				}
			}
			e.wantAsked(t, 1)
			e.become(http.StatusOK, "")
			c.pass(test.pause - time.Millisecond)
			if err := verify(t, v, "early"); !errors.Is(err, ErrUnavailable) {
				t.Errorf("%+v: before the pause is over: %v", test, err)
			}
			e.wantAsked(t, 1)
			c.pass(time.Millisecond)
			if err := verify(t, v, "in time"); err != nil {
				t.Errorf("%+v: after the pause: %v", test, err)
			}
			if err := verify(t, v, "another"); err != nil {
				t.Errorf("%+v: after the pause: %v", test, err)
			}
			e.wantAsked(t, 3)
		}
	}
}

// After a pause one question finds out whether it is over; calls that come
// meanwhile do not make more. Kept answers hold all the time.
func TestBusyIntrospectionIsProbedOnce(t *testing.T) {
	e := newBusyEndpoint(t)
	v, c := newIntrospector(t, newIssuer(t), func(o *IntrospectionOptions) { o.Endpoint = e.URL })
	if err := verify(t, v, "kept"); err != nil {
		t.Fatal(err)
	}
	e.become(429, "2")
	if err := verify(t, v, "refused"); !errors.Is(err, ErrUnavailable) {
		t.Fatal(err)
	}
	c.pass(2 * time.Second)
	hold := make(chan struct{})
	e.mu.Lock()
	e.hold = hold
	e.mu.Unlock()
	probe := make(chan error)
	go func() { probe <- verify(t, v, "probe") }()
	for asked := 2; asked < 3; {
		e.mu.Lock()
		asked = e.asked
		e.mu.Unlock()
		runtime.Gosched()
	}
	for i := range 20 {
		if err := verify(t, v, fmt.Sprint("token-", i)); !errors.Is(err, ErrUnavailable) {
			t.Errorf("error %v", err)
		}
	}
	if err := verify(t, v, "kept"); err != nil {
		t.Errorf("a kept answer: %v", err)
	}
	close(hold)
	if err := <-probe; !errors.Is(err, ErrUnavailable) {
		t.Errorf("the probe: %v", err)
	}
	if err := verify(t, v, "later"); !errors.Is(err, ErrUnavailable) { // the probe was told to wait again
		t.Errorf("error %v", err)
	}
	e.wantAsked(t, 3)
}

// Many calls with one token share one question, also if it fails.
func TestFailedIntrospectionIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newVerdicts(time.Now)
		hold := make(chan struct{})
		var asked atomic.Int32
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				_, err := a.get(t.Context(), tokenHash{}, func(context.Context) (verdict, bool) {
					asked.Add(1)
					<-hold
					return verdict{err: unavailable(errors.New("busy"))}, false
				})
				if !errors.Is(err, ErrUnavailable) {
					t.Errorf("error %v", err)
				}
			})
		}
		synctest.Wait()
		close(hold)
		wg.Wait()
		if n := asked.Load(); n != 1 {
			t.Errorf("50 calls made %d questions", n)
		}
	})
}

// The client of a guard is told how long to wait.
func TestBusyIntrospectionIsToldToClients(t *testing.T) {
	e := newBusyEndpoint(t)
	e.become(429, "17")
	is := newIssuer(t)
	v, c := newIntrospector(t, is, func(o *IntrospectionOptions) { o.Endpoint = e.URL })
	g, err := New(&Options{Resource: resource, AuthorizationServers: []string{is.url}, Verifier: v})
	if err != nil {
		t.Fatal(err)
	}
	h := g.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("somebody was let in") }))
	for _, want := range []string{"17", "7", "1"} {
		w := do(h, post("{}", "Authorization: Bearer abc"))
		if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") != want {
			t.Errorf("status %d, Retry-After %q, want %s", w.Code, w.Header().Get("Retry-After"), want)
		}
		c.pass(map[string]time.Duration{"17": 10 * time.Second, "7": 6500 * time.Millisecond}[want])
	}
	e.wantAsked(t, 1)
}

func TestIntrospectionWithoutCache(t *testing.T) {
	is := newIssuer(t)
	is.about = func(string) (int, string) { return 200, fmt.Sprintf(`{"active":true,"sub":"ada","aud":%q}`, resource) }
	v, _ := newIntrospector(t, is, func(o *IntrospectionOptions) { o.CacheFor = -1 })
	for range 3 {
		if err := verify(t, v, "one"); err != nil {
			t.Error(err)
		}
	}
	if n := is.asked.Load(); n != 3 {
		t.Errorf("3 calls made %d questions", n)
	}
}

// A flood of made-up tokens takes bounded room and leaves the good ones alone.
func TestAnswersAreBounded(t *testing.T) {
	a := newVerdicts(time.Now)
	until := time.Now().Add(time.Hour)
	hash := func(i int) tokenHash { return sha256.Sum256(binary.BigEndian.AppendUint64(nil, uint64(i))) }
	a.mu.Lock()
	defer a.mu.Unlock()
	a.keep(hash(-1), verdict{id: &Identity{}, until: until})
	for i := range 3 * maxVerdicts {
		a.keep(hash(i), verdict{err: invalid("x"), until: until})
	}
	if len(a.bad) > maxVerdicts || len(a.good) != 1 {
		t.Errorf("%d bad, %d good", len(a.bad), len(a.good))
	}
}

func TestIntrospectionOptions(t *testing.T) {
	for name, o := range map[string]IntrospectionOptions{
		"no endpoint": {Issuer: "https://a.example", Audiences: []string{resource}},
		"no issuer":   {Endpoint: "https://a.example/i", Audiences: []string{resource}},
		"no audience": {Endpoint: "https://a.example/i", Issuer: "https://a.example"},
	} {
		if _, err := Introspection(&o); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
