package main

import (
	"errors"
	"runtime"
	"slices"
	"time"
)

// A sample is what one measurement found, by the names of metrics.
type sample map[string]float64

// options say how thorough a run is.
type options struct {
	rounds   int
	more     int           // rounds of Tenon and the floors alone, where a promise compares their processor time
	length   time.Duration // of one measurement
	warm     time.Duration // before it
	warmNode time.Duration // before it, for what has to compile itself first
	sessions int
	streams  int
	starts   int
	calls    int
}

var (
	thorough = options{rounds: 5, more: 6, length: 1200 * time.Millisecond, warm: 400 * time.Millisecond, warmNode: 3 * time.Second, sessions: 20_000, streams: 2_000, starts: 12, calls: 8_000}
	quick    = options{rounds: 1, length: 250 * time.Millisecond, warm: 100 * time.Millisecond, warmNode: 300 * time.Millisecond, sessions: 500, streams: 100, starts: 3, calls: 500}
)

func (o *options) warmUp(p *peer) time.Duration {
	if p.script != "" {
		return o.warmNode
	}
	return o.warm
}

// underLoad warms a server up and measures it. Run is called with how long it
// shall go on, and returns how long each request took.
func underLoad(r *process, p *peer, o *options, size int, run func(time.Duration) ([]time.Duration, error)) (sample, error) {
	pid := r.cmd.Process.Pid
	if _, err := run(o.warmUp(p)); err != nil {
		return nil, err
	}
	before, err := r.counters(false)
	if err != nil {
		return nil, err
	}
	self, cpu, all, start := cpuTime(0), cpuTime(pid), busy(), time.Now()
	var kids time.Duration
	if r.children {
		kids = childrenTime(pid)
	}
	took, err := run(o.length)
	if err != nil {
		return nil, err
	}
	wall := time.Since(start)
	spent := cpuTime(pid) - cpu
	own := cpuTime(0) - self
	if r.children {
		kids = childrenTime(pid) - kids
	}
	others := busy() - all - spent - own - kids
	after, err := r.counters(false)
	if err != nil {
		return nil, err
	}
	if len(took) == 0 {
		return nil, errors.New("no request was answered in time")
	}
	n := float64(len(took))
	slices.Sort(took)
	s := sample{
		"cpu":     float64(spent) / 1e3 / n,
		"rate":    n / wall.Seconds(),
		"p50":     float64(took[len(took)/2]) / 1e3,
		"p99":     float64(took[len(took)*99/100]) / 1e3,
		"rss":     status(pid, "VmRSS") / 1024,
		"foreign": max(0, 100*others.Seconds()/wall.Seconds()/float64(runtime.NumCPU())),
	}
	if r.children {
		s["childcpu"] = float64(kids) / 1e3 / n
	}
	if r.stats != nil && p.script == "" {
		s["allocs"] = float64(after.Mallocs-before.Mallocs) / n
		s["bytes"] = float64(after.Bytes-before.Bytes) / n
	}
	if size > 0 {
		mb := float64(size) / (1 << 20)
		s["mbps"] = mb * s["rate"]
		s["cpumb"] = s["cpu"] / 1e3 / mb
		s["peak"], err = peak(r, run)
		s["peak"] /= mb
	}
	return s, err
}

// peak is how many MiB one request takes, at its height, of a server that has
// given back what it could.
func peak(r *process, run func(time.Duration) ([]time.Duration, error)) (float64, error) {
	base, _, err := r.settled()
	if err != nil {
		return 0, err
	}
	pid := r.cmd.Process.Pid
	forgetPeak(pid)
	_, err = run(0)
	return max(0, status(pid, "VmHWM")-base) / 1024, err
}

func median(v []float64) float64 {
	v = slices.Clone(v)
	slices.Sort(v)
	return v[len(v)/2]
}
