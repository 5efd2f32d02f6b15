// Command cluster runs three gateways behind nginx with Redis on this machine,
// with clients of both eras that call without end, and kills a gateway every few
// seconds. It shows a live table until it is interrupted. With -bench it measures
// instead what the cluster costs and what clients notice of the kills.
//
//	make cluster-demo
//	make bench-cluster
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
)

type options struct {
	tenon    string
	bench    bool
	duration time.Duration
	every    time.Duration
	rounds   int
	only     string
}

func main() {
	var o options
	flag.StringVar(&o.tenon, "tenon", "bin/tenon", "the tenon program")
	flag.BoolVar(&o.bench, "bench", false, "measure instead of showing a table")
	flag.DurationVar(&o.duration, "duration", 0, "how long to kill replicas; 0: until interrupted")
	flag.DurationVar(&o.every, "kill", 5*time.Second, "how often to kill a replica")
	flag.IntVar(&o.rounds, "rounds", 11, "how often to measure each thing, with -bench")
	flag.StringVar(&o.only, "only", "", "measure only this, such as \"2025-06-18 with Redis\", to profile it, with -bench")
	hop, to := flag.String("proxy", "", "run a proxy at this address, which -bench does"), flag.String("to", "", "the address behind the proxy")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	run := demo
	switch {
	case o.bench:
		run = bench
	case *hop != "":
		run = func(context.Context, options) error { return proxy(*hop, *to) }
	}
	if err := run(ctx, o); err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		stop()
		os.Exit(1)
	}
}

// demo runs the cluster and shows the table.
func demo(ctx context.Context, o options) error {
	fmt.Println("Starting Redis, three gateways and nginx …")
	s, err := newSetup(o.tenon)
	if err != nil {
		return err
	}
	defer s.close()
	if err := s.startCluster(); err != nil {
		return err
	}
	l := newLoad(20 * time.Millisecond)
	return s.underKills(ctx, o, l, func(began time.Time) {
		fmt.Print("\x1b[H\x1b[2J") // the top of an empty screen
		s.table(os.Stdout, l, time.Since(began))
		fmt.Printf("\nClients reach %s. Files are in %s. Ctrl-C ends it all.\n", s.entry, s.dir)
	})
}

// underKills runs the load for o.duration while replicas are killed, and calls
// show every second.
func (s *setup) underKills(ctx context.Context, o options, l *load, show func(began time.Time)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if o.duration > 0 {
		ctx, cancel = context.WithTimeout(ctx, o.duration)
		defer cancel()
	}
	began, failed := time.Now(), make(chan error, 2)
	go func() { failed <- l.run(ctx, s.entry, 4) }()
	killer := make(chan error, 1)
	go func() { killer <- s.killInTurn(ctx, o.every) }()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	var err error
	for ctx.Err() == nil && err == nil {
		select {
		case <-tick.C:
			show(began)
		case err = <-killer:
			killer <- nil
		case err = <-failed:
			failed <- nil
		case <-ctx.Done():
		}
	}
	cancel()
	if e := <-failed; err == nil && !errors.Is(e, context.Canceled) {
		err = e
	}
	if e := <-killer; err == nil {
		err = e
	}
	show(began)
	return err
}

// table writes what has happened so far.
func (s *setup) table(w io.Writer, l *load, since time.Duration) {
	fmt.Fprintf(w, "%-11s %-21s %-7s %9s %9s %10s %6s\n", "replica", "address", "state", "responses", "failures", "failovers", "kills")
	for _, r := range s.replicas {
		r.mu.Lock()
		state, kills := r.state, r.kills
		r.mu.Unlock()
		l.mu.Lock()
		fmt.Fprintf(w, "%-11s %-21s %-7s %9d %9d %10d %6d\n", r.name, r.addr, state, l.served[r.addr], l.failed[r.addr], l.moved[r.addr], kills)
		l.mu.Unlock()
	}
	fmt.Fprintf(w, "\n%-11s %9s %8s %9s %9s %6s %9s\n", "clients", "calls", "calls/s", "failures", "repeated", "lost", "worst")
	var older int
	for _, rev := range []mcp.Revision{modern, legacy} {
		t := l.of(rev)
		fmt.Fprintf(w, "%-11s %9d %8.0f %9d %9d %6d %9s\n", rev, t.calls, float64(t.calls)/since.Seconds(), t.failures, t.repeated, t.lost, t.worst.Round(time.Millisecond))
		older = t.calls
	}
	if n, err := s.redisInfo("stats", "total_commands_processed"); err == nil {
		fmt.Fprintf(w, "\nRedis: %d commands in %s, %.2f for each call of %s\n", n, since.Round(time.Second), float64(n)/float64(max(older, 1)), legacy)
	}
	for _, t := range []tally{l.of(modern), l.of(legacy)} {
		if t.last != nil {
			fmt.Fprintf(w, "last failure: %.150s\n", strings.ReplaceAll(t.last.Error(), "\n", " "))
		}
	}
	fmt.Fprintln(w, `
failures   a replica died while it served: nginx does not repeat a POST that it has sent
failovers  nginx could not connect, and sent the request to another replica
repeated   the client called a second time (the tool is read-only) and got its result
worst      the longest time from the first attempt of such a call to its result`)
}
