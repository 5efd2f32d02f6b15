// Command check compares what operations of Tenon allocate, in number and in
// bytes, with what was recorded, and fails when that grew. Time is not looked
// at: it depends on the machine, and allocations hardly do.
//
//	go run ./check             compare
//	go run ./check -record     write what is measured now
//	go run ./check -profile cpu.pprof -only http-call-modern -for 5s
//
// An operation may allocate half an allocation or 2 % more than recorded,
// whichever is more, and 64 bytes or 4 % more: maps and pools do not always
// grow at the same moment, and a scheduler decides which of two goroutines
// comes first. What has become better by more than that is told, so that it can
// be recorded.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"log"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/tenon-mcp/tenon/bench/internal/side"
)

// An operation is prepared once and then done again and again.
type operation struct {
	name    string
	n       int                    // how often it is done
	prepare func() (func(), error) // returns what is measured
}

type cost struct{ allocs, bytes float64 }

const file = "check/recorded.txt"

func main() {
	log.SetFlags(0)
	record := flag.Bool("record", false, "write what is measured now")
	profile := flag.String("profile", "", "write a CPU profile of the operations to this file, and compare nothing")
	only := flag.String("only", "", "with -profile: the one operation")
	length := flag.Duration("for", 3*time.Second, "with -profile: how long")
	flag.Parse()
	if *profile != "" {
		if err := profileOne(*profile, *only, *length); err != nil {
			log.Fatal(err)
		}
		return
	}
	old, err := read()
	if err != nil && !*record {
		log.Fatal(err)
	}
	var out strings.Builder
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "operation\tallocs\trecorded\tbytes\trecorded\t")
	grown, better := 0, 0
	for _, op := range operations {
		now, err := measure(op)
		if err != nil {
			log.Fatalf("%s: %v", op.name, err)
		}
		was, known := old[op.name]
		verdict := ""
		switch {
		case !known:
			verdict, grown = "not recorded", grown+1
		case now.allocs > more(was.allocs, 0.5, 0.02) || now.bytes > more(was.bytes, 64, 0.04):
			verdict, grown = "GREW", grown+1
		case was.allocs > more(now.allocs, 0.5, 0.02) || was.bytes > more(now.bytes, 64, 0.04):
			verdict, better = "less", better+1
		}
		fmt.Fprintf(w, "%s\t%.1f\t%.1f\t%.0f\t%.0f\t %s\n", op.name, now.allocs, was.allocs, now.bytes, was.bytes, verdict)
		fmt.Fprintf(&out, "%s %.1f %.0f\n", op.name, now.allocs, now.bytes)
	}
	w.Flush()
	if *record {
		if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
			log.Fatal(err)
		}
		return
	}
	if better > 0 {
		fmt.Printf("%d operations allocate less than recorded: go run ./check -record\n", better)
	}
	if grown > 0 {
		log.Fatalf("%d operations allocate more than recorded in bench/%s. If that is worth it: go run ./check -record", grown, file)
	}
}

// profileOne does one operation for a while and writes where its time went.
func profileOne(file, name string, length time.Duration) error {
	i := slices.IndexFunc(operations, func(op operation) bool { return op.name == name })
	if i < 0 {
		return fmt.Errorf("no operation is called %q", name)
	}
	do, err := operations[i].prepare()
	if err != nil {
		return err
	}
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := pprof.StartCPUProfile(f); err != nil {
		return err
	}
	defer pprof.StopCPUProfile()
	n, start, cpu := 0, time.Now(), side.Used()
	for ; time.Since(start) < length; n++ {
		do()
	}
	fmt.Printf("%s: %d times, %v of CPU each\n", name, n, (side.Used()-cpu)/time.Duration(n))
	return nil
}

func more(v, absolute, relative float64) float64 { return v + max(absolute, v*relative) }

// measure takes the least of several tries, for nothing can make a try cheaper
// than the operation is.
func measure(op operation) (cost, error) {
	do, err := op.prepare()
	if err != nil {
		return cost{}, err
	}
	for range max(1, op.n/10) {
		do()
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // or pools would be emptied at any moment
	best := cost{1e18, 1e18}
	for range 4 {
		runtime.GC()
		do() // what the collection took out of pools
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range op.n {
			do()
		}
		runtime.ReadMemStats(&after)
		best.allocs = min(best.allocs, float64(after.Mallocs-before.Mallocs)/float64(op.n))
		best.bytes = min(best.bytes, float64(after.TotalAlloc-before.TotalAlloc)/float64(op.n))
	}
	return best, nil
}

func read() (map[string]cost, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("%w (run it in the folder bench)", err)
	}
	defer f.Close()
	all := map[string]cost{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var name string
		var c cost
		if _, err := fmt.Sscan(lines.Text(), &name, &c.allocs, &c.bytes); err != nil {
			return nil, fmt.Errorf("%s: %q: %w", file, lines.Text(), err)
		}
		all[name] = c
	}
	return all, lines.Err()
}
