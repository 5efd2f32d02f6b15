package gateway

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/internal/protocol"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/mcp"
)

// A Limit bounds the calls that it matches. A Limit that names neither a server
// nor a tool, prompt or resource is about all requests and notifications except
// pings.
type Limit struct {
	Match // without Args

	// Name identifies the limit; it must be unique.
	Name string
	// Rate is how many calls are allowed in each Period, evenly spread. 0 means
	// any number.
	Rate   int
	Period time.Duration
	// Burst is how many calls may be made at once after a pause. 0 means Rate.
	Burst int
	// Concurrency is how many calls may be open at the same time. 0 means any
	// number. Subscriptions do not count.
	Concurrency int
	// Per says whose calls are counted together.
	Per PerWhat
}

// PerWhat says which calls a [Limit] counts together.
type PerWhat int

const (
	PerPrincipal PerWhat = iota // those of one caller
	PerTool                     // those of one caller with one tool, prompt or resource
	PerAll                      // those of all callers
)

// A LimitKey identifies what is counted. Members that do not matter are empty.
type LimitKey struct {
	Limit             string // its name
	Issuer, Principal string
	Kind, Server, Own string // with PerTool
}

// A Bucket is a count with its bounds.
type Bucket struct {
	LimitKey
	Rate        float64 // tokens for each second; 0 means that there are none
	Burst       float64 // the most tokens
	Concurrency int     // the most open calls; 0 means any number
}

// A LimitStore counts calls. It must be safe for concurrent use.
type LimitStore interface {
	// Take takes one token of each bucket and opens a call in it, or does
	// neither if one of them does not have it: then wait is when the caller may
	// try again. The caller ends the call with end, once, which is nil if no
	// bucket has a Concurrency. An error means that it is not known whether the call is
	// allowed; it is denied then.
	Take(ctx context.Context, buckets []Bucket) (end func(), wait time.Duration, err error)
}

// LimitOptions configures [Limits]; nil means the defaults.
type LimitOptions struct {
	// Store counts calls. Nil means a [NewMemoryLimits].
	Store LimitStore
	// GroupClaim is as in [PolicyOptions].
	GroupClaim string
	// Log receives the errors of the Store. Nil means slog.Default().
	Log *slog.Logger
}

// Limits returns middleware that refuses calls beyond limits with
// [mcp.Refusal], which has the code 429, and over HTTP that status and a Retry-After
// header. It drops notifications beyond them. If
// the store fails, calls that have limits are refused with the status 503. Each
// round of a call that requires input counts.
//
// Names says whose the names in calls are, as for [Policy].
func Limits(limits []Limit, names Resolver, o *LimitOptions) mcp.Middleware {
	if len(limits) == 0 {
		return func(next mcp.Handler) mcp.Handler { return next }
	}
	l := &limiter{limits: limits, names: names}
	if o != nil {
		l.store, l.callers.claim, l.log = o.Store, o.GroupClaim, o.Log
	}
	if l.names == nil {
		l.names = OneServer("")
	}
	if l.store == nil {
		l.store = NewMemoryLimits()
	}
	if l.log == nil {
		l.log = slog.Default()
	}
	l.callers.build = l.limitsOf
	return func(next mcp.Handler) mcp.Handler {
		return mcp.HandlerFunc(func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
			if isAttempt(ctx, c) {
				return serveAttempt(ctx, c, next, func(ctx context.Context) error {
					_, err := l.admit(ctx, c) // the end of a subscription is not counted
					return err
				})
			}
			end, err := l.admit(ctx, c)
			if err != nil {
				return mcp.Result{}, err
			}
			if end != nil {
				defer end()
			}
			return next.Serve(ctx, c)
		})
	}
}

type limiter struct {
	limits  []Limit
	names   Resolver
	store   LimitStore
	log     *slog.Logger
	callers subjects[[]*Limit]
}

// limitsOf returns the limits for a caller.
func (l *limiter) limitsOf(who *identity) (list []*Limit) {
	for i := range l.limits {
		if l.limits[i].by(who) {
			list = append(list, &l.limits[i])
		}
	}
	return list
}

// admit counts a call. It returns an error if the call is refused.
func (l *limiter) admit(ctx context.Context, c *mcp.Call) (end func(), err error) {
	if c.Method == mcp.MethodPing {
		return nil, nil
	}
	limits := l.callers.of(c.Caller.Principal)
	if len(limits) == 0 {
		return nil, nil
	}
	var room [4]Bucket
	buckets := room[:0]
	var t feature
	name, named := "", false
	if slices.ContainsFunc(limits, (*Limit).needsName) {
		t, name, named = featureOf(ctx, c, l.names)
	}
	counted, checked := t, false
	for _, limit := range limits {
		if !limit.isEverything() && (!named || !limit.about(t, false)) {
			continue
		}
		if limit.Per == PerTool && !checked {
			checked = true
			if !named || !isCoreKind(t.kind) || !isListed(ctx, &c.Caller, l.names, t.kind, name) {
				counted.own = "" // a client may invent names: those are counted together
			}
		}
		buckets = append(buckets, limit.bucket(c, counted))
	}
	if len(buckets) == 0 {
		return nil, nil
	}
	end, wait, err := l.store.Take(ctx, buckets)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		l.log.Error("gateway: the store of limits failed; the call is refused", "error", err)
		return nil, mcp.Refusal(http.StatusServiceUnavailable, failurePause, "the limits cannot be checked now; try again later")
	case wait > 0:
		return nil, mcp.Refusal(http.StatusTooManyRequests, wait, "too many calls: try again in %d s", mcp.RetrySeconds(wait))
	}
	return end, nil
}

// isEverything reports whether the limit is about all requests.
func (l *Limit) isEverything() bool { return l.isWhole() && l.Server == "" }

// needsName reports whether the limit depends on what a call uses.
func (l *Limit) needsName() bool { return !l.isEverything() || l.Per == PerTool }

// failurePause is when a caller may try again after something of the gateway
// failed.
const failurePause = 5 * time.Second

// featureOf returns what a call uses: the first name in its parameters, and that
// name as the client has it. Named is false if that is nothing of a server.
func featureOf(ctx context.Context, c *mcp.Call, names Resolver) (t feature, name string, named bool) {
	kind, member := namedBy(c.Method)
	ok := false
	if member != "" {
		name, ok = rawjson.String(rawjson.Lookup(c.Params, member))
	} else if c.Method != mcp.MethodSubscriptionsListen {
		_, _ = protocol.RenameNames(c.Method, mcp.InParams, "", c.Params, func(k, n string) (string, error) {
			if !ok {
				kind, name, ok = k, n, true
			}
			return n, nil
		})
	}
	if !ok {
		return feature{}, "", false
	}
	server, own, ok := names.Resolve(ctx, &c.Caller, kind, name)
	if !ok {
		return feature{kind: kind, own: name}, name, false
	}
	return feature{kind, server, own}, name, true
}

// short returns a name for a key: a long one, which a client may have invented, is
// replaced by its digest.
func short(name string) string {
	const longest = 256
	if len(name) <= longest {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// bucket returns what counts a call.
func (l *Limit) bucket(c *mcp.Call, t feature) Bucket {
	b := Bucket{LimitKey: LimitKey{Limit: l.Name}, Burst: float64(l.Burst)}
	if c.Method != mcp.MethodSubscriptionsListen {
		b.Concurrency = l.Concurrency
	}
	if l.Rate > 0 && l.Period > 0 {
		b.Rate = float64(l.Rate) / l.Period.Seconds()
		if l.Burst <= 0 {
			b.Burst = float64(l.Rate)
		}
	}
	if p := c.Caller.Principal; p != nil && l.Per != PerAll {
		b.Issuer, b.Principal = p.Issuer, p.ID
	}
	if l.Per == PerTool {
		b.Kind, b.Server, b.Own = t.kind, t.server, short(t.own)
	}
	return b
}

// maxBuckets bounds the counts that are kept in memory, and maxOwn those of one
// caller by tool for one limit.
const (
	maxBuckets = 100_000
	maxOwn     = 1000
)

// NewMemoryLimits returns a LimitStore that counts in memory, for a single
// gateway. It forgets a count when it says nothing any more; if there are
// 100,000 others, it refuses further callers until some can be forgotten. Of one
// caller and limit it counts 1000 tools apart, and further ones together.
func NewMemoryLimits() LimitStore {
	return &memoryLimits{counts: map[LimitKey]*count{}, own: map[LimitKey]int{}}
}

type memoryLimits struct {
	mu     sync.Mutex
	counts map[LimitKey]*count
	own    map[LimitKey]int // the number of counts by tool, by the key without the tool
	swept  time.Time
}

// A count is the state of a Bucket.
type count struct {
	tokens float64
	at     time.Time // when tokens were counted
	open   int       // calls
	idle   time.Time // when tokens are full again
}

// Take implements LimitStore.
func (m *memoryLimits) Take(_ context.Context, buckets []Bucket) (end func(), wait time.Duration, err error) {
	now := time.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	var room [4]*count
	counts := room[:0]
	for i := range buckets {
		b := &buckets[i]
		n := m.count(b, now)
		if n == nil {
			return nil, time.Second, nil
		}
		wait = max(wait, n.wait(b, now))
		counts = append(counts, n)
	}
	if wait > 0 {
		return nil, wait, nil
	}
	var open []*count
	for i, n := range counts {
		if n.take(&buckets[i], now) {
			open = append(open, n)
		}
	}
	if open == nil {
		return nil, 0, nil
	}
	return func() { m.end(open) }, 0, nil
}

// end ends a call.
func (m *memoryLimits) end(open []*count) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, n := range open {
		n.open--
	}
}

// count returns the count of a bucket; nil if there are too many.
func (m *memoryLimits) count(b *Bucket, now time.Time) *count {
	key := b.LimitKey
	n := m.counts[key]
	if n != nil {
		return n
	}
	caller := key.caller()
	if key != caller && m.own[caller] >= maxOwn {
		if key = caller; m.counts[key] != nil {
			return m.counts[key]
		}
	}
	if len(m.counts) >= maxBuckets && !m.sweep(now) {
		return nil
	}
	n = &count{tokens: b.Burst, at: now, idle: now}
	m.counts[key] = n
	if key != caller {
		m.own[caller]++
	}
	return n
}

// caller returns the key without the tool.
func (k LimitKey) caller() LimitKey {
	k.Kind, k.Server, k.Own = "", "", ""
	return k
}

// sweep forgets counts that say nothing, once a second at most. It reports whether
// there is room.
func (m *memoryLimits) sweep(now time.Time) bool {
	if now.Sub(m.swept) >= time.Second {
		m.swept = now
		for key, n := range m.counts {
			if n.open == 0 && !now.Before(n.idle) {
				m.forget(key)
			}
		}
	}
	return len(m.counts) < maxBuckets
}

// forget removes a count.
func (m *memoryLimits) forget(key LimitKey) {
	delete(m.counts, key)
	caller := key.caller()
	if key == caller {
		return
	}
	if m.own[caller]--; m.own[caller] == 0 {
		delete(m.own, caller)
	}
}

// rounding is what a token may lack because times are rounded.
const rounding = 1e-4

// wait returns when a call is possible; 0 means now.
func (n *count) wait(b *Bucket, now time.Time) (wait time.Duration) {
	if b.Concurrency > 0 && n.open >= b.Concurrency {
		wait = time.Second // nobody knows when a call ends
	}
	if b.Rate > 0 {
		n.tokens = min(b.Burst, n.tokens+now.Sub(n.at).Seconds()*b.Rate)
		n.at = now
		if n.tokens < 1-rounding {
			wait = max(wait, time.Duration((1-n.tokens)/b.Rate*float64(time.Second)).Round(time.Microsecond), 1)
		}
	}
	return wait
}

// take opens a call. It reports whether its end matters.
func (n *count) take(b *Bucket, now time.Time) (bounded bool) {
	if b.Rate > 0 {
		n.tokens--
		n.idle = now.Add(time.Duration((b.Burst - n.tokens) / b.Rate * float64(time.Second)))
	}
	if b.Concurrency > 0 {
		n.open++
	}
	return b.Concurrency > 0
}
