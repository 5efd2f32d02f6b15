//go:build unix

package main

import (
	"context"
	"io"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
)

// BenchmarkGatewayIsolation measures calls of a good server at two gateways by
// turns: one with the good server only, and one with a bad neighbour as well. A
// neighbour that uses the processor is stopped while the other gateway is
// measured. It reports the 99th percentile of both, in microseconds, and their
// ratio.
func BenchmarkGatewayIsolation(b *testing.B) {
	for _, how := range []string{"good", "floods", "garbage", "storm", "hangs", "dies", "large"} {
		b.Run(how, func(b *testing.B) {
			servers := map[string]string{"good": "good", "bad": how}
			if how == "large" {
				servers["bad"] = "good"
			}
			alone := gatewayOf(b, map[string]string{"good": "good"})
			beside := gatewayOf(b, servers)
			pid(b, alone, "good")
			pid(b, beside, "good")
			bad := 0
			if slices.Contains([]string{"floods", "garbage", "storm"}, how) {
				bad = pid(b, beside, "bad")
			} else {
				defer useNeighbour(beside, how)()
			}
			const batch = 100
			var took [2][]time.Duration
			for range max(b.N, 20) {
				for i, c := range []*client.Client{alone, beside} {
					if bad != 0 {
						syscall.Kill(bad, []syscall.Signal{syscall.SIGSTOP, syscall.SIGCONT}[i])
						time.Sleep(20 * time.Millisecond) // what is in the pipe is read
					}
					for range batch {
						began := time.Now()
						pid(b, c, "good")
						took[i] = append(took[i], time.Since(began))
					}
				}
			}
			var p99 [2]float64
			for i := range took {
				slices.Sort(took[i])
				p99[i] = float64(took[i][len(took[i])*99/100].Microseconds())
			}
			b.ReportMetric(p99[0], "p99-alone-µs")
			b.ReportMetric(p99[1], "p99-beside-µs")
			b.ReportMetric(p99[1]/p99[0], "ratio")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// useNeighbour calls the neighbour during the measurement: its large tool, or any.
func useNeighbour(c *client.Client, how string) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	tool := "bad__pid"
	if how == "large" {
		tool = "bad__large"
	}
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			_, _ = c.CallTool(ctx, tool, nil, nil)
			select {
			case <-time.After(50 * time.Millisecond):
			case <-ctx.Done():
			}
		}
	}()
	return func() { cancel(); <-done }
}

// gatewayOf runs a gateway and returns a client of it.
func gatewayOf(b *testing.B, servers map[string]string) *client.Client {
	b.Helper()
	b.Setenv("TENON_CONFIG_DIR", b.TempDir())
	ctx, stop := context.WithCancel(context.Background())
	out := &told{said: make(chan string, 1)}
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, []string{"gateway", "-y", "--project", neighbours(b, servers), "--addr", "127.0.0.1:0"}, strings.NewReader(""), out, io.Discard)
	}()
	b.Cleanup(func() { stop(); <-ended })
	select {
	case url := <-out.said:
		return at(b, url, mcp.Rev20260728)
	case code := <-ended:
		ended <- code
		b.Fatalf("the gateway ended with %d", code)
	case <-time.After(hangs):
		b.Fatal("the gateway does not say its address")
	}
	return nil
}
