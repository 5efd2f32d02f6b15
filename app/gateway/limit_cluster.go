package gateway

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/tenon-mcp/tenon/cluster"
)

// NewClusterLimits returns a LimitStore for several gateways that share a store:
// the rate of a limit is that of all of them together. Concurrency is counted by
// each gateway for itself.
//
// While the store is unavailable, each gateway counts by itself, so together they
// allow up to their number times the rate. Clocks of the gateways do not matter.
func NewClusterLimits(store cluster.Store) LimitStore {
	return &clusterLimits{store: store, open: NewMemoryLimits(), alone: NewMemoryLimits()}
}

type clusterLimits struct {
	store cluster.Store
	open  LimitStore // counts open calls
	alone LimitStore // counts rates while the store is unavailable
}

// Take implements LimitStore.
func (l *clusterLimits) Take(ctx context.Context, buckets []Bucket) (end func(), wait time.Duration, err error) {
	var bounded, rated []Bucket
	for _, b := range buckets {
		if b.Rate > 0 {
			rated = append(rated, b)
			rated[len(rated)-1].Concurrency = 0
		}
		if b.Concurrency > 0 {
			b.Rate, b.Burst = 0, 0
			bounded = append(bounded, b)
		}
	}
	if bounded != nil {
		if end, wait, err = l.open.Take(ctx, bounded); wait > 0 || err != nil {
			return nil, wait, err
		}
	}
	wait, err = l.takeTokens(ctx, rated)
	if (wait > 0 || err != nil) && end != nil {
		end()
		end = nil
	}
	return end, wait, err
}

// takeTokens takes a token of each bucket, or of none.
func (l *clusterLimits) takeTokens(ctx context.Context, buckets []Bucket) (wait time.Duration, err error) {
	for i := range buckets {
		wait, err = l.store.Take(ctx, buckets[i].key(), 1, buckets[i].shared())
		if wait == 0 && err == nil {
			continue
		}
		l.giveBack(ctx, buckets[:i])
		if errors.Is(err, cluster.ErrUnavailable) || errors.Is(err, cluster.ErrFull) {
			_, wait, err = l.alone.Take(ctx, buckets)
		}
		return wait, err
	}
	return 0, nil
}

// giveBack returns tokens that were taken for a call that is refused. If it
// fails, the caller has fewer, which is the safe side.
func (l *clusterLimits) giveBack(ctx context.Context, buckets []Bucket) {
	for i := range buckets {
		if _, err := l.store.Take(context.WithoutCancel(ctx), buckets[i].key(), -1, buckets[i].shared()); err != nil {
			return
		}
	}
}

// shared returns the bucket for the store.
func (b *Bucket) shared() cluster.Bucket {
	return cluster.Bucket{Rate: b.Rate, Burst: max(1, int(math.Ceil(b.Burst)))}
}

// key returns the name of a count: a digest, which shows no principal.
func (k *LimitKey) key() string {
	h := sha256.New()
	for _, s := range []string{k.Limit, k.Issuer, k.Principal, k.Kind, k.Server, k.Own} {
		fmt.Fprintf(h, "%d:%s", len(s), s)
	}
	return "limit " + base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}
