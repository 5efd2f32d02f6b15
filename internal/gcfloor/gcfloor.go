// Package gcfloor lets a small heap grow before garbage is collected.
package gcfloor

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// Set makes the collector wait until the heap has floor bytes, where it would
// otherwise collect at twice the live heap. A server with a live heap of a few
// megabytes spends a tenth of its time on garbage without it. Larger heaps are
// collected as before. Set does nothing if the person who runs the program has
// set GOGC or GOMEMLIMIT. Call it once.
func Set(floor uint64) {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	t := &tuner{floor: floor, percent: normal}
	t.adjust()
	t.watch()
}

// normal is the percentage of the runtime.
const normal = 100

// A tuner sets the percentage after each collection.
type tuner struct {
	floor   uint64
	percent int
}

// watch calls adjust after the next collection, and so on.
func (t *tuner) watch() {
	mark := new([16]byte) // large enough to be an object of its own
	runtime.AddCleanup(mark, func(t *tuner) {
		t.adjust()
		t.watch()
	}, t)
}

func (t *tuner) adjust() {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	if live[0].Value.Kind() != metrics.KindUint64 {
		return
	}
	if want := percentFor(live[0].Value.Uint64(), t.floor); want > t.percent+t.percent/8 || want < t.percent-t.percent/8 {
		t.percent = want
		debug.SetGCPercent(want)
	}
}

// percentFor returns the percentage with which the next collection begins at
// floor bytes, but not before the live heap has doubled.
func percentFor(live, floor uint64) int {
	const least = 4 << 20 // the runtime collects no smaller heap at 100 percent
	live = max(live, least)
	if floor <= 2*live {
		return normal
	}
	return int((floor - live) * 100 / live)
}
