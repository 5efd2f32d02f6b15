// Package leaktest fails a test run that leaves something behind: a goroutine,
// an open descriptor, or a child process.
//
// A package uses it with
//
//	func TestMain(m *testing.M) { leaktest.Main(m) }
//
// Goroutines are checked everywhere; descriptors and children only on Linux,
// where /proc tells them.
package leaktest

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// patience is how long things that are just ending may take to be gone, on a
// machine that has much else to do. Only what stays takes all of it.
const patience = 30 * time.Second

// Main runs the tests of m, then looks for what they left behind, and exits
// the process. Leaks turn a passed run into a failed one and are listed on
// standard error. A fuzzing run is not checked: the fuzzer's own workers would
// show up.
func Main(m *testing.M) {
	before := look()
	code := m.Run()
	if fuzzing() {
		os.Exit(code)
	}
	if left := before.settle(patience); len(left) > 0 {
		fmt.Fprintf(os.Stderr, "leaktest: the tests left %d thing(s) behind:\n\n%s\n", len(left), strings.Join(left, "\n\n"))
		code = max(code, 1)
	}
	os.Exit(code)
}

// fuzzing reports whether this process is a fuzzer or one of its workers.
func fuzzing() bool {
	for _, name := range []string{"test.fuzz", "test.fuzzworker"} {
		if f := flag.Lookup(name); f != nil && f.Value.String() != "" && f.Value.String() != "false" {
			return true
		}
	}
	return false
}

// A scene is what a process has at one moment: a description for each thing,
// under a key that stays the same as long as the thing lives.
type scene map[string]string

// look takes down every goroutine but the one that asks, every descriptor and
// every child.
func look() scene {
	s := make(scene)
	for _, g := range goroutines() {
		s["goroutine "+g.id] = g.stack
	}
	descriptors(s)
	children(s)
	return s
}

// settle waits until nothing is there that was not there before, and returns
// what still is when the time is up.
func (before scene) settle(limit time.Duration) []string {
	deadline := time.Now().Add(limit)
	for pause := time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		left := before.added(look())
		if len(left) == 0 || time.Now().After(deadline) {
			return left
		}
		time.Sleep(pause)
	}
}

// added returns what now has and before had not, sorted.
func (before scene) added(now scene) []string {
	var left []string
	for key, what := range now {
		if _, known := before[key]; !known {
			left = append(left, key+": "+what)
		}
	}
	slices.Sort(left)
	return left
}
