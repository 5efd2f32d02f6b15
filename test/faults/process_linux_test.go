package faults

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// long bounds every wait. Only a defect takes all of it.
const long = time.Minute

// stacksVariable names the file to which a process writes the stacks of its
// goroutines on SIGUSR1.
const stacksVariable = "TENON_TEST_STACKS"

// writesStacks makes this process write its stacks. The program tenon gets the
// same function when it is built.
const writesStacks = `package main

import (
	"os"
	"os/signal"
	"runtime/pprof"
	"syscall"
)

func init() {
	name := os.Getenv("TENON_TEST_STACKS")
	if name == "" {
		return
	}
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGUSR1)
	go func() {
		for range asked {
			if f, err := os.Create(name + ".part"); err == nil {
				pprof.Lookup("goroutine").WriteTo(f, 2)
				f.Close()
				os.Rename(name+".part", name)
			}
		}
	}()
}
`

// writeStacks does in programs of this package what writesStacks does in tenon.
func writeStacks() {
	name := os.Getenv(stacksVariable)
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGUSR1)
	go func() {
		for range asked {
			if f, err := os.Create(name + ".part"); err == nil {
				pprof.Lookup("goroutine").WriteTo(f, 2)
				f.Close()
				os.Rename(name+".part", name)
			}
		}
	}()
}

// programs are built once. tenon is the command with writesStacks; changeable is
// it and peer is this test, both with a clock that jumps.
var programs struct {
	dir               string
	tenon             func() (string, error)
	changeable, peers func() (string, error)
}

func init() {
	var once sync.Once
	dir := func() string {
		once.Do(func() {
			d, err := os.MkdirTemp("", "tenon-faults-")
			if err != nil {
				panic(err)
			}
			programs.dir = d
		})
		return programs.dir
	}
	programs.tenon = sync.OnceValues(func() (string, error) { return build(filepath.Join(dir(), "plain"), false, false) })
	programs.changeable = sync.OnceValues(func() (string, error) { return build(filepath.Join(dir(), "clock"), true, false) })
	programs.peers = sync.OnceValues(func() (string, error) { return build(filepath.Join(dir(), "peers"), true, true) })
}

// build builds tenon, or this test, in a folder, maybe with a clock that jumps.
func build(dir string, clock, test bool) (string, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	folder, err := filepath.Abs("../../cmd/tenon")
	if err != nil {
		return "", err
	}
	stacks, overlay, out := filepath.Join(dir, "stacks.go"), filepath.Join(dir, "overlay.json"), filepath.Join(dir, "tenon")
	replace := map[string]string{filepath.Join(folder, "stacks_on_signal.go"): stacks}
	if err := os.WriteFile(stacks, []byte(writesStacks), 0o600); err != nil {
		return "", err
	}
	if clock {
		original, changed, err := jumpingClock(dir)
		if err != nil {
			return "", err
		}
		replace[original] = changed
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(overlay, text, 0o600); err != nil {
		return "", err
	}
	cmd := exec.Command("go", "build", "-overlay", overlay, "-o", out, "../../cmd/tenon")
	if test {
		cmd = exec.Command("go", "test", "-c", "-overlay", overlay, "-o", out, ".")
	}
	if said, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, said)
	}
	return out, nil
}

// tenon returns the path of the command; with a clock, of the one whose clock jumps.
func tenon(t *testing.T, c *clock) string { return built(t, c, programs.tenon, programs.changeable) }

// peer returns the path of this test, see [TestMain]; with a clock, of the one
// whose clock jumps.
func peer(t *testing.T, c *clock) string { return built(t, c, os.Executable, programs.peers) }

func built(t *testing.T, c *clock, plain, jumping func() (string, error)) string {
	t.Helper()
	if c != nil {
		plain = jumping
	}
	path, err := plain()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// A process is a program that a cell watches.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	home   string // the folder of its files
	stacks string
	stdin  io.WriteCloser
	stdout io.ReadCloser
	ended  chan struct{}

	mu     sync.Mutex
	stderr bytes.Buffer
}

// prepare returns a process that is not started yet. Its files are in home.
func prepare(t *testing.T, home string, c *clock, path string, args ...string) *process {
	t.Helper()
	p := &process{t: t, home: home, stacks: filepath.Join(t.TempDir(), "stacks"), ended: make(chan struct{})}
	p.cmd = exec.Command(path, args...)
	p.cmd.Dir = home
	p.cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home, "TMPDIR="+home, stacksVariable+"="+p.stacks, "GORACE=atexit_sleep_ms=10", cellVariable+"="+p.t.Name())
	if c != nil {
		p.cmd.Env = append(p.cmd.Env, clockVariable+"="+c.file)
	}
	p.cmd.Stderr = p
	return p
}

// Write keeps standard error.
func (p *process) Write(data []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stderr.Write(data)
}

// said is standard error so far.
func (p *process) said() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stderr.String()
}

// start starts a process whose standard input and output are pipes.
func (p *process) start() *process {
	p.t.Helper()
	var err error
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		p.t.Fatal(err)
	}
	read, write, err := os.Pipe()
	if err != nil {
		p.t.Fatal(err)
	}
	p.stdout, p.cmd.Stdout = read, write
	err = p.cmd.Start()
	write.Close()
	if err != nil {
		p.t.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		p.cmd.Wait()
	}()
	p.t.Cleanup(func() {
		p.cmd.Process.Kill()
		<-p.ended
		p.stdout.Close()
		p.stdin.Close()
		for _, name := range survivors(p.t) {
			p.t.Errorf("left after the end of the process: child process %s", name)
		}
		if p.t.Failed() {
			p.t.Logf("%s said:\n%s", p.cmd.Args, p.said())
		}
	})
	return p
}

// address waits until the process says on standard output where it serves.
func (p *process) address() string {
	p.t.Helper()
	at := make(chan string, 1)
	go func() {
		lines := bufio.NewScanner(p.stdout)
		for lines.Scan() {
			if _, rest, ok := strings.Cut(lines.Text(), " at "); ok && strings.HasPrefix(lines.Text(), "Serving") {
				at <- strings.TrimSuffix(strings.TrimPrefix(rest, "http://"), "/mcp")
			}
		}
		close(at)
	}()
	select {
	case a, ok := <-at:
		if ok {
			return a
		}
	case <-time.After(long):
	}
	p.t.Fatalf("%s does not serve: %s", p.cmd.Args, p.said())
	return ""
}

// ends waits until the process has ended and returns its exit code.
func (p *process) ends() int {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(2 * long):
		p.t.Fatalf("%s has not ended\n%s", p.cmd.Args, p.goroutines())
	}
	return p.cmd.ProcessState.ExitCode()
}

// A usage is what a process has, by what it is and how often.
type usage map[string]int

// usage returns what the process has now.
func (p *process) usage() usage {
	u := usage{}
	pid := p.cmd.Process.Pid
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if target, err := os.Readlink(filepath.Join(dir, e.Name())); err == nil {
			kind, _, isInode := strings.Cut(target, ":[")
			if !isInode {
				kind = target
			}
			u["descriptor of "+kind]++
		}
	}
	for _, name := range descendants(pid) {
		u["child process "+name]++
	}
	for _, stack := range p.stackList() {
		u["goroutine "+stack]++
	}
	for name := range list(p.home) {
		u["file "+name]++
	}
	return u
}

// list lists the files below a folder.
func list(dir string) iter.Seq[string] {
	return func(yield func(string) bool) {
		filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err == nil && !e.IsDir() && !yield(strings.TrimPrefix(path, dir)) {
				return fs.SkipAll
			}
			return nil
		})
	}
}

// descendants returns the names of the processes below one.
func descendants(pid int) (found []string) {
	parents, names := map[int]int{}, map[int]string{}
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		id, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		raw, err := os.ReadFile(filepath.Join("/proc", e.Name(), "stat"))
		open, end := bytes.IndexByte(raw, '('), bytes.LastIndexByte(raw, ')')
		if err != nil || open < 0 || end < 0 {
			continue
		}
		fields := strings.Fields(string(raw[end+1:]))
		if parent, err := strconv.Atoi(fields[1]); err == nil {
			parents[id], names[id] = parent, string(raw[open+1:end])
		}
	}
	for id := range parents {
		for above := parents[id]; above > 1; above = parents[above] {
			if above == pid {
				found = append(found, names[id])
			}
		}
	}
	return found
}

// cellVariable has the name of a cell in the environment of all of its processes.
const cellVariable = "TENON_FAULTS_CELL"

// survivors waits until the processes of a cell have ended, and returns those that
// do not. They are found by their environment: who started them may have ended.
func survivors(t *testing.T) (found []string) {
	for begin := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		found = nil
		names, err := filepath.Glob("/proc/[0-9]*/environ")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			environ, err := os.ReadFile(name) // fails if the process has ended
			if err == nil && slices.Contains(strings.Split(string(environ), "\x00"), cellVariable+"="+t.Name()) {
				line, _ := os.ReadFile(filepath.Join(filepath.Dir(name), "cmdline"))
				found = append(found, strings.Join(strings.Split(string(line), "\x00"), " "))
			}
		}
		if len(found) == 0 || time.Since(begin) > long {
			return found
		}
	}
}

// goroutines returns the stacks of all goroutines, or nothing if the process is
// not able to tell.
func (p *process) goroutines() string {
	os.Remove(p.stacks)
	for range 40 {
		select {
		case <-p.ended:
			return ""
		default:
		}
		p.cmd.Process.Signal(syscall.SIGUSR1)
		for range 50 {
			if raw, err := os.ReadFile(p.stacks); err == nil {
				return string(raw)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	return ""
}

// stackList returns the function that each goroutine runs and that it was
// created by.
func (p *process) stackList() (list []string) {
	for _, stack := range strings.Split(p.goroutines(), "\n\n") {
		lines := strings.Split(strings.TrimSpace(stack), "\n")
		if len(lines) < 2 || strings.Contains(stack, "pprof.writeGoroutineStacks") {
			continue
		}
		by := "main"
		for _, line := range lines {
			if rest, ok := strings.CutPrefix(line, "created by "); ok {
				by, _, _ = strings.Cut(rest, " in goroutine")
			}
		}
		list = append(list, by)
	}
	return list
}

// memory returns the resident memory of the process in bytes.
func (p *process) memory() int {
	raw, _ := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.cmd.Process.Pid))
	if fields := strings.Fields(string(raw)); len(fields) > 1 {
		pages, _ := strconv.Atoi(fields[1])
		return pages * os.Getpagesize()
	}
	return 0
}

// A before is what a process had before a fault.
type before struct {
	p      *process
	usage  usage
	memory int
}

// measure waits until the process has nothing to do and returns what it has.
func (p *process) measure() *before {
	p.t.Helper()
	last := p.usage()
	for begin := time.Now(); time.Since(begin) < long; {
		time.Sleep(200 * time.Millisecond)
		now := p.usage()
		if maps.Equal(last, now) {
			break
		}
		last = now
	}
	return &before{p, last, p.memory()}
}

// moreMemory is how much more memory a process may have after a fault: what the
// garbage collector leaves of large messages.
const moreMemory = 96 << 20

// left waits until the process has no more than before, and returns what it has.
// What the names in grows begin with may be more.
func (b *before) left(within time.Duration, grows ...string) []string {
	b.p.t.Helper()
	for begin := time.Now(); ; time.Sleep(200 * time.Millisecond) {
		var left []string
		now := b.p.usage()
		for _, name := range slices.Sorted(maps.Keys(now)) {
			extra := slices.ContainsFunc(grows, func(g string) bool { return strings.HasPrefix(name, g) })
			if n := now[name] - b.usage[name]; n > 0 && !extra {
				left = append(left, fmt.Sprintf("%d × %s", n, name))
			}
		}
		if m := b.p.memory(); m > b.memory+moreMemory {
			left = append(left, fmt.Sprintf("memory: %d MiB, before %d MiB", m>>20, b.memory>>20))
		}
		if len(left) == 0 || time.Since(begin) > within {
			return left
		}
	}
}
