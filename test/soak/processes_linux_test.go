package soak

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// hangs bounds a wait for what must happen; it is no measure.
const hangs = time.Minute

// buildTenon builds the program with stats_linux_test.go in it.
func buildTenon(t *testing.T, dir string) string {
	t.Helper()
	source, err := os.ReadFile("stats_linux_test.go")
	if err != nil {
		t.Fatal(err)
	}
	file, overlay, out := filepath.Join(dir, "stats.go"), filepath.Join(dir, "overlay.json"), filepath.Join(dir, "tenon")
	main, err := filepath.Abs("../../cmd/tenon")
	if err != nil {
		t.Fatal(err)
	}
	list, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(main, "soak_stats.go"): file}})
	if err == nil {
		err = errors.Join(os.WriteFile(file, bytes.Replace(source, []byte("package soak"), []byte("package main"), 1), 0o600), os.WriteFile(overlay, list, 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
	if said, err := exec.Command("go", "build", "-overlay", overlay, "-o", out, main).CombinedOutput(); err != nil {
		t.Fatalf("build tenon: %v\n%s", err, said)
	}
	return out
}

// A process is a program that is started, and started again after a kill.
type process struct {
	name   string
	args   []string // the program first
	env    []string
	ready  func() error // nil once it serves
	stdin  any          // is written to it as JSON; nil: nothing
	stdout io.Writer    // nil: kept with its errors

	mu     sync.Mutex
	cmd    *exec.Cmd
	done   chan struct{} // closed when it has ended
	wanted bool          // to run: its end is none of its own
	starts int
	said   last
}

// start starts the process and waits until it is ready.
func (p *process) start() error {
	cmd := exec.Command(p.args[0], p.args[1:]...)
	cmd.Env = append(os.Environ(), p.env...)
	cmd.Stdout, cmd.Stderr = &p.said, &p.said
	if p.stdout != nil {
		cmd.Stdout = p.stdout
	}
	if p.stdin != nil {
		raw, err := json.Marshal(p.stdin)
		if err != nil {
			return err
		}
		cmd.Stdin = bytes.NewReader(raw)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	done := make(chan struct{})
	go func() {
		cmd.Wait()
		close(done)
	}()
	p.mu.Lock()
	p.cmd, p.done, p.wanted = cmd, done, true
	p.starts++
	p.mu.Unlock()
	for begin := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		err := p.ready()
		if err == nil {
			return nil
		}
		select {
		case <-done:
			return fmt.Errorf("%s has ended: %v\n%s", p.name, cmd.ProcessState, &p.said)
		default:
		}
		if time.Since(begin) > hangs {
			return fmt.Errorf("%s is not ready: %w\n%s", p.name, err, &p.said)
		}
	}
}

// end sends a signal and waits for the end.
func (p *process) end(s syscall.Signal) error {
	p.mu.Lock()
	cmd, done := p.cmd, p.done
	p.wanted = false
	p.mu.Unlock()
	if cmd == nil {
		return nil
	}
	cmd.Process.Signal(syscall.SIGCONT)
	cmd.Process.Signal(s)
	select {
	case <-done:
		return nil
	case <-time.After(hangs):
		cmd.Process.Kill()
		<-done
		return fmt.Errorf("%s does not end after %v\n%s", p.name, s, &p.said)
	}
}

// died returns an error if the process has ended by itself.
func (p *process) died() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.done:
		if p.wanted {
			return fmt.Errorf("%s has ended by itself: %v\n%s", p.name, p.cmd.ProcessState, &p.said)
		}
	default:
	}
	return nil
}

// last keeps the last of what a process prints.
type last struct {
	mu  sync.Mutex
	buf []byte
}

func (l *last) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.buf = append(l.buf, p...)
	l.buf = slices.Clone(l.buf[max(0, len(l.buf)-8192):])
	return len(p), nil
}

func (l *last) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.buf)
}

// A seen is what a process says of itself.
type seen struct {
	role             string
	goroutines, heap float64
}

// processes returns what the living processes say, by their ids.
func processes(dir string) map[int]seen {
	files, _ := os.ReadDir(dir)
	all := map[int]seen{}
	for _, f := range files {
		pid, err := strconv.Atoi(f.Name())
		if err != nil {
			continue
		}
		if syscall.Kill(pid, 0) != nil {
			os.Remove(filepath.Join(dir, f.Name()))
			continue
		}
		raw, _ := os.ReadFile(filepath.Join(dir, f.Name()))
		var s seen
		if _, err := fmt.Sscan(string(raw), &s.role, &s.goroutines, &s.heap); err == nil {
			all[pid] = s
		}
	}
	return all
}

// playing returns the ids of the living processes with a role.
func playing(dir, role string) (pids []int) {
	for pid, s := range processes(dir) {
		if s.role == role {
			pids = append(pids, pid)
		}
	}
	return slices.Sorted(slices.Values(pids))
}

// usage returns the memory of a process and how many descriptors it has.
func usage(pid int) (memory, descriptors float64, err error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0, 0, err
	}
	fields := strings.Fields(string(raw))
	if len(fields) < 2 {
		return 0, 0, errors.New("no memory: it has ended")
	}
	pages, err := strconv.ParseFloat(fields[1], 64)
	if err != nil {
		return 0, 0, err
	}
	fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	return pages * float64(os.Getpagesize()), float64(len(fds)), err
}

// A life is the samples of one process, from its start to its end.
type life struct {
	pid    int
	values map[string][]sample // by the names of quantities
}

// A recorder has the samples of all processes, by role, and of what clients measure.
// It is in the process of the clients, which is judged too: it takes its memory at the
// beginning.
type recorder struct {
	began time.Time
	dir   string
	size  int // how many samples of each process to expect

	mu    sync.Mutex
	roles map[string]*lives
}

// lives is what is known of the processes of one role.
type lives struct {
	count int
	most  map[string]float64 // of all, by the names of quantities
	kept  []*life            // the longest, and the last
}

// look takes a sample of every process.
func (r *recorder) look() {
	at := time.Since(r.began)
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	if mem, fds, err := usage(os.Getpid()); err == nil {
		r.add("clients", 0, at, map[string]float64{memory.name: mem, descriptors.name: fds, goroutines.name: float64(runtime.NumGoroutine()), heap.name: float64(live[0].Value.Uint64())})
	}
	for pid, s := range processes(r.dir) {
		mem, fds, err := usage(pid)
		if err != nil {
			continue
		}
		r.add(s.role, pid, at, map[string]float64{memory.name: mem, descriptors.name: fds, goroutines.name: s.goroutines, heap.name: s.heap})
	}
}

func (r *recorder) add(role string, pid int, at time.Duration, values map[string]float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.roles[role]
	if all == nil {
		all = &lives{most: map[string]float64{}}
		r.roles[role] = all
	}
	i := slices.IndexFunc(all.kept, func(l *life) bool { return l.pid == pid })
	if i < 0 {
		i = all.begin(pid)
	}
	l := all.kept[i]
	for name, v := range values {
		if l.values[name] == nil && all.count == 1 { // a process that lasts
			l.values[name] = make([]sample, 0, r.size)
		}
		l.values[name] = append(l.values[name], sample{at, v})
		all.most[name] = max(all.most[name], v)
	}
}

// begin begins another life, and returns its index. Of the others it keeps the longest
// and the last, which may still go on.
func (l *lives) begin(pid int) int {
	l.count++
	if len(l.kept) == 3 {
		longest := l.longest()
		for i := range l.kept {
			if l.kept[i] != longest {
				l.kept = slices.Delete(l.kept, i, i+1)
				break
			}
		}
	}
	l.kept = append(l.kept, &life{pid, map[string][]sample{}})
	return len(l.kept) - 1
}

func (l *lives) longest() *life {
	return slices.MaxFunc(l.kept, func(a, b *life) int { return len(a.any()) - len(b.any()) })
}

// report prints the trends of everything, and returns what grows. A process that
// is killed again and again has none: its longest life is too short.
func (r *recorder) report(print func(string, ...any), length time.Duration) (grows []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, role := range slices.Sorted(maps.Keys(r.roles)) {
		all, name := r.roles[role], role
		longest := all.longest()
		lasted := longest.any()[len(longest.any())-1].at - longest.any()[0].at
		for _, q := range []quantity{heap, memory, goroutines, descriptors, median, tail} {
			most := all.most[q.name]
			line, ok := fit(longest.values[q.name])
			if len(longest.values[q.name]) == 0 {
				continue
			}
			if !ok || lasted < length/2 {
				print("%-16s %-13s most %9.2f %-4s lived %d times, for %s at most", name, q.name, most/q.scale, q.unit, all.count, lasted.Round(time.Second))
				name = ""
				continue
			}
			print("%-16s %s  (most %.2f)", name, line.show(q), most/q.scale)
			name = ""
			if !line.levels(q) {
				grows = append(grows, role+": "+line.show(q))
			}
		}
	}
	return grows
}

// any returns the samples of one of the quantities; all have the same number.
func (l *life) any() []sample {
	for _, s := range l.values {
		return s
	}
	return nil
}
