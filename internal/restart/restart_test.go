package restart

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestBackoffWaits(t *testing.T) {
	sec := time.Second
	tests := []struct {
		name string
		b    Backoff
		runs []time.Duration // how long each run lasts
		want []time.Duration // the wait after each; -1 means no next start
	}{
		// Hostile row C54: 1, 2, 4 … 30 s; stop after 5 in 60 s.
		{"dies at once", Backoff{}, []time.Duration{0, 0, 0, 0, 0}, []time.Duration{1 * sec, 2 * sec, 4 * sec, 8 * sec, -1}},
		{"lives a little", Backoff{}, slices.Repeat([]time.Duration{20 * sec}, 8), []time.Duration{1 * sec, 2 * sec, 4 * sec, 8 * sec, 16 * sec, 30 * sec, 30 * sec, 30 * sec}},
		{"a stable minute", Backoff{}, []time.Duration{0, 0, 0, 0, 60 * sec, 0, 0}, []time.Duration{1 * sec, 2 * sec, 4 * sec, 8 * sec, 1 * sec, 2 * sec, 4 * sec}},
		{"never gives up", Backoff{Limit: -1}, make([]time.Duration, 7), []time.Duration{1 * sec, 2 * sec, 4 * sec, 8 * sec, 16 * sec, 30 * sec, 30 * sec}},
		{"own numbers", Backoff{First: 3 * sec, Max: 10 * sec, Limit: 4, Window: 30 * sec}, make([]time.Duration, 4), []time.Duration{3 * sec, 6 * sec, 10 * sec, -1}},
		{"one chance", Backoff{Limit: 1}, []time.Duration{0}, []time.Duration{-1}},
		{"max below first", Backoff{Max: sec / 2}, []time.Duration{0, 0}, []time.Duration{sec / 2, sec / 2}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			now := time.Unix(1000, 0)
			for i, run := range tt.runs {
				tt.b.Started(now)
				now = now.Add(run)
				wait, ok := tt.b.Ended(now)
				if !ok {
					wait = -1
				}
				if wait != tt.want[i] {
					t.Fatalf("after run %d: wait %v, want %v", i+1, wait, tt.want[i])
				}
				now = now.Add(wait)
			}
		})
	}
}

// A mayfly is a Process for tests.
type mayfly struct {
	done chan struct{}
	once sync.Once
	err  error
}

func newMayfly() *mayfly                { return &mayfly{done: make(chan struct{})} }
func (m *mayfly) Done() <-chan struct{} { return m.done }
func (m *mayfly) Err() error            { return m.err }
func (m *mayfly) Close() error          { m.die(nil); return nil }
func (m *mayfly) die(err error)         { m.once.Do(func() { m.err = err; close(m.done) }) }
func (m *mayfly) after(d time.Duration) { time.AfterFunc(d, func() { m.die(errors.New("old age")) }) }

// states takes down what a Supervisor goes through.
type states struct {
	mu  sync.Mutex
	all []string
}

func (s *states) add(st Status) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := string(st.State)
	if st.State == Waiting {
		text += fmt.Sprint(" ", st.Delay)
	}
	s.all = append(s.all, text)
}

func (s *states) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.all, ", ")
}

// A context bounds the wait, not what is there already.
func TestSupervisorGetsWhatRunsWithAnEndedContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		started := make(chan struct{})
		r := New(func(context.Context) (*mayfly, error) { <-started; return newMayfly(), nil }, nil)
		defer r.Close()
		ended, end := context.WithCancel(t.Context())
		end()
		if _, err := r.Get(ended); !errors.Is(err, context.Canceled) {
			t.Errorf("before the first start: %v", err)
		}
		close(started)
		running := get(t, r)
		for range 100 {
			if got, err := r.Get(ended); got != running {
				t.Fatalf("got %v, %v", got, err)
			}
		}
	})
}

func TestSupervisorKeepsAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen states
		starts := 0
		r := New(func(context.Context) (*mayfly, error) {
			starts++
			return newMayfly(), nil
		}, &Options{Changed: seen.add})
		synctest.Wait()
		if starts != 0 {
			t.Error("started before anybody wanted it")
		}
		begin := time.Now()
		first := get(t, r)
		if again := get(t, r); again != first {
			t.Error("a running one was replaced")
		}
		r.Retry() // must not touch the running one, nor shorten the next wait
		first.die(errors.New("boom"))
		second := get(t, r)
		if second == first || time.Since(begin) != time.Second {
			t.Errorf("the next came after %v", time.Since(begin))
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		<-second.Done()
		if _, err := r.Get(t.Context()); !errors.Is(err, ErrClosed) {
			t.Errorf("Get after Close: %v", err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		if got, want := seen.String(), "starting, running, waiting 1s, starting, running, closed"; got != want {
			t.Errorf("states:\n%s\nwant\n%s", got, want)
		}
	})
}

func TestSupervisorGivesUpAndRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen states
		broken := true
		r := New(func(context.Context) (*mayfly, error) {
			m := newMayfly()
			if broken {
				m.after(time.Millisecond)
			}
			return m, nil
		}, &Options{Changed: seen.add})
		defer r.Close()
		get(t, r)
		time.Sleep(30 * time.Second)
		_, err := r.Get(t.Context())
		if err == nil {
			t.Fatal("it has not given up")
		}
		if want := "the server ended 5 times within 1m0s and is not started again; last: old age"; err.Error() != want {
			t.Errorf("got %q, want %q", err, want)
		}
		time.Sleep(time.Hour)
		if _, err := r.Get(t.Context()); err == nil {
			t.Error("it did not stay given up")
		}
		broken = false
		r.Retry()
		synctest.Wait()
		get(t, r)
		want := strings.Repeat("starting, running, waiting %v, ", 4) + "starting, running, gave up, starting, running"
		if got := seen.String(); got != fmt.Sprintf(want, "1s", "2s", "4s", "8s") {
			t.Errorf("states:\n%s", got)
		}
	})
}

func TestSupervisorStartFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		r := New(func(context.Context) (*mayfly, error) {
			if n++; n == 1 {
				return nil, errors.New("no such program")
			}
			return newMayfly(), nil
		}, nil)
		defer r.Close()
		if _, err := r.Get(t.Context()); err == nil || err.Error() != "no such program" {
			t.Errorf("first Get: %v", err)
		}
		impatient, cancel := context.WithTimeout(t.Context(), time.Second/2)
		defer cancel()
		if _, err := r.Get(impatient); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("impatient Get: %v", err)
		}
		get(t, r)
	})
}

func TestSupervisorClosedEarly(t *testing.T) {
	for _, tt := range []struct {
		name  string
		start func(context.Context) (*mayfly, error)
	}{
		{"while starting", func(ctx context.Context) (*mayfly, error) { <-ctx.Done(); return nil, ctx.Err() }},
		{"while waiting", func(ctx context.Context) (*mayfly, error) { m := newMayfly(); m.die(errors.New("x")); return m, nil }},
		{"started too late", func(ctx context.Context) (*mayfly, error) { <-ctx.Done(); return newMayfly(), nil }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := New(tt.start, nil)
				got := make(chan error)
				go func() {
					_, err := r.Get(t.Context())
					got <- err
				}()
				synctest.Wait()
				if err := r.Close(); err != nil {
					t.Error(err)
				}
				if err := <-got; !errors.Is(err, ErrClosed) {
					t.Errorf("Get: %v", err)
				}
			})
		})
	}
	t.Run("never wanted", func(t *testing.T) {
		r := New(func(context.Context) (*mayfly, error) { return newMayfly(), nil }, nil)
		if err := errors.Join(r.Close(), r.Close()); err != nil {
			t.Error(err)
		}
	})
}

func get[T Process](t *testing.T, r *Supervisor[T]) T {
	t.Helper()
	v, err := r.Get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return v
}
