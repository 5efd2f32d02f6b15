package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/internal/freeport"
	"github.com/tenon-mcp/tenon/mcp"
)

const (
	benchClients = 16
	benchLength  = time.Second // of one measurement
)

// bench measures the cluster and prints the figures of docs/scale-out.md.
func bench(ctx context.Context, o options) error {
	if err := benchReplica(ctx, o); err != nil || o.only != "" {
		return err
	}
	if o.duration == 0 {
		o.duration = 10 * time.Minute
	}
	s, err := newSetup(o.tenon)
	if err != nil {
		return err
	}
	defer s.close()
	if err := s.startCluster(); err != nil {
		return err
	}
	l := newLoad(20 * time.Millisecond)
	if err := s.underKills(ctx, o, l, func(time.Time) {}); err != nil {
		return err
	}
	fmt.Printf("\nThree replicas for %s, one killed every %s\n\n", o.duration, o.every)
	s.table(os.Stdout, l, o.duration)
	m, old := l.of(modern), l.of(legacy)
	fmt.Printf("\nslowest call: %s of %s, %s of %s\n", m.slowest.Round(time.Millisecond), modern, old.slowest.Round(time.Millisecond), legacy)
	if m.lost > 0 || m.worst > 5*time.Second || old.worst > 5*time.Second {
		return fmt.Errorf("%d modern calls were lost; the longest failover took %s", m.lost, max(m.worst, old.worst))
	}
	return nil
}

// A subject is something to measure.
type subject struct {
	name string
	run  func(ctx context.Context) (calls int, err error) // for benchLength
	at   []*process                                       // whose CPU time counts
	cpu  []float64                                        // µs for each call, one entry a round
	rate []float64                                        // calls a second
}

// benchReplica compares one replica with Redis with one without, and a forwarded
// call with one that is not, in turns.
func benchReplica(ctx context.Context, o options) error {
	s, err := newSetup(o.tenon)
	if err != nil {
		return err
	}
	defer s.close()
	var r [3]*replica // the first without Redis
	for i := range r {
		if r[i], err = s.addReplica(i > 0); err != nil {
			return err
		}
	}
	alone, one, two := r[0], r[1], r[2]
	proxy, via, err := s.startProxy(one.addr)
	if err != nil {
		return err
	}
	subjects := []*subject{
		{name: string(modern) + " without Redis", run: calls(alone, modern), at: []*process{alone.p}},
		{name: string(modern) + " with Redis", run: calls(one, modern), at: []*process{one.p}},
		{name: string(legacy) + " without Redis", run: calls(alone, legacy), at: []*process{alone.p}},
		{name: string(legacy) + " with Redis", run: calls(one, legacy), at: []*process{one.p}},
		{name: "input, second round at its replica", run: rounds(one, one.addr), at: []*process{one.p}},
		{name: "input, second round by a proxy", run: rounds(one, via), at: []*process{one.p, proxy}},
		{name: "input, second round forwarded", run: rounds(one, two.addr), at: []*process{one.p, two.p}},
	}
	if o.only != "" {
		subjects = slices.DeleteFunc(subjects, func(s *subject) bool { return s.name != o.only })
	}
	for _, s := range subjects { // to connect and to warm up
		if _, err := s.run(ctx); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	for round := range o.rounds {
		for i := range subjects {
			if err := subjects[(i+round)%len(subjects)].measure(ctx); err != nil {
				return err
			}
		}
	}
	fmt.Printf("tools/call, %d clients, %d rounds of %s in turns, medians\n", benchClients, o.rounds, benchLength)
	for _, s := range subjects {
		fmt.Printf("%-36s %7.0f calls/s  %6.0f µs CPU/call (%.0f-%.0f)\n", s.name, median(s.rate), median(s.cpu), slices.Min(s.cpu), slices.Max(s.cpu))
	}
	if o.only != "" {
		return nil
	}
	for i, rev := range []mcp.Revision{modern, legacy} {
		a, b := subjects[2*i], subjects[2*i+1]
		fmt.Printf("%s with Redis: %.2f x the calls/s, %.2f x the calls for the same CPU time (medians of the ratios of each round)\n", rev, ratio(b.rate, a.rate), ratio(a.cpu, b.cpu))
	}
	direct, proxied, forwarded := subjects[4], subjects[5], subjects[6]
	hop, extra := added(proxied.cpu, direct.cpu), added(forwarded.cpu, direct.cpu)
	fmt.Printf("forwarded: it adds %.0f µs CPU at both replicas together, %.2f x those of a hop, which adds %.0f µs at the proxy and the replica together (medians of each round)\n", median(extra), ratio(extra, hop), median(hop))
	return nil
}

// startProxy starts a plain reverse proxy before a replica: one hop.
func (s *setup) startProxy(to string) (p *process, addr string, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, "", err
	}
	if addr, err = freeport.Addr(); err != nil {
		return nil, "", err
	}
	if p, err = s.run(nil, self, "-proxy", addr, "-to", to); err != nil {
		return nil, "", err
	}
	return p, addr, p.ready("the proxy", func() error {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			c.Close()
		}
		return err
	})
}

// proxy runs a reverse proxy of net/http at an address, as startProxy starts it.
func proxy(addr, to string) error {
	p := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: to})
	p.Transport = &http.Transport{MaxIdleConnsPerHost: benchClients}
	return http.ListenAndServe(addr, p)
}

// added returns what a has more than b in each round.
func added(a, b []float64) []float64 {
	all := make([]float64, len(a))
	for i := range a {
		all[i] = a[i] - b[i]
	}
	return all
}

// ratio returns the median of the ratios of two things that were measured in the
// same rounds.
func ratio(a, b []float64) float64 {
	all := make([]float64, len(a))
	for i := range a {
		all[i] = a[i] / b[i]
	}
	return median(all)
}

func (s *subject) measure(ctx context.Context) error {
	used := func() (sum time.Duration, err error) {
		for _, p := range s.at {
			n, e := p.cpu()
			if e != nil {
				return 0, e
			}
			sum += n
		}
		return sum, nil
	}
	before, err := used()
	if err != nil {
		return err
	}
	began := time.Now()
	n, err := s.run(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	took := time.Since(began)
	after, err := used()
	s.cpu = append(s.cpu, float64((after-before).Microseconds())/float64(n))
	s.rate = append(s.rate, float64(n)/took.Seconds())
	return err
}

// calls returns a function that calls add at a replica.
func calls(r *replica, rev mcp.Revision) func(context.Context) (int, error) {
	return repeat(r, rev, func() http.RoundTripper { return transport() }, add)
}

// rounds returns a function that makes calls that ask for input at a server that
// keeps them open. The first round goes to a replica, the second to an address.
func rounds(first *replica, second string) func(context.Context) (int, error) {
	route := func() http.RoundTripper {
		t := transport()
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return nil, err
			}
			r = r.Clone(r.Context())
			r.Body = io.NopCloser(bytes.NewReader(body))
			if bytes.Contains(body, []byte(`"requestState"`)) {
				r.URL.Host = second
			}
			return t.RoundTrip(r)
		})
	}
	return repeat(first, modern, route, func(ctx context.Context, c *client.Client, _ int) error {
		res, err := c.CallTool(ctx, "old__order", map[string]any{}, nil)
		if err == nil && res.Content.Text() != "100" {
			err = fmt.Errorf("the result is %q", res.Content.Text())
		}
		return err
	})
}

// repeat returns a function that calls with benchClients clients for benchLength.
// The clients connect the first time.
func repeat(r *replica, rev mcp.Revision, via func() http.RoundTripper, call func(context.Context, *client.Client, int) error) func(context.Context) (int, error) {
	var clients []*client.Client
	return func(ctx context.Context) (int, error) {
		for len(clients) < benchClients {
			c, err := dial(ctx, "http://"+r.addr+"/mcp", rev, via())
			if err != nil {
				return 0, err
			}
			clients = append(clients, c)
		}
		var n atomic.Int64
		var failed atomic.Pointer[error]
		var all sync.WaitGroup
		end := time.Now().Add(benchLength)
		for _, c := range clients {
			all.Go(func() {
				for i := 0; time.Now().Before(end); i++ {
					if err := call(ctx, c, i); err != nil {
						failed.Store(&err)
						return
					}
					n.Add(1)
				}
			})
		}
		all.Wait()
		if err := failed.Load(); err != nil {
			return 0, *err
		}
		return int(n.Load()), nil
	}
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return v[len(v)/2]
}
