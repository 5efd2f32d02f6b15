package gcfloor

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

func TestPercentFor(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct {
		live, floor uint64
		want        int
	}{
		{4 * mib, 32 * mib, 700},
		{16 * mib, 32 * mib, 100},
		{15 * mib, 32 * mib, 113},
		{100 * mib, 32 * mib, 100},
		{0, 32 * mib, 700}, // before the first collection
	} {
		if got := percentFor(c.live, c.floor); got != c.want {
			t.Errorf("percentFor(%d MiB, %d MiB) = %d, want %d", c.live/mib, c.floor/mib, got, c.want)
		}
	}
}

// A program with a small heap collects less often with a floor, and as before
// with a large heap or with GOGC. The heaps of tests vary, so processes of their
// own count.
func TestCollections(t *testing.T) {
	if os.Getenv("GCFLOOR_TEST") != "" {
		count()
		return
	}
	run := func(env ...string) (small, percent int) {
		cmd := exec.Command(os.Args[0], "-test.run=^TestCollections$")
		cmd.Env = append(os.Environ(), append(env, "GCFLOOR_TEST=1")...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if _, err := fmt.Sscanf(string(out), "%d collections, then %d percent", &small, &percent); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return small, percent
	}
	with, percent := run()
	if percent != 100 {
		t.Errorf("with a large heap the percentage is %d", percent)
	}
	without, _ := run("GOGC=100")
	if with*2 > without {
		t.Errorf("%d collections with a floor, %d without", with, without)
	}
}

var sink []byte

// count prints how often a small heap is collected, and the percentage once the
// heap is large.
func count() {
	Set(64 << 20)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for range 640 << 10 { // 640 MiB of garbage
		sink = make([]byte, 1<<10)
	}
	runtime.ReadMemStats(&after)
	held := make([]byte, 100<<20)
	var percent int
	for range 1000 { // until the cleanup has run after a collection
		runtime.GC()
		if percent = debug.SetGCPercent(100); percent == 100 {
			break
		}
		debug.SetGCPercent(percent)
		time.Sleep(time.Millisecond)
	}
	runtime.KeepAlive(held)
	fmt.Printf("%d collections, then %d percent\n", after.NumGC-before.NumGC, percent)
}
