// Package leaktest fails a test run that leaves a goroutine, an open
// descriptor or a child process.
//
// A package uses it with
//
//	func TestMain(m *testing.M) { leaktest.Main(m) }
//
// Goroutines are checked everywhere; descriptors and children only on Linux,
// where /proc lists them.
package leaktest

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// settleTime is how long ending goroutines and processes may take on a busy
// machine. Only a leak takes all of it.
const settleTime = 30 * time.Second

// Main runs the tests of m, checks for leaks, and exits the process. Leaks
// fail the run and are listed on standard error. A fuzzing run is not
// checked, because the fuzzer's workers would count as leaks.
func Main(m *testing.M) {
	before := takeSnapshot()
	code := m.Run()
	if fuzzing() {
		os.Exit(code)
	}
	if left := before.settle(settleTime); len(left) > 0 {
		fmt.Fprintf(os.Stderr, "leaktest: %d leaks:\n\n%s\n", len(left), strings.Join(left, "\n\n"))
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

// A snapshot describes everything that a process has, by a key that is
// stable as long as it exists.
type snapshot map[string]string

// takeSnapshot records every goroutine except the caller's, every descriptor
// and every child.
func takeSnapshot() snapshot {
	s := make(snapshot)
	for _, g := range goroutines() {
		s["goroutine "+g.id] = g.stack
	}
	descriptors(s)
	children(s)
	return s
}

// settle waits until there is nothing that is not in before, and returns the
// rest at the time limit.
func (before snapshot) settle(limit time.Duration) []string {
	deadline := time.Now().Add(limit)
	for pause := time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		left := before.added(takeSnapshot())
		if len(left) == 0 || time.Now().After(deadline) {
			return left
		}
		time.Sleep(pause)
	}
}

// added returns the entries of now that are not in before, sorted.
func (before snapshot) added(now snapshot) []string {
	var left []string
	for key, what := range now {
		if _, known := before[key]; !known {
			left = append(left, key+": "+what)
		}
	}
	slices.Sort(left)
	return left
}

// A goroutine is one entry of a full stack dump.
type goroutine struct {
	id    string
	stack string
}

// permanent are parts of the stacks of goroutines that the standard library
// starts once and never ends.
var permanent = []string{
	"os/signal.signal_recv",
	"os/signal.loop",
	"runtime.ensureSigM",
	"runtime/trace.Start",
	"runtime/pprof.profileWriter",
}

// goroutines lists the goroutines of this process except the caller and those
// that never end by design.
func goroutines() []goroutine {
	var list []goroutine
	for i, entry := range strings.Split(allStacks(), "\n\n") {
		// The dump begins with the goroutine that asks for it.
		if i == 0 || isPermanent(entry) {
			continue
		}
		head, _, _ := strings.Cut(entry, "\n")
		fields := strings.Fields(head) // goroutine 7 [chan receive]:
		if len(fields) < 2 || fields[0] != "goroutine" {
			continue
		}
		list = append(list, goroutine{id: fields[1], stack: strings.TrimSpace(entry)})
	}
	return list
}

func isPermanent(entry string) bool {
	return slices.ContainsFunc(permanent, func(p string) bool { return strings.Contains(entry, p) })
}

// allStacks returns the stacks of all goroutines, the caller's first.
func allStacks() string {
	for size := 1 << 16; ; size *= 2 {
		buf := make([]byte, size)
		if n := runtime.Stack(buf, true); n < size {
			return string(buf[:n])
		}
	}
}
