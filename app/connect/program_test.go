package connect

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
)

func echo(t *testing.T, s *watched, text string) {
	t.Helper()
	got, err := client.Call[string](t.Context(), s.Client(), "echo", map[string]string{"text": text}, nil)
	if got != text || err != nil {
		t.Fatalf("echo says %q, %v", got, err)
	}
}

// A server is started without being asked for, told of, called in every
// revision, and leaves nothing behind.
func TestProgram(t *testing.T) {
	for _, known := range append(mcp.Revisions(), "") {
		t.Run("known "+string(known), func(t *testing.T) {
			s := start(t, entry(t, "good"), func(o *Options) { o.Known = known })
			eventually(t, "it is ready by itself", func() bool { return s.State().Phase == Ready })
			echo(t, s, "hello")
			st := s.State()
			if st.Pid == 0 || st.Starts != 1 || st.Calls != 1 || st.Latency == 0 || known != "" && st.Revision != known {
				t.Errorf("the state is %+v", st)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			if got := fmt.Sprint(s.phases()); got != "[starting ready closed]" {
				t.Errorf("it went through %s", got)
			}
			if _, err := s.Client().Discover(t.Context()); err == nil {
				t.Error("a closed server was called")
			}
		})
	}
}

// Whoever has waited for a server finds it ready, and not about to be.
func TestWhoHasWaitedFindsItReady(t *testing.T) {
	o := &Options{Builtin: func(string, url.Values) (Builtin, error) { return tools(), nil }}
	for range 100 {
		s := New(config.Server{Name: "x", Kind: config.Builtin, Builtin: "x"}, o)
		if err := s.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		if st := s.State(); st.Phase != Ready || st.Starts != 1 {
			t.Errorf("it is %s, after %d starts", st.Phase, st.Starts)
		}
		s.Close()
	}
}

// C02, C08: noise on standard output and messages that come twice cost nothing.
func TestNoiseAndRepetition(t *testing.T) {
	for _, mode := range []string{"noise", "twice"} {
		s := start(t, entry(t, mode), nil)
		for i := range 5 {
			echo(t, s, fmt.Sprint(i))
		}
		if st := s.State(); st.Phase != Ready || st.Starts != 1 {
			t.Errorf("%s: the state is %+v", mode, st)
		}
	}
}

// A server that floods its standard error does not hold up its calls, and only
// its last words are kept.
func TestFloodOfStderr(t *testing.T) {
	s := start(t, entry(t, "flood"), nil)
	for i := range 20 {
		echo(t, s, fmt.Sprint(i))
	}
	eventually(t, "something is kept", func() bool { return strings.Contains(s.Stderr(), "flood") })
	if n := len(s.Stderr()); n > 128<<10 {
		t.Errorf("%d bytes are kept", n)
	}
}

// C04: a server that never answers fails in time, with what it last said, though
// it went in good order; and it holds up nobody else.
func TestNeverAnswers(t *testing.T) {
	// Long enough for a process to begin to speak on a busy machine.
	mute := start(t, entry(t, "mute"), func(o *Options) { o.ConnectTimeout, o.Once = 3*time.Second, true })
	other := start(t, entry(t, "good"), nil)
	echo(t, other, "beside it")
	eventually(t, "it has failed", func() bool { return mute.State().Phase == Failed })
	st := mute.State()
	if !strings.Contains(st.Why, "did not answer in time") || !strings.Contains(st.Why, "waiting for a licence") || !strings.Contains(st.Stderr, "waiting for a licence") || st.Pid != 0 {
		t.Errorf("the state is %+v", st)
	}
	var unavailable *UnavailableError
	if err := mute.Wait(t.Context()); !errors.As(err, &unavailable) || !strings.Contains(err.Error(), "connect to \"x\"") {
		t.Errorf("a call fails with %v", err)
	}
}

// C54: a server that dies in a call fails that call with its last words, is
// started again, and takes calls again.
func TestCrashInACall(t *testing.T) {
	s := start(t, entry(t, "good"), nil)
	_, err := s.Client().CallTool(t.Context(), "crash", nil, nil)
	if err == nil || !strings.Contains(err.Error(), "out of ideas") || !strings.Contains(err.Error(), "code 7") {
		t.Fatalf("the call came to %v", err)
	}
	eventually(t, "it is started again", func() bool { return s.told(Restarting) != nil })
	if st := s.told(Restarting); st.Next == 0 || st.Stderr != "out of ideas\n" && st.Stderr != "out of ideas" || st.Pid != 0 {
		t.Errorf("while it waits: %+v", st)
	}
	echo(t, s, "again") // waits for it
	if st := s.State(); st.Phase != Ready || st.Starts != 2 || st.Stderr != "" {
		t.Errorf("the state is %+v", st)
	}
	if p := s.phases(); slices.Contains(p, Failed) {
		t.Errorf("it went through %v", p)
	}
}

// A server that cannot be started is given up, and Restart tries again.
func TestGivesUpAndRestarts(t *testing.T) {
	e := entry(t, "once")
	e.Env["ONCE"] = filepath.Join(t.TempDir(), "x")
	s := start(t, e, func(o *Options) { o.Once, o.Known = true, mcp.Revisions()[len(mcp.Revisions())-1] })
	eventually(t, "it has failed", func() bool { return s.State().Phase == Failed })
	if st := s.State(); !strings.Contains(st.Why, "not today") || !strings.Contains(st.Stderr, "not today") {
		t.Errorf("it failed so: %+v", st)
	}
	if err := s.Restart(); err != nil {
		t.Fatal(err)
	}
	echo(t, s, "after all")
}

// The state of a server whose program is missing says what to do about it, in words
// that are true where it runs.
func TestMissingProgram(t *testing.T) {
	for command, want := range map[string]string{
		filepath.Join(t.TempDir(), "server"): "does not exist. Fix the path; ",
		"no-such-program-here":               "Cannot start: no program named `no-such-program-here` in PATH. Install it, or fix the name; ",
		"no-such-program --stdio":            "Cannot start: no program named `no-such-program --stdio` in PATH. Put its arguments into \"args\"; ",
	} {
		for then, set := range map[string]func(*Options){
			"then try again.":              func(o *Options) { o.Once = true },
			"it is tried again by itself.": func(o *Options) { o.KeepTrying = true },
			"then restart the server.":     nil,
		} {
			e := entry(t, "good")
			e.Command = command
			s := start(t, e, set)
			eventually(t, "it says why", func() bool { return s.State().Why != "" })
			if why := s.State().Why; !strings.HasPrefix(why, "Cannot start: ") || !strings.HasSuffix(why, want+then) {
				t.Errorf("%s: the state says %q", command, why)
			}
			// P16: it is not started again and again before it says so.
			if phase := s.State().Phase; (phase == Failed) == strings.HasPrefix(then, "it is tried") {
				t.Errorf("%s, %s: the phase is %s", command, then, phase)
			}
		}
	}
}

// An older server that ends when it is asked what it speaks is met all the same.
func TestBrittleOldServer(t *testing.T) {
	s := start(t, entry(t, "old"), nil)
	echo(t, s, "hello")
	if st := s.State(); st.Revision == "" || st.Revision == mcp.Revisions()[len(mcp.Revisions())-1] && st.Revision > "2026" {
		t.Errorf("it is spoken to in %s", st.Revision)
	}
}

// A call that gets no answer makes the server degraded, with its last words,
// until it answers again.
func TestDegraded(t *testing.T) {
	s := start(t, entry(t, "good"), nil)
	echo(t, s, "here") // or its start would be part of the wait
	// A caller who changes its mind is no fault of the server.
	changes := func(when string, errors int) {
		t.Helper()
		before := strings.Count(s.Stderr(), "hanging")
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		done := make(chan struct{})
		go func() {
			defer close(done)
			s.Client().CallTool(ctx, "hang", nil, nil)
		}()
		eventually(t, "it hangs", func() bool { return strings.Count(s.Stderr(), "hanging") > before })
		stop()
		<-done
		if st := s.State(); st.Phase != Ready || st.Errors != errors {
			t.Errorf("after a cancelled call, %s: %+v", when, st)
		}
	}
	changes("at first", 0) // and its words are there, however soon the next call is given up
	_, err := s.Client().CallTool(t.Context(), "hang", nil, &client.CallOptions{IdleTimeout: 200 * time.Millisecond})
	var silent *client.TimeoutError
	if !errors.As(err, &silent) {
		t.Fatalf("the call came to %v", err)
	}
	if st := s.told(Degraded); st == nil || !strings.Contains(st.Stderr, "hanging") || st.Errors != 1 || !st.Usable() {
		t.Errorf("told %+v", st)
	}
	echo(t, s, "fine")
	if got := s.State().Phase; got != Ready {
		t.Errorf("it is %s", got)
	}
	changes("later", 1)
}

// Restart, Disable and Close may come from everywhere at once: calls come to
// an end, and nothing is left behind.
func TestOrdersAtOnce(t *testing.T) {
	s := start(t, entry(t, "good"), nil)
	echo(t, s, "hello")
	var all sync.WaitGroup
	for i := range 3 {
		all.Go(func() { s.Restart() })
		all.Go(func() {
			ctx, stop := context.WithTimeout(t.Context(), long)
			defer stop()
			if _, err := s.Client().CallTool(ctx, "echo", map[string]string{"text": fmt.Sprint(i)}, nil); errors.Is(err, context.DeadlineExceeded) {
				t.Error("a call did not come to an end")
			}
		})
	}
	all.Wait()
	echo(t, s, "still here")
	if err := s.Disable(); err != nil {
		t.Error(err)
	}
	if _, err := s.Client().Discover(t.Context()); err == nil || !strings.Contains(err.Error(), "switched off") {
		t.Errorf("a disabled server: %v", err)
	}
	all.Go(func() { s.Restart() })
	all.Go(func() { s.Close() })
	all.Go(func() { s.Restart() })
	all.Wait()
	if got := s.State().Phase; got != Closed {
		t.Errorf("it is %s", got)
	}
	if err := s.Restart(); err == nil {
		t.Error("a closed server was started again")
	}
}

// A call that comes while the server is started anew waits for the new one.
func TestCallsWaitForRestart(t *testing.T) {
	s := start(t, entry(t, "good"), nil)
	echo(t, s, "one")
	pid := s.State().Pid
	done := make(chan error)
	go func() { done <- s.Restart() }()
	eventually(t, "the old one goes", func() bool { return s.State().Pid != pid })
	echo(t, s, "two")
	if err := <-done; err != nil || s.State().Pid == pid || s.State().Starts != 2 {
		t.Errorf("%v; the state is %+v", err, s.State())
	}
}

func TestDisabledEntry(t *testing.T) {
	e := entry(t, "good")
	e.Disabled = true
	s := start(t, e, nil)
	if st := s.State(); st.Phase != Disabled || st.Starts != 0 {
		t.Errorf("the state is %+v", st)
	}
	if err := s.Restart(); err != nil {
		t.Fatal(err)
	}
	echo(t, s, "on")
}

// What may be asked of a server while it tells of itself does not deadlock, and
// it tells one thing at a time.
func TestToldInOrder(t *testing.T) {
	var s *Server
	ready := make(chan struct{})
	var mu sync.Mutex
	busy, last := false, 0
	o := &Options{Changed: func(st State) {
		<-ready
		mu.Lock()
		if busy {
			t.Error("two changes are told at once")
		}
		busy = true
		mu.Unlock()
		s.State()
		if st.Starts < last {
			t.Error("changes are told out of order")
		}
		mu.Lock()
		busy, last = false, st.Starts
		mu.Unlock()
	}}
	s = New(entry(t, "good"), o)
	close(ready)
	defer s.Close()
	if err := s.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			s.Client().CallTool(t.Context(), "hang", nil, &client.CallOptions{IdleTimeout: 50 * time.Millisecond})
		})
		all.Go(func() { s.Client().CallTool(t.Context(), "echo", map[string]string{"text": "x"}, nil) })
	}
	all.Wait()
}

func TestFleet(t *testing.T) {
	var f Fleet
	e := entry(t, "good")
	for _, name := range []string{"b", "a"} {
		e.Name = name
		if _, err := f.Add(e, nil); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := f.Add(e, nil); err == nil || !strings.Contains(err.Error(), "named a: choose another") {
		t.Errorf("a name was taken twice: %v", err)
	}
	if all := f.All(); len(all) != 2 || all[0].Name() != "a" {
		t.Errorf("the fleet is %v", all)
	}
	if err := f.Remove("a"); err != nil || f.Get("a") != nil || f.Get("b") == nil {
		t.Errorf("removing: %v", err)
	}
	if err := f.Remove("a"); err == nil {
		t.Error("it was removed twice")
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if _, err := f.Add(config.Server{Name: "c"}, nil); err == nil {
		t.Error("something was added to a closed fleet")
	}
}

// Ten servers of which one is dead and one never answers are as fast as the
// others are.
func TestIsolation(t *testing.T) {
	var f Fleet
	defer f.Close()
	for i := range 6 {
		e := entry(t, []string{"good", "mute", "good", "dies", "good", "flood"}[i])
		e.Name = fmt.Sprint("s", i)
		if _, err := f.Add(e, nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, i := range []int{0, 2, 4, 5} {
		s := f.Get(fmt.Sprint("s", i))
		if err := s.Wait(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if got := f.Get("s1").State().Phase; got != Starting {
		t.Errorf("the mute one is %s", got)
	}
}
