package notes

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/needtest"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// A mailbox hears the news of one person.
type mailbox struct {
	mu    sync.Mutex
	notes []string
}

func (m *mailbox) put(n mcp.Notification) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.notes = append(m.notes, n.Method+" "+string(n.Params))
}

func (m *mailbox) has(part string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return strings.Contains(strings.Join(m.notes, "\n"), part)
}

func (m *mailbox) all() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return strings.Join(m.notes, "\n")
}

func (m *mailbox) clear() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.notes = nil
}

// hear subscribes somebody until the test ends.
func hear(t *testing.T, s *server.Server, who string, names ...string) *mailbox {
	t.Helper()
	var uris []string
	for _, name := range names {
		uris = append(uris, fmt.Sprintf("%q", uriOf(name)))
	}
	box := &mailbox{}
	c := &mcp.Call{Method: mcp.MethodSubscriptionsListen, OnNotification: box.put, Params: fmt.Appendf(nil, `{"notifications":{"resourcesListChanged":true,"resourceSubscriptions":[%s]}}`, strings.Join(uris, ","))}
	if who != "" {
		c.Caller.Principal = &mcp.Principal{ID: who}
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if _, err := s.Serve(ctx, c); err != nil {
			t.Errorf("listening: %v", err)
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
	eventually(t, "the acknowledgement", func() bool { return box.has("acknowledged") })
	box.clear()
	return box
}

func finds(t *testing.T, s *server.Server, query, want string) func() bool {
	return func() bool { return use(t, s, "", "search_notes", fmt.Sprintf(`{"query":%q}`, query)).paths(t) == want }
}

// Changes of other programs are seen, whether the system tells of them or not.
func TestLive(t *testing.T) {
	for _, poll := range []time.Duration{0, 20 * time.Millisecond} {
		t.Run(fmt.Sprint("poll ", poll), func(t *testing.T) {
			dir := t.TempDir()
			files(t, dir, golden)
			s := serve(t, Config{Vault: dir, Poll: poll})
			box := hear(t, s, "", "Garden.md", "Work/New.md")

			files(t, dir, map[string]string{"Garden.md": "xylophone"})
			eventually(t, "a changed note is found", finds(t, s, "xylophone", "Garden.md"))
			eventually(t, "a change is told", func() bool { return box.has(`updated {"uri":"obsidian://note/Garden.md"}`) })

			files(t, dir, map[string]string{"Work/New.md": "marimba"})
			eventually(t, "a new note is found", finds(t, s, "marimba", "Work/New.md"))
			eventually(t, "a new note is told", func() bool { return box.has("resources/list_changed") && box.has("Work/New.md") })

			box.clear()
			if err := os.Remove(filepath.Join(dir, "Work/New.md")); err != nil {
				t.Fatal(err)
			}
			eventually(t, "a removed note is gone", finds(t, s, "marimba", ""))
			eventually(t, "a removed note is told", func() bool { return box.has("resources/list_changed") })

			files(t, dir, map[string]string{"A/B/C/Deep.md": "vibraphone"})
			eventually(t, "a note in new folders is found", finds(t, s, "vibraphone", "A/B/C/Deep.md"))
			if err := os.Rename(filepath.Join(dir, "A"), filepath.Join(dir, "Z")); err != nil {
				t.Fatal(err)
			}
			eventually(t, "a moved folder is found", finds(t, s, "vibraphone", "Z/B/C/Deep.md"))
			files(t, dir, map[string]string{"Z/B/C/Deep.md": "celesta"})
			eventually(t, "a change in a moved folder is found", finds(t, s, "celesta", "Z/B/C/Deep.md"))
			if err := os.RemoveAll(filepath.Join(dir, "Z")); err != nil {
				t.Fatal(err)
			}
			eventually(t, "a removed folder is gone", finds(t, s, "celesta", ""))
			files(t, dir, map[string]string{"Z/B/Again.md": "glockenspiel"})
			eventually(t, "a folder that came again is found", finds(t, s, "glockenspiel", "Z/B/Again.md"))

			// As editors save: another file, moved into place.
			files(t, dir, map[string]string{".tmp-save": "harmonium"})
			if err := os.Rename(filepath.Join(dir, ".tmp-save"), filepath.Join(dir, "Tools.md")); err != nil {
				t.Fatal(err)
			}
			eventually(t, "a file that was moved into place is found", finds(t, s, "harmonium", "Tools.md"))
			files(t, dir, map[string]string{".obsidian/x.md": "bassoon", ".trash/x.md": "bassoon", "seen.md": "bassoon"})
			eventually(t, "what is hidden stays so", finds(t, s, "bassoon", "seen.md"))
		})
	}
}

// Our own changes are told once, and found at once.
func TestOwnNews(t *testing.T) {
	_, s := vaultOf(t, golden)
	box := hear(t, s, "", "Garden.md", "Tools.md")
	use(t, s, "", "update_note", `{"path":"Garden.md","mode":"append","text":"more"}`)
	eventually(t, "the change is told", func() bool { return box.has("Garden.md") })
	// What comes after another change has passed is what was to come.
	use(t, s, "", "update_note", `{"path":"Tools.md","mode":"append","text":"more"}`)
	eventually(t, "the other change is told", func() bool { return box.has("Tools.md") })
	if n := strings.Count(box.all(), "Garden.md"); n != 1 || box.has("list_changed") {
		t.Errorf("it was told %d times:\n%s", n, box.all())
	}
}

// Nobody hears of a note that was not granted: not of a change, not that the
// list is another one, not if it was subscribed to before it was there.
func TestTeamNews(t *testing.T) {
	dir, s := team(t)
	names := []string{"people/ann/Diary.md", "people/ann/new.md", "people/bob/Diary.md", "people/bob/new.md", "shared/Plan.md"}
	ann, bob := hear(t, s, "ann", names...), hear(t, s, "bob", names...)
	files(t, dir, map[string]string{"people/ann/Diary.md": "x", "people/ann/new.md": "y"})
	eventually(t, "ann hears", func() bool { return ann.has("ann/Diary.md") && ann.has("ann/new.md") && ann.has("list_changed") })
	if r := use(t, s, "ann", "delete_note", `{"path":"people/ann/new.md","confirm":true}`); r.Failed {
		t.Fatal(r.Text)
	}
	// What all may read passes the same way, after it.
	files(t, dir, map[string]string{"shared/Plan.md": "z"})
	eventually(t, "bob hears of the plan", func() bool { return bob.has("Plan.md") })
	if bob.has("ann") || bob.has("list_changed") {
		t.Errorf("bob heard:\n%s", bob.all())
	}
	bob.clear()
	files(t, dir, map[string]string{"people/bob/new.md": "y"})
	eventually(t, "bob hears of his own", func() bool { return bob.has("bob/new.md") && bob.has("list_changed") })
	if ann.has("bob") {
		t.Errorf("ann heard:\n%s", ann.all())
	}
}

// F40: a flood of changes is one look at each file. What is last is found, and
// memory is what it was.
func TestFlood(t *testing.T) {
	dir, s := vaultOf(t, golden)
	box := hear(t, s, "", "flood0.md")
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before, began := heap(), time.Now()
	const rounds, many = 500, 20 // each write is several events
	for round := range rounds {
		for i := range many {
			text := fmt.Sprintf("flood round%d file%d.", round, i)
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("flood%d.md", i)), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i := range many {
		eventually(t, "the last state is found", finds(t, s, fmt.Sprintf("\"round%d file%d.\"", rounds-1, i), fmt.Sprintf("flood%d.md", i)))
	}
	eventually(t, "it was told", func() bool { return box.has("flood0.md") })
	// A machine that takes long over the changes has time for more notes.
	if n := strings.Count(box.all(), "updated"); n > max(rounds/2, int(time.Since(began)/gather)+1) {
		t.Errorf("%d changes were told one by one: %d notes", rounds, n)
	}
	after := uint64(0)
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if after = heap(); after <= before+8<<20 { // once all is done that is under way
			return
		}
	}
	t.Errorf("memory went from %d to %d KiB", before>>10, after>>10)
}

// Nobody tells how many folders can be watched; when it is one too many, the
// vault is looked at instead.
func TestWatchRunsOut(t *testing.T) {
	dir := t.TempDir()
	files(t, dir, golden)
	v, err := open(Config{Vault: dir})
	if err != nil {
		t.Fatal(err)
	}
	v.changes = server.New(mcp.Implementation{Name: "x"}, nil)
	w := v.watch()
	if w.notified == nil {
		needtest.Missing(t, "changes cannot be watched for here")
	}
	w.folder("Garden.md/impossible") // as any other error than that it is not there
	if w.notified != nil {
		t.Fatal("it goes on watching")
	}
	close(v.ready)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); w.follow(ctx) }()
	files(t, dir, map[string]string{"late.md": "found by looking"})
	eventually(t, "it is found", func() bool { return v.get("late.md") != nil })
	cancel()
	<-done
	v.root.Close()
}

func TestGathering(t *testing.T) {
	g := &changeSet{names: map[string]bool{}}
	for i := range 3 * maxGathered {
		g.add(fmt.Sprint(i), true)
	}
	if names, all := g.take(); !all || len(names) != 0 {
		t.Errorf("%d names, all: %v", len(names), all)
	}
	g.add("a", true)
	g.add("a", true)
	if names, all := g.take(); all || len(names) != 1 {
		t.Errorf("%v, %v", names, all)
	}
	g.add("", false)
	if _, all := g.take(); !all {
		t.Error("what is not known was forgotten")
	}
}
