package main

import (
	"fmt"
	"io"
)

// A bar is what Tenon promises of a scenario.
type bar struct {
	what  string
	limit float64
	least bool   // the limit is the least, not the most
	unit  string // of the value, after the number
	value func(rep *report) (float64, bool)
}

// against is a ratio of Tenon to a peer.
func against(scenario, base, metric string) func(*report) (float64, bool) {
	return between(scenario, "tenon", base, metric)
}

// between is a ratio of one peer to another.
func between(scenario, name, base, metric string) func(*report) (float64, bool) {
	return func(rep *report) (float64, bool) {
		if r := rep.find(scenario); r != nil {
			return r.ratio(name, base, metric)
		}
		return 0, false
	}
}

// promised reports whether something is promised of a scenario that compares
// processor time with a floor's: a small difference, which takes many rounds to
// be seen on a shared machine.
func (s *scenario) promised() bool {
	switch s.name {
	case "modern-json-32", "legacy-json-32", "stdio-1", "stdio-64", "list-1000", "gateway":
		return true
	}
	return false
}

// own is a metric of Tenon.
func own(scenario, metric string) func(*report) (float64, bool) { return of(scenario, "tenon", metric) }

// of is a metric of a peer.
func of(scenario, name, metric string) func(*report) (float64, bool) {
	return func(rep *report) (float64, bool) {
		if r := rep.find(scenario); r != nil {
			return r.get(name, metric)
		}
		return 0, false
	}
}

func combine(a, b func(*report) (float64, bool), f func(x, y float64) float64) func(*report) (float64, bool) {
	return func(rep *report) (float64, bool) {
		x, ok := a(rep)
		y, ok2 := b(rep)
		if !ok || !ok2 {
			return 0, false
		}
		return f(x, y), true
	}
}

func overFloor(rep *report) (float64, bool) {
	r := rep.find("modern-json-32")
	if r == nil {
		return 0, false
	}
	a, ok := r.get("tenon", "allocs")
	b, ok2 := r.get("floorscan", "allocs")
	return a - b, ok && ok2
}

var promises = []bar{
	{"modern `tools/call`, HTTP JSON, 32 connections, CPU", 1.6, false, " × the scanning floor", against("modern-json-32", "floorscan", "cpu")},
	{"legacy `tools/call`, HTTP JSON, 32 connections, CPU", 1.9, false, " × the scanning floor", against("legacy-json-32", "floorscan", "cpu")},
	{"stdio, 64 in flight, CPU", 0.8, false, " × the encoding/json floor", against("stdio-64", "floorjson", "cpu")},
	{"stdio, one at a time, p50", 1.3, false, " × the encoding/json floor", against("stdio-1", "floorjson", "p50")},
	{"`tools/list` of 1,000 tools, CPU", 1.3, false, " × the scanning floor", against("list-1000", "floorscan", "cpu")},
	{"allocations of a modern HTTP call, over the floor's own", 12, false, "", overFloor},
	{"result of 1 MB, throughput", 0.7, true, " × the scanning floor", against("result-1mb", "floorscan", "mbps")},
	{"result of 10 MB, throughput", 0.7, true, " × the scanning floor", against("result-10mb", "floorscan", "mbps")},
	{"result of 10 MB, peak memory", 3, false, " × the payload", own("result-10mb", "peak")},
	{"argument of 1 MB, throughput", 300, true, " MB/s", own("argument-1mb", "mbps")},
	{"idle legacy session, resident", 2, false, " KiB", own("sessions", "kib")},
	{"idle legacy session, goroutines", 0, false, "", own("sessions", "goroutines")},
	{"open SSE stream, resident", 0.6, false, " × a bare net/http stream", against("streams", "floorjson", "kib")},
	{"open modern stream, resident", 0.6, false, " × a bare net/http stream", against("streams-modern", "floorjson", "kib")},
	{"`tenon gateway` with router, rules, limits, audit and pins, CPU of a hop", 0.8, false, " × the reverse proxy of net/http", between("gateway", "tenongateway", "floorjson", "cpu")},
	{"the same", 1.6, false, " × Tenon's bare hop", between("gateway", "tenongateway", "tenon", "cpu")},
	{"idle legacy client of `tenon gateway`, resident", 4, false, " KiB", of("sessions", "tenongateway", "kib")},
	{"start to first answer, stdio", 2, false, " × an empty Go program", between("start", "tenonstdio", "empty", "ms")},
	{"the same for a program that also serves HTTP", 2, false, " × a Go program with net/http", between("start", "tenon", "floorscan", "ms")},
	{"client and server in one process, time", 0.5, false, " × mcp-go", against("memory", "mcpgo", "wall")},
	{"client and server in one process, bytes", 0.5, false, " × mcp-go", against("memory", "mcpgo", "bytes")},
	{"client and server in one process, allocations", 0.5, false, " × mcp-go", against("memory", "mcpgo", "allocs")},
	{"start with 1,000 tools", 3, false, " × the start with none", combine(own("start-1000", "ms"), own("start", "ms"), func(x, y float64) float64 { return x / y })},
}

// bars writes what was promised and what was found.
func (rep *report) bars(w io.Writer) {
	fmt.Fprint(w, "\n## What Tenon promises\n\n| what | promised | measured | |\n|---|---|---|---|\n")
	for _, b := range promises {
		v, ok := b.value(rep)
		if !ok {
			continue
		}
		word, met := "at most", v <= b.limit+0.005
		if b.least {
			word, met = "at least", v >= b.limit-0.005
		}
		verdict := "kept"
		if !met {
			verdict = "**missed**"
		}
		fmt.Fprintf(w, "| %s | %s %v%s | %.2f | %s |\n", b.what, word, b.limit, b.unit, v, verdict)
	}
}
