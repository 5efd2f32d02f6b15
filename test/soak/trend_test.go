package soak

import (
	"fmt"
	"math"
	"testing"
	"time"
)

// A quantity is something that is sampled and must not grow.
type quantity struct {
	name  string
	unit  string
	scale float64 // of a sample, for printing
	// floor is what a quantity may grow by in a run in units of samples, whatever
	// the error: see levels.
	floor float64
	part  float64 // likewise, as a part of its mean
}

// In 30 minutes there are 1,800 faults and some 200,000 calls. A leak of 1 MiB of
// heap would be 5 bytes for each call, and one of 10 goroutines or descriptors one
// for each 180th fault: what leaks with calls or faults at all is above that. The
// memory of a process that the system counts also has what the heap's
// fragmentation takes, which settles slowly. Times are those of a machine that
// does other things too.
var (
	heap        = quantity{"live heap", "MiB", 1 << 20, 1 << 20, 0.05}
	memory      = quantity{"memory (RSS)", "MiB", 1 << 20, 4 << 20, 0.05}
	goroutines  = quantity{"goroutines", "", 1, 10, 0.05}
	descriptors = quantity{"descriptors", "", 1, 10, 0.05}
	median      = quantity{"p50", "ms", 1, 5, 0.25}
	tail        = quantity{"p99", "ms", 1, 50, 0.25}
)

type sample struct {
	at    time.Duration // since the start of the run
	value float64
}

// A trend is a straight line through samples: what a value grows by in an hour,
// and the standard error of that.
type trend struct {
	n            int
	mean         float64
	slope, error float64 // for each hour
	length       time.Duration
}

// blocks is the number of means that a line is put through. Samples that follow
// each other are alike, since a garbage collector and faults last longer than the
// time between them; the means of blocks are not, and the error that is computed
// from them is right.
const blocks = 24

// warmUp is the part of a run after which samples count. Clients call four times as
// often before, so that caches, pools and the heap fill: also what a gateway keeps
// for clients that resume, up to 10 MiB, and the last 16 tokens of each user, which
// it hides.
const warmUp = 1. / 3

// fit puts a line through samples by least squares.
func fit(samples []sample) (t trend, ok bool) {
	if len(samples) == 0 {
		return t, false
	}
	first, last := samples[0].at, samples[len(samples)-1].at
	from := first + time.Duration(warmUp*float64(last-first))
	for len(samples) > 0 && samples[0].at < from {
		samples = samples[1:]
	}
	if len(samples) < 6 {
		return t, false
	}
	per := max(1, (len(samples)+blocks-1)/blocks)
	var x, y []float64
	for ; len(samples) > 0; samples = samples[min(per, len(samples)):] {
		block := samples[:min(per, len(samples))]
		var at, value float64
		for _, s := range block {
			at, value = at+s.at.Hours(), value+s.value
		}
		x, y = append(x, at/float64(len(block))), append(y, value/float64(len(block)))
	}
	n := float64(len(x))
	var mx, my, xx, xy float64
	for i := range x {
		mx, my = mx+x[i]/n, my+y[i]/n
	}
	for i := range x {
		xx, xy = xx+(x[i]-mx)*(x[i]-mx), xy+(x[i]-mx)*(y[i]-my)
	}
	t = trend{n: len(x), mean: my, slope: xy / xx, length: last - from}
	var rest float64
	for i := range x {
		d := y[i] - my - t.slope*(x[i]-mx)
		rest += d * d
	}
	t.error = math.Sqrt(rest / (n - 2) / xx)
	return t, true
}

// growth is what the line grows by in the part of the run that it is of.
func (t trend) growth() float64 { return t.slope * t.length.Hours() }

// levels reports whether a quantity levels off: its slope is not above 0 by more
// than two standard errors, or what it grows by is small.
func (t trend) levels(q quantity) bool {
	return t.slope <= 2*t.error || t.growth() < max(q.floor, q.part*t.mean)
}

func (t trend) show(q quantity) string {
	verdict := "levels off"
	if !t.levels(q) {
		verdict = "GROWS"
	}
	return fmt.Sprintf("%-13s mean %9.2f %-4s slope %+9.2f ± %.2f %s/h  %s", q.name, t.mean/q.scale, q.unit, t.slope/q.scale, t.error/q.scale, q.unit, verdict)
}

// A line through a leak is found, one through noise, waves or a start is not.
func TestTrendFindsLeaks(t *testing.T) {
	t.Parallel()
	const hour = 900 // samples in half an hour
	series := func(f func(i float64) float64) (all []sample) {
		for i := range hour {
			noise := float64((i*7919)%101) - 50
			all = append(all, sample{time.Duration(i) * 2 * time.Second, f(float64(i)) + noise/10})
		}
		return all
	}
	for name, c := range map[string]struct {
		f      func(i float64) float64
		levels bool
	}{
		"noise":              {func(float64) float64 { return 100 }, true},
		"a start":            {func(i float64) float64 { return 100 + min(i, 100) }, true},
		"waves":              {func(i float64) float64 { return 100 + 5*math.Sin(i/60) }, true},
		"falls":              {func(i float64) float64 { return 200 - i/10 }, true},
		"a leak":             {func(i float64) float64 { return 100 + i/20 }, false},
		"a leak under waves": {func(i float64) float64 { return 100 + i/20 + 20*math.Sin(i/60) }, false},
	} {
		line, ok := fit(series(c.f))
		if !ok || line.levels(goroutines) != c.levels {
			t.Errorf("%s: %s", name, line.show(goroutines))
		}
	}
	if _, ok := fit(nil); ok {
		t.Error("nothing has a trend")
	}
	exact, _ := fit([]sample{{0, 0}, {1 * time.Hour, 1}, {2 * time.Hour, 2}, {3 * time.Hour, 3}, {4 * time.Hour, 4}, {5 * time.Hour, 5}, {6 * time.Hour, 6}, {7 * time.Hour, 7}, {8 * time.Hour, 8}})
	if math.Abs(exact.slope-1) > 1e-9 || exact.error > 1e-9 || exact.growth() < 5.3 {
		t.Errorf("a line: %+v", exact)
	}
}
