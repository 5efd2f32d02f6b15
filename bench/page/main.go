// Command page measures what the page costs: how long tenon up takes from a cold
// process to an answer, beside a Go program that is an empty HTTP server; and how
// much memory the host holds when it is idle with
// its four builtin servers.
//
//	go run ./page -rounds 15
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	mostTimes  = 5  // slower than an empty server
	mostMemory = 60 // MB of an idle host
)

func main() {
	log.SetFlags(0)
	empty := flag.Bool("empty", false, "be the empty server")
	rounds := flag.Int("rounds", 15, "how often each is started")
	flag.Parse()
	if *empty {
		serveNothing()
		return
	}
	if err := measure(*rounds); err != nil {
		log.Fatal(err)
	}
}

// serveNothing is the least that answers a browser.
func serveNothing() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("http://%s/\n", l.Addr())
	log.Fatal(http.Serve(l, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})))
}

func measure(rounds int) error {
	dir, err := os.MkdirTemp("", "tenon-bench-page-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "tenon")
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", program, "./cmd/tenon")
	build.Dir = ".."
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	os.Setenv("TENON_CONFIG_DIR", filepath.Join(dir, "config"))
	up := []string{program, "up", "--no-browser", "--model", "none", "--workspace", filepath.Join(dir, "work")}
	first, _, err := start(up, 0)
	if err != nil {
		return err
	}
	var ours, nothing []time.Duration
	for range rounds { // by turns, so that a busy machine is as busy for both
		a, _, err := start([]string{self, "-empty"}, 0)
		if err != nil {
			return err
		}
		b, _, err := start(up, 0)
		if err != nil {
			return err
		}
		nothing, ours = append(nothing, a), append(ours, b)
	}
	_, memory, err := start(up, 3*time.Second)
	if err != nil {
		return err
	}
	slices.Sort(ours)
	slices.Sort(nothing)
	times := float64(ours[rounds/2]) / float64(nothing[rounds/2])
	fmt.Printf("empty HTTP server, process to answer   %8.1f ms (median of %d)\n", ms(nothing[rounds/2]), rounds)
	fmt.Printf("tenon up, process to page              %8.1f ms, %.1f times it (at most %d)%s\n", ms(ours[rounds/2]), times, mostTimes, judge(times <= mostTimes))
	fmt.Printf("tenon up, first start with samples     %8.1f ms\n", ms(first))
	fmt.Printf("idle host with four builtins           %8.1f MB (at most %d)%s\n", memory, mostMemory, judge(memory <= mostMemory))
	return nil
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func judge(ok bool) string {
	if ok {
		return ""
	}
	return "  TOO MUCH"
}

var address = regexp.MustCompile(`http://127\.0\.0\.1:\d+/`)

// start starts a program, waits until the address that it prints answers, and
// ends it. If it is to stay for a while it also says how many MB it holds then.
func start(command []string, stay time.Duration) (took time.Duration, memory float64, err error) {
	ctx, stop := context.WithTimeout(context.Background(), 30*time.Second)
	defer stop()
	c := exec.CommandContext(ctx, command[0], command[1:]...)
	c.Dir = os.TempDir()
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		return 0, 0, err
	}
	began := time.Now()
	if err := c.Start(); err != nil {
		return 0, 0, err
	}
	defer func() {
		_ = c.Process.Signal(os.Interrupt)
		_ = c.Wait()
	}()
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		page := address.FindString(lines.Text())
		if page == "" {
			continue
		}
		r, err := http.Get(page)
		if err != nil {
			return 0, 0, err
		}
		r.Body.Close()
		took = time.Since(began)
		if stay > 0 {
			time.Sleep(stay)
			memory, err = resident(c.Process.Pid)
		}
		return took, memory, err
	}
	return 0, 0, fmt.Errorf("%s printed no address", strings.Join(command, " "))
}

// resident is how many MB a process holds, as Linux counts them.
func resident(pid int) (float64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, err := strconv.Atoi(strings.Fields(rest)[0])
			return float64(kb) * 1024 / 1e6, err
		}
	}
	return 0, fmt.Errorf("no VmRSS of process %d", pid)
}
