// Start measures how long "tenon tools builtin:calc" takes from a cold process,
// beside an empty Go program that prints one line. Both are built the same way
// and run in turns, so that whatever else the machine does is shared. It prints
// the medians, their ratio, and the size of the binary.
//
//	go run ./start [-runs 300]
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const empty = `package main

import "fmt"

func main() { fmt.Println("hello") }
`

func main() {
	runs := flag.Int("runs", 300, "how often each is run")
	flag.Parse()
	if err := measure(*runs); err != nil {
		fmt.Fprintln(os.Stderr, "start:", err)
		os.Exit(1)
	}
}

// A contender is a command line and how long its runs took.
type contender struct {
	name  string
	line  []string
	times []time.Duration
}

func measure(runs int) error {
	dir, err := os.MkdirTemp("", "start")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "empty.go"), []byte(empty), 0o600); err != nil {
		return err
	}
	tenon, nothing := filepath.Join(dir, "tenon"), filepath.Join(dir, "empty")
	if err := build("..", tenon, "./cmd/tenon"); err != nil {
		return err
	}
	if err := build(dir, nothing, "empty.go"); err != nil {
		return err
	}
	all := []*contender{
		{name: "an empty Go program", line: []string{nothing}},
		{name: "tenon version", line: []string{tenon, "version"}},
		{name: "tenon tools builtin:calc", line: []string{tenon, "tools", "builtin:calc"}},
	}
	for round := range runs + 10 {
		for _, c := range all {
			took, err := c.run(dir)
			if err != nil {
				return err
			}
			if round >= 10 { // the first ones fill the page cache
				c.times = append(c.times, took)
			}
		}
	}
	return report(all, tenon)
}

func build(in, out, what string) error {
	c := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", out, what)
	c.Dir = in
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("building %s: %w\n%s", what, err, text)
	}
	return nil
}

func (c *contender) run(config string) (time.Duration, error) {
	cmd := exec.Command(c.line[0], c.line[1:]...)
	cmd.Env = append(os.Environ(), "TENON_CONFIG_DIR="+config)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	began := time.Now()
	err := cmd.Run()
	took := time.Since(began)
	if err != nil {
		err = fmt.Errorf("%s: %w\n%s", strings.Join(c.line, " "), err, out.String())
	}
	return took, err
}

func report(all []*contender, tenon string) error {
	about, err := os.Stat(tenon)
	if err != nil {
		return err
	}
	var first time.Duration
	fmt.Println("From a cold process to its end, median and fastest tenth:")
	for _, c := range all {
		slices.Sort(c.times)
		median, fast := c.times[len(c.times)/2], c.times[len(c.times)/10]
		if first == 0 {
			first = median
		}
		fmt.Printf("  %-26s %8.2f ms %8.2f ms   %.2f x\n", c.name, ms(median), ms(fast), float64(median)/float64(first))
	}
	fmt.Printf("  the binary, stripped: %.1f MB\n", float64(about.Size())/1e6)
	return nil
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
