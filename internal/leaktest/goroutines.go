package leaktest

import (
	"runtime"
	"strings"
)

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
	for _, p := range permanent {
		if strings.Contains(entry, p) {
			return true
		}
	}
	return false
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
