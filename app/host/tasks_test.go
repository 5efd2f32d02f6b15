package host

import (
	"context"
	"maps"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/app/tasklist"
	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/ext/tasks"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// A works is a server whose tool report is a task that ends when a test says so.
type works struct {
	s        *server.Server
	finish   chan struct{}
	ended    chan error // how runs ended that were stopped
	question bool
}

func newWorks(t *testing.T) *works {
	w := &works{s: server.New(mcp.Implementation{Name: "works", Version: "1"}, nil), finish: make(chan struct{}), ended: make(chan error, 10)}
	m, err := tasks.NewManager(w.s, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.s.Close() })
	server.AddTool(w.s, "report", "Report", func(ctx context.Context, c *mcp.Call, _ struct{}) (string, error) {
		server.Progress(c, 1, 0, "collecting")
		select {
		case <-w.finish:
		case <-ctx.Done():
			w.ended <- context.Cause(ctx)
			return "", ctx.Err()
		}
		if w.question {
			in, err := server.Elicit[struct {
				Name string `json:"name"`
			}](c, "who", "Who?")
			return "for " + in.Name, err
		}
		return "all is well", nil
	}, m.Tool(tasks.Required, &server.ToolOptions{Annotations: server.ReadOnly()}))
	return w
}

// attach adds the server to a host, as app/connect does.
func (w *works) attach(t *testing.T, h *Host) {
	t.Helper()
	o := h.ClientOptions("works")
	o.Middleware = []mcp.Middleware{tasks.Client}
	if err := h.Attach("works", client.New(w.s, &o), nil); err != nil {
		t.Fatal(err)
	}
}

// until waits for an event.
func (b *bench) until(kind EventKind, is func(Event) bool) {
	b.t.Helper()
	for range 10_000 {
		for _, e := range b.all(kind) {
			if is(e) {
				return
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	b.t.Fatalf("no such event %s", kind)
}

// working waits until the call is a task that has said what it does.
func (b *bench) working() Task {
	b.t.Helper()
	b.until(EventTool, func(e Event) bool { return e.Call.Task != nil && e.Call.Message == "collecting" })
	all := b.host.Tasks()
	if len(all) != 1 || all[0].Status != "working" || all[0].Tool != "report" || all[0].Over {
		b.t.Fatalf("%+v", all)
	}
	return all[0]
}

// said returns the texts of a conversation.
func texts(s *Session) string {
	var all []string
	for _, m := range s.Messages() {
		all = append(all, m.Text())
		for _, p := range m.Parts {
			if p.Result != nil {
				all = append(all, llm.Results(*p.Result).Text())
			}
		}
	}
	return strings.Join(all, "\n")
}

func listed(t *testing.T, l *tasklist.List) []tasklist.Record {
	t.Helper()
	all, err := l.All()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// A task that nobody puts into the background is a call that takes long.
func TestTaskShowsAsRunningCall(t *testing.T) {
	list := &tasklist.List{File: filepath.Join(t.TempDir(), "tasks.json")}
	synctest.Test(t, func(t *testing.T) {
		w := newWorks(t)
		b := newBench(t, func(o *Options) { o.Tasks = list }, calls("works__report", `{}`), says("done"))
		w.attach(t, b.host)
		s := b.host.NewSession()
		go func() {
			b.working()
			if got := listed(t, list); len(got) != 1 || got[0].Session != s.ID || !got[0].Running() {
				t.Errorf("%+v", got)
			}
			time.Sleep(2 * time.Hour / 3) // longer than any limit of a call
			close(w.finish)
		}()
		if err := s.Send(t.Context(), "report"); err != nil {
			t.Fatal(err)
		}
		if got := texts(s); !strings.Contains(got, "all is well") || strings.Contains(got, "background") {
			t.Errorf("%s", got)
		}
		last := b.all(EventTool)[len(b.all(EventTool))-1].Call
		if last.Phase != CallDone || last.Task == nil || last.Task.Status != "completed" || last.Task.Background {
			t.Errorf("%+v %+v", last, last.Task)
		}
		if got := listed(t, list); len(got) != 0 {
			t.Errorf("%+v", got)
		}
		if all := b.host.Tasks(); len(all) != 1 || !all[0].Over {
			t.Errorf("%+v", all)
		}
	})
}

// The turn goes on without a task in the background, whose question reaches the
// person and whose result reaches the conversation.
func TestTaskInTheBackground(t *testing.T) {
	list := &tasklist.List{File: filepath.Join(t.TempDir(), "tasks.json")}
	synctest.Test(t, func(t *testing.T) {
		w := newWorks(t)
		w.question = true
		var second *llm.Request
		b := newBench(t, func(o *Options) { o.Tasks = list }, calls("works__report", `{}`), says("it runs"), func(r *llm.Request) (llm.Message, error) {
			second = r
			return says("I see")(r)
		})
		w.attach(t, b.host)
		b.answers = func(a Ask) *Reply {
			if a.Kind == AskForm {
				return &Reply{Action: "accept", Content: []byte(`{"name":"Ada"}`)}
			}
			return &Reply{Action: "once"}
		}
		s := b.host.NewSession()
		go func() {
			task := b.working()
			if err := b.host.BackgroundTask("works", task.ID); err != nil {
				t.Error(err)
			}
		}()
		if err := s.Send(t.Context(), "report"); err != nil {
			t.Fatal(err)
		}
		if got := texts(s); !strings.Contains(got, "goes on in the background, as task") || !strings.Contains(got, "it runs") {
			t.Errorf("%s", got)
		}
		if got := listed(t, list); len(got) != 1 || !got[0].Running() {
			t.Errorf("%+v", got)
		}
		close(w.finish)
		b.until(EventTask, func(Event) bool { return true })
		if got := texts(s); !strings.Contains(got, "for Ada") {
			t.Errorf("%s", got)
		}
		if asks := b.all(EventAsk); len(asks) == 0 || asks[len(asks)-1].Session != s.ID {
			t.Errorf("the question does not belong to the session: %+v", asks)
		}
		last := b.all(EventTool)[len(b.all(EventTool))-1].Call
		if last.Phase != CallDone || last.ID != "c0" || !last.Task.Background {
			t.Errorf("%+v %+v", last, last.Task)
		}
		if got := listed(t, list); len(got) != 1 || got[0].Status != "completed" {
			t.Errorf("%+v", got)
		}
		if err := s.Send(t.Context(), "and?"); err != nil {
			t.Fatal(err)
		}
		var asked strings.Builder
		for _, m := range second.Messages {
			asked.WriteString(m.Text() + "\n")
		}
		if !strings.Contains(asked.String(), "has ended.") {
			t.Errorf("the model does not get the result: %s", asked.String())
		}
		if err := b.host.BackgroundTask("works", "nosuch"); err == nil {
			t.Error("a task that does not exist")
		}
	})
}

// A result that arrives while a turn runs is added between two requests, never
// between a call and its result.
func TestResultDuringATurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorks(t)
		var b *bench
		b = newBench(t, nil, calls("works__report", `{}`), says("it runs"), func(r *llm.Request) (llm.Message, error) {
			close(w.finish)
			b.until(EventTask, func(Event) bool { return true })
			return says("busy")(r)
		})
		w.attach(t, b.host)
		s := b.host.NewSession()
		go func() { _ = b.host.BackgroundTask("works", b.working().ID) }()
		for _, text := range []string{"report", "think"} {
			if err := s.Send(t.Context(), text); err != nil {
				t.Fatal(err)
			}
		}
		got := texts(s)
		if busy, result := strings.Index(got, "busy"), strings.Index(got, "all is well"); busy < 0 || result < busy {
			t.Errorf("%s", got)
		}
	})
}

// Stopping the turn cancels a task that is not in the background.
func TestStopCancelsTheTask(t *testing.T) {
	list := &tasklist.List{File: filepath.Join(t.TempDir(), "tasks.json")}
	synctest.Test(t, func(t *testing.T) {
		w := newWorks(t)
		b := newBench(t, func(o *Options) { o.Tasks = list }, calls("works__report", `{}`))
		w.attach(t, b.host)
		s := b.host.NewSession()
		go func() { b.working(); s.Stop() }()
		if err := s.Send(t.Context(), "report"); err == nil {
			t.Error("a stopped turn has no error")
		}
		<-w.ended
		if got := b.phases(); !strings.HasSuffix(got, "works__report:cancelled") {
			t.Errorf("%s", got)
		}
		if got := listed(t, list); len(got) != 0 {
			t.Errorf("%+v", got)
		}
	})
}

func TestCancelTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorks(t)
		b := newBench(t, nil, calls("works__report", `{}`), says("pity"))
		w.attach(t, b.host)
		s := b.host.NewSession()
		go func() {
			task := b.working()
			go func() {
				if err := b.host.WaitTask(t.Context(), "works", task.ID); err != nil {
					t.Error(err)
				}
			}()
			synctest.Wait() // it waits
			if err := b.host.CancelTask(t.Context(), "works", task.ID); err != nil {
				t.Error(err)
			}
		}()
		if err := s.Send(t.Context(), "report"); err != nil {
			t.Fatal(err)
		}
		<-w.ended
		if got := texts(s); !strings.Contains(got, "The task was cancelled.") || !strings.Contains(got, "pity") {
			t.Errorf("%s", got)
		}
	})
}

// A task survives the host: the next run waits for it, whether the host ended in
// order or not.
func TestTaskSurvivesARestart(t *testing.T) {
	for _, how := range []string{"closed", "left", "killed"} {
		t.Run(how, func(t *testing.T) {
			list := &tasklist.List{File: filepath.Join(t.TempDir(), "tasks.json")}
			synctest.Test(t, func(t *testing.T) {
				w := newWorks(t)
				first := newBench(t, func(o *Options) { o.Tasks = list }, calls("works__report", `{}`), says("it runs"))
				w.attach(t, first.host)
				s := first.host.NewSession()
				if how == "closed" {
					go func() { _ = first.host.BackgroundTask("works", first.working().ID) }()
					if err := s.Send(t.Context(), "report"); err != nil {
						t.Fatal(err)
					}
					first.host.Close()
				} else if how == "left" { // in the foreground, when the program ends
					ctx, leave := context.WithCancelCause(t.Context())
					go func() { first.working(); leave(ErrLeaving) }()
					if err := s.Send(ctx, "report"); err == nil {
						t.Error("the turn has not ended")
					}
					first.host.Close()
				} else { // in the foreground, without a chance to store anything
					go func() { _ = s.Send(t.Context(), "report") }()
					first.working()
					first.store.mu.Lock() // nothing more of it reaches the store
					kept := first.store.clone()
					first.store.mu.Unlock()
					first.host.owner.end()
					first.store = kept
				}
				second := newBench(t, func(o *Options) { o.Tasks = list }, says("thanks"))
				second.store, second.host.opts.Store = first.store, first.store
				w.attach(t, second.host)
				second.host.ResumeTasks()
				second.working()
				close(w.finish)
				second.until(EventTask, func(Event) bool { return true })
				again, err := second.host.Session(s.ID)
				if err != nil {
					t.Fatal(err)
				}
				if got := texts(again); !strings.Contains(got, "goes on in the background, as task") || !strings.Contains(got, "all is well") {
					t.Errorf("%s", got)
				}
				if err := again.Send(t.Context(), "and?"); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// A task that the server has forgotten is reported to the conversation.
func TestLostTask(t *testing.T) {
	list := &tasklist.List{File: filepath.Join(t.TempDir(), "tasks.json")}
	synctest.Test(t, func(t *testing.T) {
		first := newBench(t, func(o *Options) { o.Tasks = list }, calls("works__report", `{}`), says("it runs"))
		w := newWorks(t)
		w.attach(t, first.host)
		s := first.host.NewSession()
		go func() { _ = first.host.BackgroundTask("works", first.working().ID) }()
		if err := s.Send(t.Context(), "report"); err != nil {
			t.Fatal(err)
		}
		first.host.Close()
		second := newBench(t, func(o *Options) { o.Tasks = list })
		second.store, second.host.opts.Store = first.store, first.store
		newWorks(t).attach(t, second.host) // it was restarted
		second.host.ResumeTasks()
		second.until(EventTask, func(Event) bool { return true })
		again, err := second.host.Session(s.ID)
		if err != nil {
			t.Fatal(err)
		}
		if got := texts(again); !strings.Contains(got, "was lost when the server restarted") {
			t.Errorf("%s", got)
		}
		if got := listed(t, list); len(got) != 1 || got[0].Running() {
			t.Errorf("%+v", got)
		}
	})
}

// Deleting a conversation cancels its tasks, and does not bring it back.
func TestDeletedSessionHasNoTasks(t *testing.T) {
	list := &tasklist.List{File: filepath.Join(t.TempDir(), "tasks.json")}
	synctest.Test(t, func(t *testing.T) {
		w := newWorks(t)
		b := newBench(t, func(o *Options) { o.Tasks = list }, calls("works__report", `{}`), says("it runs"))
		w.attach(t, b.host)
		s := b.host.NewSession()
		go func() { _ = b.host.BackgroundTask("works", b.working().ID) }()
		if err := s.Send(t.Context(), "report"); err != nil {
			t.Fatal(err)
		}
		if err := b.host.DeleteSession(s.ID); err != nil {
			t.Fatal(err)
		}
		<-w.ended
		synctest.Wait()
		if all, err := b.host.Sessions(); err != nil || len(all) != 0 {
			t.Errorf("%+v %v", all, err)
		}
		if got := listed(t, list); len(got) != 0 {
			t.Errorf("%+v", got)
		}
	})
}

// clone returns the store as it is now. The lock is held.
func (m *memoryStore) clone() *memoryStore {
	return &memoryStore{saved: maps.Clone(m.saved), owner: maps.Clone(m.owner)}
}
