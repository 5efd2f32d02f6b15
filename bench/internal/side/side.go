// Package side is what every Go program beside the load generator shares: its
// flags, the text that large results are made of, and counters of its memory.
// It touches no SDK and no network.
package side

import (
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// Flags are the command line of a program. Without any it serves on stdin and
// stdout.
type Flags struct {
	HTTP     string // serve over HTTP at this address
	Tools    int    // how many tools to offer in all
	SSE      bool   // answer with streams where the SDK leaves the choice
	Modern   bool   // speak 2026-07-28 where the SDK has to be told
	Upstream string // be a gateway before this URL
	Call     string // be a client of this URL
	InMemory bool   // be a client of a server in the same process
	N        int    // how many calls a client makes
}

// Parse reads the command line.
func Parse() Flags {
	log.SetFlags(0)
	var f Flags
	flag.StringVar(&f.HTTP, "http", "", "serve over HTTP at this address")
	flag.IntVar(&f.Tools, "tools", 0, "how many tools to offer in all")
	flag.BoolVar(&f.SSE, "sse", false, "answer with streams")
	flag.BoolVar(&f.Modern, "modern", false, "speak 2026-07-28")
	flag.StringVar(&f.Upstream, "upstream", "", "be a gateway before this URL")
	flag.StringVar(&f.Call, "call", "", "be a client of this URL")
	flag.BoolVar(&f.InMemory, "memory", false, "be a client of a server in this process")
	flag.IntVar(&f.N, "n", 1000, "how many calls a client makes")
	flag.Parse()
	return f
}

// Stats are counters of a process.
type Stats struct {
	Mallocs    uint64 `json:"mallocs"`
	Bytes      uint64 `json:"bytes"`
	Goroutines int    `json:"goroutines"`
}

// Now returns the counters of this process.
func Now() Stats {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return Stats{m.Mallocs, m.TotalAlloc, runtime.NumGoroutine()}
}

// A Cost is what calls of a client took, printed as one line of JSON.
type Cost struct {
	Calls  int     `json:"calls"`
	CPU    float64 `json:"cpu"`  // µs of the process for each call
	Wall   float64 `json:"wall"` // µs for each call
	Allocs float64 `json:"allocs"`
	Bytes  float64 `json:"bytes"`
}

// Calls makes n calls after a tenth of that for warming up, and prints what
// they cost this process.
func Calls(n int, call func() error) {
	for range max(1, n/10) {
		if err := call(); err != nil {
			log.Fatal(err)
		}
	}
	before, cpu, start := Now(), Used(), time.Now()
	for range n {
		if err := call(); err != nil {
			log.Fatal(err)
		}
	}
	wall, spent, after := time.Since(start), Used()-cpu, Now()
	per := func(v float64) float64 { return v / float64(n) }
	json.NewEncoder(os.Stdout).Encode(Cost{
		Calls: n, CPU: per(float64(spent) / 1e3), Wall: per(float64(wall) / 1e3),
		Allocs: per(float64(after.Mallocs - before.Mallocs)), Bytes: per(float64(after.Bytes - before.Bytes)),
	})
}

// Used is how much processor time this process has used.
func Used() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		log.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

const line = "Measure it, said the first, and wrote 0123456789 down on a line of text.\n"

var texts = map[int]string{}

// Prepare makes the texts that Text returns.
func Prepare() {
	for _, size := range []int{1 << 20, 10 << 20} {
		texts[size] = strings.Repeat(line, size/len(line)+1)[:size]
	}
}

// Text returns a text of size bytes that was made before, so that making it is
// not measured.
func Text(size int) (string, error) {
	if t, ok := texts[size]; ok {
		return t, nil
	}
	return "", fmt.Errorf("there is no text of %d bytes", size)
}

// Check is the error of a call whose sum is not 42.
func Check(sum int, err error) error {
	if err == nil && sum != 42 {
		err = fmt.Errorf("20 + 22 = %d", sum)
	}
	return err
}

// The arguments and results of the tools, the same for every Go program.
type (
	AddIn struct {
		A int `json:"a"`
		B int `json:"b"`
	}
	AddOut struct {
		Sum int `json:"sum"`
	}
	EchoIn struct {
		Msg string `json:"msg"`
	}
	BlobIn struct {
		Size int `json:"size"`
	}
	LengthIn struct {
		Text string `json:"text"`
	}
	LengthOut struct {
		Length int `json:"length"`
	}
	None struct{}
)

// Many is a number of more tools that bring a server to the wanted number.
func (f *Flags) Many(have int) []string {
	var names []string
	for i := have; i < f.Tools; i++ {
		names = append(names, fmt.Sprintf("tool_%04d", i))
	}
	return names
}
