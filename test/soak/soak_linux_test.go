package soak

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/auth/protect"
	"github.com/tenon-mcp/tenon/ext/tasks"
	"github.com/tenon-mcp/tenon/internal/freeport"
	"github.com/tenon-mcp/tenon/internal/linktest"
	"github.com/tenon-mcp/tenon/mcp"
)

func TestMain(m *testing.M) {
	switch os.Getenv(playVar) {
	case "shop":
		playShop()
	case "host":
		playHost()
	default:
		os.Exit(m.Run())
	}
}

const (
	principals = 100
	// enough is the shortest run whose trends count.
	enough = 2 * time.Minute
	// quick is the length of a run in make test.
	quick = 15 * time.Second
	// sampled is how often samples are taken.
	sampled = 2 * time.Second
)

// A run is everything of a soak.
type run struct {
	t           *testing.T
	dir, stats  string
	self, tenon string
	began       time.Time
	links       map[string]*linktest.Link
	processes   map[string]*process
	principals  []*principal
	recorder    *recorder
	ledger      *ledger
	wg          sync.WaitGroup
	restarting  sync.Mutex

	mu           sync.Mutex
	calls        map[string]int // that succeeded, by kind
	failures     map[string]int
	reasons      map[string]int
	injected     map[string]int
	latency      map[string][]time.Duration
	crossed      []string
	problems     []string
	hostSessions map[string][]string // turns that the host has acknowledged
	hostTurns    int
	hostAnswers  int
	hostFailed   int
}

// problem notes what should not have happened. The lock is held.
func (r *run) problem(format string, args ...any) {
	r.problems = append(r.problems, fmt.Sprintf(format, args...))
}

func ok(url string) error {
	resp, err := http.Get(url)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	io.Copy(io.Discard, resp.Body)
	if resp.StatusCode != http.StatusOK {
		return errors.New(resp.Status)
	}
	return nil
}

// TestSoak runs for the length in SOAK, such as 30m.
func TestSoak(t *testing.T) {
	length := quick
	if text := os.Getenv("SOAK"); text != "" {
		var err error
		if length, err = time.ParseDuration(text); err != nil {
			t.Fatalf("SOAK: %v", err)
		}
	}
	r := newRun(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("%s with %d principals, seed %d, files in %s", length, principals, seed, r.dir)
	r.startAll()
	load := r.baseline()

	r.began = time.Now()
	r.recorder.began, r.recorder.size = r.began, int(length/sampled)+1
	ctx, cancel := context.WithTimeout(t.Context(), length)
	defer cancel()
	var clients sync.WaitGroup
	for _, p := range r.principals {
		clients.Go(func() {
			sleep(ctx, time.Duration(p.rand.Int64N(int64(time.Second))))
			p.run(ctx, r.began.Add(time.Duration(warmUp*float64(length))))
		})
	}
	r.wg.Go(func() { r.inject(ctx, seed) })
	r.watch(ctx)
	clients.Wait()
	r.wg.Wait()
	t.Logf("the load has ended after %s; what is left is checked", time.Since(r.began).Round(time.Second))
	for _, p := range r.processes {
		if err := p.died(); err != nil {
			t.Error(err)
		}
	}
	r.checkTasks()
	if length >= enough { // idle connections are closed after 90 s
		r.checkLeft(load)
	}
	if err := r.processes["host"].end(syscall.SIGKILL); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"gateway", "restarted", "modern", "legacy", "frail"} {
		if err := r.processes[name].end(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
	}
	r.checkChanges()
	r.report(length)
}

// pause is the mean time between the calls of a principal. At first it is a part of
// that, so that what is kept up to a limit is full before samples count.
const (
	pause     = time.Second
	warmPause = pause / 4
)

func newRun(t *testing.T) *run {
	r := &run{t: t, dir: t.TempDir(), links: map[string]*linktest.Link{}, processes: map[string]*process{},
		calls: map[string]int{}, failures: map[string]int{}, reasons: map[string]int{}, injected: map[string]int{}, latency: map[string][]time.Duration{}, hostSessions: map[string][]string{}}
	r.stats = filepath.Join(r.dir, "stats")
	for _, name := range []string{"stats", "files", "vault", "host"} {
		if err := os.Mkdir(filepath.Join(r.dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	var err error
	if r.self, err = os.Executable(); err == nil {
		r.ledger, err = newLedger(r.dir)
	}
	if err != nil {
		t.Fatal(err)
	}
	r.tenon = buildTenon(t, r.dir)
	r.recorder = &recorder{dir: r.stats, roles: map[string]*lives{}}
	api := httptest.NewServer(&accounts{codes: map[string]string{}, users: map[string]string{}})
	t.Cleanup(func() { api.CloseClientConnections(); api.Close() })
	echo, who := apiFiles(api.URL)
	if err := errors.Join(os.WriteFile(filepath.Join(r.dir, "api.yaml"), []byte(echo), 0o600), os.WriteFile(filepath.Join(r.dir, "who.yaml"), []byte(who), 0o600)); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", filepath.Join(r.dir, "log.db"))
	if err == nil {
		_, err = db.Exec("PRAGMA journal_mode = WAL; CREATE TABLE log (who TEXT NOT NULL, mark TEXT NOT NULL)")
	}
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	return r
}

// startAll starts all processes, with links before them.
func (r *run) startAll() {
	var keys []protect.StoredKey
	secret := map[string]string{}
	add := func(name string) {
		secret[name] = protect.NewKey()
		hash, err := protect.HashKey(secret[name])
		if err != nil {
			r.t.Fatal(err)
		}
		keys = append(keys, protect.StoredKey{Name: name, Hash: hash})
	}
	for i := range principals {
		add(fmt.Sprintf("p%02d", i))
	}
	add("host")
	raw, err := protect.EncodeKeys(keys)
	if err == nil {
		err = os.WriteFile(filepath.Join(r.dir, "keys.json"), raw, 0o600)
	}
	if err != nil {
		r.t.Fatal(err)
	}
	for _, name := range []string{"modern", "legacy", "frail"} {
		addr := freeport.ForTest(r.t)
		r.links[name] = linktest.New(r.t, addr)
		only := name
		if name == "frail" {
			only = ""
		}
		r.processes[name] = r.shop(name, addr, only)
	}
	for _, name := range []string{"gateway", "restarted"} {
		r.processes[name] = r.gateway(name)
		r.links[name] = linktest.New(r.t, addrOf(r.processes[name]))
	}
	r.t.Cleanup(func() {
		for _, p := range r.processes {
			p.end(syscall.SIGKILL)
		}
	})
	var all sync.WaitGroup
	for _, p := range r.processes {
		all.Go(func() {
			if err := p.start(); err != nil {
				r.t.Error(err)
			}
		})
	}
	all.Wait()
	if r.t.Failed() {
		r.t.FailNow()
	}
	r.startHost(secret["host"])
	for i := range principals {
		p := &principal{r: r, name: fmt.Sprintf("p%02d", i), revision: revisions[i%len(revisions)], rand: rand.New(rand.NewPCG(7, uint64(i)))}
		p.key = secret[p.name]
		at := "gateway"
		if i%7 == 0 {
			at = "restarted"
		}
		p.url = "http://" + r.links[at].Addr + "/mcp"
		r.principals = append(r.principals, p)
	}
}

// startHost starts the host, which uses a gateway, a server over HTTP and one over
// stdio.
func (r *run) startHost(key string) {
	set := hostSettings{Dir: filepath.Join(r.dir, "host"), Servers: []config.Server{
		{Name: "gw", Kind: config.HTTP, URL: "http://" + r.links["gateway"].Addr + "/mcp/host", Headers: map[string]string{"Authorization": "Bearer " + key}},
		{Name: "legacy", Kind: config.HTTP, URL: "http://" + r.links["legacy"].Addr + "/mcp"},
		{Name: "own", Kind: config.Stdio, Command: r.self, Env: environment(r.shopEnv("host-stdio", "", ""))},
	}}
	read, write := io.Pipe()
	p := &process{name: "host", args: []string{r.self}, env: []string{playVar + "=host", roleVar + "=host", statsVar + "=" + r.stats}, stdin: set, stdout: write, ready: func() error { return nil }}
	r.processes["host"] = p
	go r.hostLog(bufio.NewScanner(read))
	if err := p.start(); err != nil {
		r.t.Fatal(err)
	}
}

// baseline returns how many goroutines and descriptors the lasting processes have
// before the load.
func (r *run) baseline() map[string]float64 {
	time.Sleep(2 * time.Second)
	r.recorder.began = time.Now()
	all := map[string]float64{}
	for pid, s := range processes(r.stats) {
		_, fds, err := usage(pid)
		if err == nil {
			all[s.role+" goroutines"], all[s.role+" descriptors"] = s.goroutines, fds
		}
	}
	return all
}

// watch takes samples until ctx ends.
func (r *run) watch(ctx context.Context) {
	tick := time.NewTicker(sampled)
	defer tick.Stop()
	for i := 1; ; i++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			r.recorder.look()
			if i%5 == 0 {
				r.measure()
			}
			if i%150 == 0 {
				r.mu.Lock()
				r.t.Logf("%s: %d calls, %d failed, %d faults, %d crossed", time.Since(r.began).Round(time.Second), sum(r.calls), sum(r.failures), sum(r.injected), len(r.crossed))
				r.mu.Unlock()
			}
			for _, p := range r.processes {
				if err := p.died(); err != nil {
					r.t.Fatal(err)
				}
			}
		}
	}
}

func sum(m map[string]int) (n int) {
	for _, v := range m {
		n += v
	}
	return n
}

// checkTasks looks whether every acknowledged task is there and has its result.
func (r *run) checkTasks() {
	r.ledger.mu.Lock()
	r.ledger.w.Flush()
	r.ledger.mu.Unlock()
	raw, err := os.ReadFile(r.ledger.f.Name())
	if err != nil {
		r.t.Fatal(err)
	}
	of := map[string][][]string{}
	for line := range strings.Lines(string(raw)) {
		if w := strings.Fields(line); w[0] == "ok" && w[1] == "task" {
			of[w[2]] = append(of[w[2]], w[3:])
		}
	}
	var all sync.WaitGroup
	limit := make(chan struct{}, 8)
	for i, p := range r.principals {
		all.Go(func() {
			limit <- struct{}{}
			defer func() { <-limit }()
			ctx, cancel := context.WithTimeout(context.Background(), 2*hangs)
			defer cancel()
			err := p.connect(ctx)
			for ; err != nil && ctx.Err() == nil; err = p.connect(ctx) {
				time.Sleep(100 * time.Millisecond)
			}
			if err != nil {
				r.t.Errorf("%s cannot connect after the load: %v", p.name, err)
				return
			}
			defer p.close()
			for _, task := range of[p.name] {
				if err := p.checkTask(ctx, task[0], task[1]); err != nil {
					r.t.Errorf("the acknowledged task %s of %s: %v", task[0], p.name, err)
				}
				r.count("checked task", 1)
			}
			other := r.principals[(i+2*len(revisions))%len(r.principals)].name
			if foreign := of[other]; len(foreign) > 0 {
				if h, err := tasks.Resume(ctx, p.client, foreign[0][1], "", nil); err == nil {
					r.crossing("%s can see the task %q of %s: %+v", p.name, foreign[0][1], other, h.Task())
				}
			}
		})
	}
	all.Wait()
}

// checkTask waits for the result of a task. Servers may be starting still.
func (p *principal) checkTask(ctx context.Context, mark, id string) error {
	for {
		h, err := tasks.Resume(ctx, p.client, id, "", nil)
		if err == nil {
			var res *mcp.CallToolResult
			if res, err = h.Wait(ctx); err == nil && res.Content.Text() != mark {
				return fmt.Errorf("its result is %q", res.Content.Text())
			}
		}
		switch {
		case err == nil:
			return nil
		case tasks.IsUnknown(err) || ctx.Err() != nil || h != nil && h.Task().Status.Final():
			return err
		}
		sleep(ctx, 200*time.Millisecond)
	}
}

// checkLeft looks whether goroutines and descriptors of lasting processes are as
// few as before the load.
func (r *run) checkLeft(before map[string]float64) {
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	lasting := []string{"gateway", "modern", "legacy"}
	var left []string
	for begin := time.Now(); ; time.Sleep(time.Second) {
		left = nil
		for pid, s := range processes(r.stats) {
			if _, fds, err := usage(pid); err == nil && slices.Contains(lasting, s.role) {
				for what, n := range map[string]float64{"goroutines": s.goroutines, "descriptors": fds} {
					if was := before[s.role+" "+what]; n > was+remain {
						left = append(left, fmt.Sprintf("%s has %.0f %s, and had %.0f before", s.role, n, what, was))
					}
				}
			}
		}
		if len(left) == 0 || time.Since(begin) > 2*time.Minute {
			break
		}
	}
	for _, text := range left {
		r.t.Error(text)
	}
}

// remain is what a process may have more after the load: connections that it keeps
// for the next calls.
const remain = 40

// checkChanges looks whether every acknowledged change is there, and none twice.
func (r *run) checkChanges() {
	lines, err := r.ledger.read()
	if err != nil {
		r.t.Fatal(err)
	}
	found := map[string]map[string]int{"order": {}, "note": {}, "sql": {}}
	for _, dir := range []string{"modern", "legacy", "frail", "gateway-stdio", "restarted-stdio"} {
		raw, err := os.ReadFile(filepath.Join(r.dir, dir, "orders"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			r.t.Error(err)
		}
		for line := range strings.Lines(string(raw)) {
			found["order"][strings.TrimSuffix(line, "\n")]++
		}
	}
	filepath.WalkDir(filepath.Join(r.dir, "vault", "people"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".md" {
			return err
		}
		raw, err := os.ReadFile(path)
		for line := range strings.Lines(string(raw)) {
			if line = strings.TrimSpace(line); line != "" {
				found["note"][line]++
			}
			if who, _, _ := strings.Cut(line, "-"); line != "" && filepath.Base(filepath.Dir(path)) != who {
				r.crossing("the line %q is in %s", line, path)
			}
		}
		return err
	})
	db, err := sql.Open("sqlite", filepath.Join(r.dir, "log.db"))
	if err != nil {
		r.t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.Query("SELECT mark FROM log")
	if err != nil {
		r.t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var mark string
		if err := rows.Scan(&mark); err != nil {
			r.t.Fatal(err)
		}
		found["sql"][mark]++
	}
	files := map[string]string{} // what the last acknowledged write has put into each
	maybe := map[string][]string{}
	tried := map[string]map[string]bool{"order": {}, "note": {}, "sql": {}}
	for _, w := range lines {
		state, kind := w[0], w[1]
		switch {
		case kind == "file" && state == "ok":
			files[w[4]], maybe[w[4]] = w[3], nil
			r.count("checked file", 1)
		case kind == "file":
			maybe[w[4]] = append(maybe[w[4]], w[3])
		case kind == "task":
		case state == "try":
			tried[kind][w[3]] = true
		default:
			r.count("checked "+kind, 1)
			if n := found[kind][w[3]]; n != 1 {
				r.t.Errorf("the acknowledged change %q (%s) is there %d times", w[3], kind, n)
			}
		}
	}
	for kind, all := range found {
		for mark, n := range all {
			if n > 1 {
				r.t.Errorf("%q (%s) is there %d times", mark, kind, n)
			}
			if !tried[kind][mark] {
				r.t.Errorf("%q (%s) was written by nobody", mark, kind)
			}
		}
	}
	for path, want := range files {
		raw, err := os.ReadFile(filepath.Join(r.dir, "files", path))
		if got := string(raw); err != nil || got != want && !slices.Contains(maybe[path], got) {
			r.t.Errorf("the file %s has %q, and %q was acknowledged: %v", path, got, want, err)
		}
	}
	n, lost := r.checkHost()
	r.count("checked turn", n)
	for _, text := range lost {
		r.t.Errorf("the host has lost %s", text)
	}
}

// report prints everything and fails the test if a bar is missed.
func (r *run) report(length time.Duration) {
	t := r.t
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, kind := range slices.Sorted(maps.Keys(r.calls)) {
		t.Logf("%-14s %7d, failed %d", kind, r.calls[kind], r.failures[kind])
	}
	for _, name := range slices.Sorted(maps.Keys(r.injected)) {
		t.Logf("%5d times: %s", r.injected[name], name)
	}
	reasons := slices.SortedFunc(maps.Keys(r.reasons), func(a, b string) int { return r.reasons[b] - r.reasons[a] })
	for _, why := range reasons[:min(15, len(reasons))] {
		t.Logf("%5d failed with %s", r.reasons[why], why)
	}
	t.Logf("host: %d turns, %d with a result, %d failed", r.hostTurns, r.hostAnswers, r.hostFailed)
	grows := r.recorder.report(t.Logf, length)
	if length < enough {
		t.Logf("a run of less than %s is too short for trends", enough)
	} else {
		for _, text := range grows {
			t.Errorf("grows: %s", text)
		}
	}
	for _, text := range r.problems {
		t.Error(text)
	}
	t.Logf("%d crossed answers among %d principals", len(r.crossed), principals)
	for _, text := range r.crossed[:min(20, len(r.crossed))] {
		t.Errorf("crossed: %s", text)
	}
	if sum(r.calls) == 0 || r.hostAnswers == 0 {
		t.Error("nothing was called")
	}
}
