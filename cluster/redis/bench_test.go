package redis_test

import (
	"context"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/cluster"
	"github.com/tenon-mcp/tenon/cluster/redis"
	"github.com/tenon-mcp/tenon/internal/redistest"
)

// BenchmarkStore measures operations on a real server on this machine, by one
// caller and by 64 at once.
func BenchmarkStore(b *testing.B) {
	server := redistest.Start(b, nil)
	s := open(b, server.URL, &redis.Options{Timeout: time.Minute})
	ctx, value := context.Background(), make([]byte, 500)
	var n atomic.Int64
	next := func() string { return strconv.FormatInt(n.Add(1)%10_000, 10) }
	limit := cluster.LogLimit{Entries: 100, Bytes: 1 << 20, TTL: time.Hour}
	bucket := cluster.Bucket{Rate: 1e6, Burst: 1e6}
	for range 10_000 {
		if _, err := s.Set(ctx, next(), value, cluster.AnyVersion, time.Hour); err != nil {
			b.Fatal(err)
		}
	}
	for _, op := range []struct {
		name string
		f    func() error
	}{
		{"get", func() error { _, _, err := s.Get(ctx, next(), time.Hour); return err }},
		{"set", func() error { _, err := s.Set(ctx, next(), value, cluster.AnyVersion, time.Hour); return err }},
		{"once", func() error { _, err := s.Once(ctx, next(), time.Hour); return err }},
		{"acquire", func() error { _, err := s.Acquire(ctx, next(), "me", time.Hour); return err }},
		{"take", func() error { _, err := s.Take(ctx, next(), 1, bucket); return err }},
		{"append", func() error { _, err := s.Append(ctx, next(), value, limit); return err }},
		{"publish", func() error { return s.Publish(ctx, next(), value) }},
		{"epoch", func() error { _, err := s.Epoch(ctx); return err }},
	} {
		b.Run(op.name+"/1", func(b *testing.B) {
			for b.Loop() {
				if err := op.f(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "op/s")
		})
		b.Run(op.name+"/64", func(b *testing.B) {
			b.SetParallelism(32) // for each of two cores
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if err := op.f(); err != nil {
						b.Error(err)
						return
					}
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "op/s")
		})
	}
}
