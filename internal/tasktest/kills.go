package tasktest

import (
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/ext/tasks"
)

// Kills says how servers are killed.
type Kills struct {
	// Target is where their store is, see [Start].
	Target string
	// Servers is their number.
	Servers int
	// Lease is that of the tasks.
	Lease time.Duration
	// Immediate says that the others know at once that a process has ended.
	Immediate bool
}

// crashes is how often a server is killed: TENON_TASK_CRASHES for the long form,
// and 25 otherwise, or fewer within the time on a slow machine.
func crashes() (kills int, within time.Duration) {
	if n, err := strconv.Atoi(os.Getenv("TENON_TASK_CRASHES")); err == nil {
		return n, time.Hour
	}
	return 25, 20 * time.Second
}

// Run kills servers that share a store at random moments, while clients create,
// answer, cancel and read tasks. Nothing that a client received is taken back:
// a task exists until its time is over; a request whose response was
// acknowledged is not open again; a task whose cancellation was acknowledged has
// ended; an end stays as it is. A task whose process was killed ends, or goes on
// elsewhere if its tool may be repeated. No other tool has an effect twice.
func (o Kills) Run(t *testing.T) {
	w := &ward{t: t, o: o, journal: t.TempDir() + "/journal", peer: NewPeer(t), stop: make(chan struct{})}
	for i := range o.Servers {
		w.servers = append(w.servers, w.start(i))
	}
	var clients sync.WaitGroup
	for range 4 {
		clients.Go(w.client)
	}
	most, within := crashes()
	began := time.Now()
	kills := 0
	for kills < most && (time.Since(began) < within || kills < 4) {
		time.Sleep(time.Duration(mathrand.IntN(150)) * time.Millisecond)
		w.crash(kills % o.Servers)
		kills++
		if w.verify(30); t.Failed() {
			break
		}
	}
	close(w.stop)
	clients.Wait()
	w.verify(1 << 30)
	w.awaitInterrupted()
	for _, s := range w.servers {
		s.Stop(t)
	}
	w.verifyEffects()
	t.Logf("%d kills in %v: %s", kills, time.Since(began).Round(time.Second), w.counts())
}

// awaitInterrupted waits until the tasks of killed servers have ended.
func (w *ward) awaitInterrupted() {
	for began := time.Now(); !w.t.Failed(); time.Sleep(50 * time.Millisecond) {
		open := 0
		for _, e := range w.tasks {
			if e.server.killed() && e.end == nil && time.Now().Before(e.expires) {
				if got := w.look(w.pick(), e); got != nil && !got.Status.Final() {
					open++
				}
			}
		}
		if open == 0 {
			return
		}
		if time.Since(began) > HangGuard {
			w.t.Errorf("%d tasks of killed servers go on for ever", open)
		}
	}
}

// verifyEffects compares the journal with what clients were told.
func (w *ward) verifyEffects() {
	journal, err := os.ReadFile(w.journal)
	if err != nil {
		w.t.Error(err)
		return
	}
	effects := map[string]int{}
	for line := range strings.Lines(string(journal)) {
		effects[strings.TrimSpace(line)]++
	}
	for _, e := range w.tasks {
		n := effects[e.tool+" "+e.key]
		if n > 1 && e.tool != "again" {
			w.t.Errorf("%s of task %s had its effect %d times", e.tool, e.id, n)
		}
		if e.end == nil {
			continue
		}
		switch {
		case e.end.Status == tasks.Completed && n == 0:
			w.t.Errorf("%s of task %s is completed without an effect", e.tool, e.id)
		case e.tool == "again" && e.end.Status == tasks.Completed && e.server.killed():
			w.n.resumed++
		}
	}
}

// A ward knows what the servers have acknowledged.
type ward struct {
	t    *testing.T
	o    Kills
	peer *Peer
	stop chan struct{} // closed when clients are to stop

	journal string // the file that has the effects of tools

	mu      sync.Mutex
	servers []*Process
	tasks   []*entry
	fresh   []*entry // touched since the last look
	n       struct{ created, answered, cancelled, ended, failed, expired, checked, resumed int }
}

// An entry is what was acknowledged of one task.
type entry struct {
	mu        sync.Mutex
	id, owner string
	tool, key string
	server    *Process // that runs it
	expires   time.Time
	answered  []string
	cancelled bool
	end       *tasks.Task
}

// start starts a server. The tasks of every second one have a short time to
// live, so that some expire.
func (w *ward) start(i int) *Process {
	return Start(w.t, "serve", w.o.Target, TTLVar+"="+[]string{"1m", "3s"}[i%2], LeaseVar+"="+w.o.Lease.String(), JournalVar+"="+w.journal)
}

// crash kills a server and starts another in its place.
func (w *ward) crash(i int) {
	w.mu.Lock()
	old := w.servers[i]
	w.mu.Unlock()
	old.Kill()
	s := w.start(i)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.servers[i] = s
}

func (w *ward) pick() *Process {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.servers[mathrand.IntN(len(w.servers))]
}

// client leads tasks through their lives until it is to stop.
func (w *ward) client() {
	for {
		select {
		case <-w.stop:
			return
		default:
		}
		s, owner := w.pick(), []string{"ada", "bob"}[mathrand.IntN(2)]
		tool, millis := "work", mathrand.IntN(30)
		switch mathrand.IntN(5) {
		case 0:
			millis = 10_000
		case 1, 2:
			tool = "ask"
		case 3:
			tool, millis = "again", mathrand.IntN(500)
		}
		key := rand.Text()
		task, err := w.peer.Create(s.URL, owner, tool, millis, key)
		if err != nil {
			w.refused("create", s, err)
			continue
		}
		e := &entry{id: task.ID, owner: owner, tool: tool, key: key, server: s, expires: task.CreatedAt.Add(task.TTL)}
		w.mu.Lock()
		w.tasks = append(w.tasks, e)
		w.fresh = append(w.fresh, e)
		w.n.created++
		w.mu.Unlock()
		w.live(e)
	}
}

// live acts on a task for a while: any server will do.
func (w *ward) live(e *entry) {
	for range 3 + mathrand.IntN(6) {
		time.Sleep(time.Duration(mathrand.IntN(15)) * time.Millisecond)
		got := w.look(w.pick(), e)
		if got == nil || got.Status.Final() {
			return
		}
		for key := range got.InputRequests {
			w.answer(e, key)
		}
		if mathrand.IntN(6) == 0 {
			w.cancel(e)
		}
	}
}

func (w *ward) answer(e *entry, key string) {
	s := w.pick()
	if err := w.peer.Answer(s.URL, e.owner, e.id, key, "x"); err != nil {
		w.failed(e, "answer", s, err)
		return
	}
	e.mu.Lock()
	e.answered = append(e.answered, key)
	e.mu.Unlock()
	w.touched(e, &w.n.answered)
}

func (w *ward) cancel(e *entry) {
	s := w.pick()
	if err := w.peer.Cancel(s.URL, e.owner, e.id); err != nil {
		w.failed(e, "cancel", s, err)
		return
	}
	e.mu.Lock()
	e.cancelled = true
	e.mu.Unlock()
	w.touched(e, &w.n.cancelled)
}

func (w *ward) touched(e *entry, n *int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fresh = append(w.fresh, e)
	*n++
}

// look reads a task and compares it with what was acknowledged before.
func (w *ward) look(s *Process, e *entry) *tasks.Task {
	e.mu.Lock()
	answered, cancelled, end := len(e.answered), e.cancelled, e.end
	e.mu.Unlock()
	dead := e.server.killed() // before the look
	got, err := w.peer.Get(s.URL, e.owner, e.id)
	if err != nil {
		w.failed(e, "get", s, err)
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, key := range e.answered[:answered] {
		if _, open := got.InputRequests[key]; open {
			w.t.Errorf("task %s: request %s is open again, its response was acknowledged", e.id, key)
		}
	}
	if cancelled && !got.Status.Final() {
		w.t.Errorf("task %s is %s, its cancellation was acknowledged", e.id, got.Status)
	}
	if dead && w.o.Immediate && e.tool != "again" && !got.Status.Final() {
		w.t.Errorf("task %s is %s, its process was killed", e.id, got.Status)
	}
	if end != nil && (got.Status != end.Status || got.StatusMessage != end.StatusMessage || string(got.Result) != string(end.Result)) {
		w.t.Errorf("task %s is %s %q %s, it had ended as %s %q %s", e.id, got.Status, got.StatusMessage, got.Result, end.Status, end.StatusMessage, end.Result)
	}
	if got.Status.Final() && e.end == nil {
		e.end = &got
		w.mu.Lock()
		w.n.ended++
		if got.Status == tasks.Failed {
			w.n.failed++
		}
		w.mu.Unlock()
	}
	return &got
}

// failed judges the error of a request about a task.
func (w *ward) failed(e *entry, what string, s *Process, err error) {
	r, ok := errors.AsType[*Error](err)
	if ok && r.Code == -32602 {
		if now := time.Now(); now.Before(e.expires) {
			w.t.Errorf("%s: task %s is lost %v before its end: %v", what, e.id, e.expires.Sub(now), err)
			return
		}
		w.mu.Lock()
		w.n.expired++
		w.mu.Unlock()
		return
	}
	w.refused(what, s, err)
}

// refused checks that a request failed because its server was killed.
func (w *ward) refused(what string, s *Process, err error) {
	if _, ok := errors.AsType[*Error](err); ok {
		w.t.Errorf("%s: %v", what, err)
		return
	}
	select {
	case <-s.ended:
	case <-time.After(HangGuard): // it was not killed
		w.t.Errorf("%s: %v: %s", what, err, s.Output())
	}
}

// verify looks at the tasks that were touched since the last time, and at some
// others.
func (w *ward) verify(others int) {
	w.mu.Lock()
	some := w.fresh
	w.fresh = nil
	if others < len(w.tasks) {
		for range others {
			some = append(some, w.tasks[mathrand.IntN(len(w.tasks))])
		}
	} else {
		some = w.tasks
	}
	w.n.checked += len(some)
	w.mu.Unlock()
	for _, e := range some {
		w.look(w.pick(), e)
	}
	if len(some) > 0 {
		e := some[mathrand.IntN(len(some))]
		var r *Error
		if _, err := w.peer.Get(w.pick().URL, "eve", e.id); !errors.As(err, &r) || r.Code != -32602 {
			w.t.Errorf("a task of another principal: %v", err)
		}
	}
}

func (w *ward) counts() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := w.n
	return fmt.Sprintf("%d tasks and %d responses and %d cancellations acknowledged; %d ends seen, %d of them failed; %d reads after a kill, %d after the end of a task's time; %d tasks of killed servers completed",
		n.created, n.answered, n.cancelled, n.ended, n.failed, n.checked, n.expired, n.resumed)
}
