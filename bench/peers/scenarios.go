package main

import "time"

// A scenario is one way to measure every peer.
type scenario struct {
	name  string
	title string
	about string
	main  string // the metric that ratios and charts are about
	cols  []string
	bases []string // the peers that others are compared with; empty means floors and the official SDK
	skip  func(p *peer) bool
	rest  bool // measured without load: less often, for it is steady
	run   func(p *peer, o *options) (sample, error)
}

var (
	loadCols  = []string{"cpu", "rate", "p50", "p99", "allocs", "bytes", "rss"}
	largeCols = []string{"mbps", "cpumb", "p50", "bytes", "peak"}
)

func modernOnly(p *peer) bool { return p.legacy || !p.servesAll() }
func notServing(p *peer) bool { return !p.servesAll() }

func scenarios() []*scenario {
	const mb = 1 << 20
	all := []*scenario{
		overLines("stdio-1", "stdio, one at a time", add, false, 1),
		overLines("stdio-64", "stdio, 64 in flight", add, false, 64),
		overLines("stdio-modern-64", "stdio, 2026-07-28, 64 in flight", add, true, 64),
		overHTTP("legacy-json-1", "HTTP, 2025-11-25, JSON, one connection", add, false, false, 1),
		overHTTP("legacy-json-32", "HTTP, 2025-11-25, JSON, 32 connections", add, false, false, 32),
		overHTTP("legacy-sse-1", "HTTP, 2025-11-25, SSE, one connection", steps, false, true, 1),
		overHTTP("legacy-sse-32", "HTTP, 2025-11-25, SSE, 32 connections", steps, false, true, 32),
		overHTTP("modern-json-1", "HTTP, 2026-07-28, JSON, one connection", add, true, false, 1),
		overHTTP("modern-json-32", "HTTP, 2026-07-28, JSON, 32 connections", add, true, false, 32),
		overHTTP("modern-sse-1", "HTTP, 2026-07-28, SSE, one connection", steps, true, true, 1),
		overHTTP("modern-sse-32", "HTTP, 2026-07-28, SSE, 32 connections", steps, true, true, 32),
		overHTTP("list-1000", "tools/list of 1,000 tools, HTTP, one connection", list, false, false, 1, "-tools", "1000"),
		overHTTP("result-1mb", "A result of 1 MB, HTTP, one connection", blob(mb), false, false, 1),
		overHTTP("result-10mb", "A result of 10 MB, HTTP, one connection", blob(10*mb), false, false, 1),
		overHTTP("argument-1mb", "An argument of 1 MB, HTTP, one connection", argument(mb), false, false, 1),
		overHTTP("argument-10mb", "An argument of 10 MB, HTTP, one connection", argument(10*mb), false, false, 1),
	}
	return append(all, atRest()...)
}

// overLines is a load on stdin and stdout.
func overLines(name, title string, w work, modern bool, inFlight int) *scenario {
	s := &scenario{name: name, title: title, main: "cpu", cols: loadCols, skip: notServing}
	if modern {
		s.skip = modernOnly
	}
	s.run = func(p *peer, o *options) (sample, error) {
		r, err := start(p, false)
		if err != nil {
			return nil, err
		}
		defer r.stop()
		l := &lineLoad{in: r.in, out: r.out, work: w, modern: modern, inFlight: inFlight}
		if err := l.meet(); err != nil {
			return nil, err
		}
		return underLoad(r, p, o, 0, l.run)
	}
	return s
}

// overHTTP is a load on connections. With progress every call reports once,
// which has a server answer with a stream.
func overHTTP(name, title string, w work, modern, progress bool, connections int, args ...string) *scenario {
	s := &scenario{name: name, title: title, main: "cpu", cols: loadCols, skip: notServing}
	if modern {
		s.skip = modernOnly
		args = append(args, "-modern")
	}
	if progress {
		s.about = "Every call reports progress once, so that the answer is a stream of two events."
		args = append(args, "-sse")
	}
	if w.size > 0 {
		s.main, s.cols = "mbps", largeCols
	}
	s.run = func(p *peer, o *options) (sample, error) {
		r, err := start(p, true, args...)
		if err != nil {
			return nil, err
		}
		defer r.stop()
		l := &httpLoad{addr: r.addr, work: w, modern: modern, progress: progress}
		defer l.close()
		if err := l.open(connections); err != nil {
			return nil, err
		}
		lasting := *o
		if w.size > 1<<20 {
			lasting.length, lasting.warm = max(o.length, time.Second), o.warm/2
		}
		return underLoad(r, p, &lasting, w.size, l.run)
	}
	return s
}
