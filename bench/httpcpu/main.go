// Command httpcpu measures what a tools/call over HTTP costs a server in CPU
// time: Tenon, served by itself and mounted in an http.Server, beside a handler written by hand that does no more than it must
// (net/http, and a scan of the same JSON). Both run as processes of their own
// and take turns, so that whatever else the machine does falls on both.
//
//	go run ./httpcpu -rounds 5 -connections 32
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/internal/freeport"
)

// servers are the roles that this program can play.
var servers = map[string]func(addr string){"floor": serveFloor, "tenon": serveTenon, "mounted": serveMounted}

func main() {
	role := flag.String("serve", "", "play this server (used by the program itself)")
	addr := flag.String("addr", "", "where to listen")
	rounds := flag.Int("rounds", 5, "how often each server is measured")
	connections := flag.Int("connections", 32, "how many connections at once")
	length := flag.Duration("length", 1500*time.Millisecond, "how long one measurement takes")
	only := flag.String("only", "", "measure this one alone, such as \"tenon legacy\", to profile it")
	flag.Parse()
	if *role != "" {
		servers[*role](*addr)
		return
	}
	if err := measure(*rounds, *connections, *length, *only); err != nil {
		log.Fatal(err)
	}
}

// A subject is a server in one way of being called.
type subject struct {
	server string
	era    string
	cpu    []float64 // µs for each request, one entry a round
	rate   []float64
}

func measure(rounds, connections int, length time.Duration, only string) error {
	var subjects []*subject
	for _, era := range []string{"modern", "legacy"} {
		for _, server := range []string{"floor", "tenon", "mounted"} {
			subjects = append(subjects, &subject{server: server, era: era})
		}
	}
	if only != "" {
		subjects = slices.DeleteFunc(subjects, func(s *subject) bool { return s.server+" "+s.era != only })
	}
	for round := range rounds {
		for i := range subjects {
			s := subjects[(i+round)%len(subjects)]
			cpu, rate, err := once(s, connections, length)
			if err != nil {
				return fmt.Errorf("%s %s: %w", s.server, s.era, err)
			}
			s.cpu, s.rate = append(s.cpu, cpu), append(s.rate, rate)
		}
	}
	fmt.Printf("tools/call over HTTP, %d connections, %d rounds, medians\n", connections, rounds)
	var floor float64
	for _, s := range subjects {
		line := fmt.Sprintf("%-7s %-7s %6.1f µs CPU/request (%.1f-%.1f)  %7.0f requests/s", s.server, s.era, median(s.cpu), slices.Min(s.cpu), slices.Max(s.cpu), median(s.rate))
		if s.server == "floor" {
			floor = median(s.cpu)
		} else if floor > 0 {
			line += fmt.Sprintf("  %.2f x the floor", median(s.cpu)/floor)
		}
		fmt.Println(line)
	}
	return nil
}

// once starts a server, warms it up, and measures it.
func once(s *subject, connections int, length time.Duration) (cpu, rate float64, err error) {
	self, err := os.Executable()
	if err != nil {
		return 0, 0, err
	}
	addr, err := freeport.Addr()
	if err != nil {
		return 0, 0, err
	}
	cmd := exec.Command(self, "-serve", s.server, "-addr", addr)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return 0, 0, err
	}
	defer func() { cmd.Process.Kill(); cmd.Wait() }()
	if err := reachable(addr); err != nil {
		return 0, 0, err
	}
	l := &load{addr: addr, era: s.era, connections: connections}
	if err := l.open(); err != nil {
		return 0, 0, err
	}
	defer l.close()
	if _, err := l.run(length / 3); err != nil {
		return 0, 0, err
	}
	before := cpuTime(cmd.Process.Pid)
	start := time.Now()
	n, err := l.run(length)
	if err != nil {
		return 0, 0, err
	}
	took := time.Since(start)
	used := cpuTime(cmd.Process.Pid) - before
	return float64(used.Microseconds()) / float64(n), float64(n) / took.Seconds(), nil
}

// cpuTime reads how much time a process has used, from its clock ticks.
func cpuTime(pid int) time.Duration {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(raw[strings.LastIndexByte(string(raw), ')')+1:]))
	var user, system int64
	fmt.Sscan(fields[11], &user)
	fmt.Sscan(fields[12], &system)
	return time.Duration(user+system) * 10 * time.Millisecond
}

func median(v []float64) float64 {
	v = slices.Clone(v)
	slices.Sort(v)
	return v[len(v)/2]
}
