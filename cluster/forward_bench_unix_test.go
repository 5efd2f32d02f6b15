//go:build unix

package cluster_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/cluster"
)

// BenchmarkHops compares, in turns, a POST to a handler, through a reverse proxy of
// net/http without TLS, which is one hop, and forwarded between replicas: the CPU
// time of the whole process and the latency with one client. The ratios are
// medians of those of each turn. Run it with -benchtime 100x: an operation is a
// turn of 100 requests each.
func BenchmarkHops(b *testing.B) {
	serve := http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		io.Copy(io.Discard, q.Body)
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, strings.Repeat("x", 300))
	})
	store := cluster.NewMemory()
	from, to := join(b, store, nil), join(b, store, nil)
	to.Handle(serve)
	upstream := httptest.NewServer(serve)
	defer upstream.Close()
	target, err := url.Parse(upstream.URL)
	if err != nil {
		b.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.Transport = &http.Transport{MaxIdleConnsPerHost: 64}
	ways := []http.Handler{serve, proxy, handlerFor(from, to.ID, nil)}
	var cpu, wall [3][]float64
	var sites [3]*httptest.Server
	for i, h := range ways {
		sites[i] = httptest.NewServer(h)
		defer sites[i].Close()
		post(b, sites[i].URL, 100)
	}
	for turn := 0; b.Loop(); turn++ {
		for k := range ways {
			i := (turn + k) % len(ways)
			used, began := cpuTime(b), time.Now()
			post(b, sites[i].URL, 100)
			cpu[i] = append(cpu[i], float64((cpuTime(b)-used).Microseconds())/100)
			wall[i] = append(wall[i], float64(time.Since(began).Microseconds())/100)
		}
	}
	for name, of := range map[string][3][]float64{"cpu": cpu, "latency": wall} {
		var hops []float64
		for turn := range of[0] {
			hops = append(hops, (of[2][turn]-of[0][turn])/(of[1][turn]-of[0][turn]))
		}
		for i, way := range []string{"direct", "hop", "forward"} {
			slices.Sort(of[i])
			b.ReportMetric(of[i][len(of[i])/2], name+"-"+way+"-µs")
		}
		slices.Sort(hops)
		b.ReportMetric(hops[len(hops)/2], name+"-hops")
	}
}

func post(b *testing.B, url string, times int) {
	for range times {
		resp, err := http.Post(url, "application/json", strings.NewReader(strings.Repeat("y", 800)))
		if err != nil {
			b.Fatal(err)
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
}

func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
