package host

import (
	"database/sql"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite" // makes the database of the test

	"github.com/tenon-mcp/tenon/app/audit"
	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/host"
	"github.com/tenon-mcp/tenon/app/llm/script"
	"github.com/tenon-mcp/tenon/app/workspace"
)

// Four of our servers at once, by every way and in both eras: a loop of calls
// that build on each other, and calls that run at the same time.
func TestOurServers(t *testing.T) {
	for _, by := range []way{inMemory, overStdio, overHTTP} {
		for _, revision := range eras() {
			t.Run(string(by)+" "+string(revision), func(t *testing.T) {
				dir := t.TempDir()
				db := database(t, dir)
				servers := []config.Server{
					by.own(t, "calc", nil),
					by.own(t, "fs", url.Values{"root": {dir}}),
					by.own(t, "notes", url.Values{"vault": {vault(t)}}),
					by.own(t, "sql", url.Values{"dsn": {"sqlite:" + db}}),
				}
				w := open(t, lines(
					m{"expect": m{"has": "stock", "tools": []string{"calc__add", "fs__write_file", "notes__create_note", "sql__run_query"}}},
					m{"text": "Let me look."},
					call("sql__run_query", m{"sql": "SELECT sum(n) AS total FROM stock"}),
					call("calc__add", m{"a": 40, "b": 2}),
					call("notes__create_note", m{"path": "Plan.md", "text": "Count the stock."}),
					m{"expect": m{"role": "tool", "has": "42"}},
					call("fs__write_file", m{"path": filepath.Join(dir, "total.txt"), "content": "the total is 12"}),
					expect("total.txt"),
					call("fs__read_file", m{"path": filepath.Join(dir, "total.txt")}),
					call("notes__search_notes", m{"query": "stock"}),
					expect("the total is 12"),
					m{"text": "There are 12."},
				), servers, func(o *workspace.Options) { o.Revision = revision })
				w.ready("calc", "fs", "notes", "sql")
				s := w.send("how much stock is there?")
				for _, c := range w.calls() {
					if c.Phase != host.CallDone {
						t.Errorf("%s is %s: %s", c.Name, c.Phase, c.ForModel)
					}
				}
				if n := w.script.Left(); n != 0 {
					t.Errorf("%d turns are left", n)
				}
				for _, name := range []string{"calc", "fs", "notes", "sql"} {
					if st := w.Fleet.Get(name).State(); st.Revision != revision {
						t.Errorf("%s speaks %s", name, st.Revision)
					}
				}
				if got, err := os.ReadFile(filepath.Join(dir, "total.txt")); err != nil || string(got) != "the total is 12" {
					t.Errorf("the file holds %q, %v", got, err)
				}
				if all := s.Messages(); !strings.Contains(all[2].Text(), "12") {
					t.Errorf("the sum is not in %s", all[2].Text())
				}
			})
		}
	}
}

// database makes a small one.
func database(t *testing.T, dir string) string {
	t.Helper()
	file := filepath.Join(dir, "shop.db")
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("CREATE TABLE stock (name TEXT, n INTEGER); INSERT INTO stock VALUES ('bolts', 5), ('nuts', 7)"); err != nil {
		t.Fatal(err)
	}
	return file
}

func vault(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "Old.md"), []byte("# Old\n\nNothing to see."), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// A session is saved with what it has cost, and goes on in another process; and
// what was called is in the audit log.
func TestResume(t *testing.T) {
	dir := t.TempDir()
	servers := []config.Server{inMemory.own(t, "calc", nil)}
	w := open(t, lines(expect("two and three"), call("calc__add", m{"a": 2, "b": 3}), m{"usage": m{"input": 100, "output": 10}}, expect("5"), m{"text": "5"}, m{"usage": m{"input": 50, "output": 1}}),
		servers, func(o *workspace.Options) { o.Dir = dir })
	w.ready("calc")
	id := w.send("add two and three").ID
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	later := open(t, lines(m{"expect": m{"has": "and two more"}}, m{"text": "7"}, m{"usage": m{"input": 7, "output": 1}}), servers, func(o *workspace.Options) { o.Dir = dir })
	later.ready("calc")
	s, err := later.Host.Session(id)
	if err != nil {
		t.Fatal(err)
	}
	later.sendTo(s, "and two more")
	if n := len(s.Messages()); n != 6 {
		t.Errorf("the conversation has %d messages", n)
	}
	all, err := later.Host.Sessions()
	if err != nil || len(all) != 1 || all[0].Title != "add two and three" || all[0].Usage.Input != 157 || all[0].Turns != 2 {
		t.Errorf("the sessions are %+v, %v", all, err)
	}
	if r, err := audit.Verify(workspace.AuditFile(dir), nil); r.Lines != 2 || err != nil {
		t.Errorf("the audit log has %d lines, %v", r.Lines, err)
	}
}

// What was recorded with real servers can be replayed with them: the same
// conversation makes the same requests, fences and all.
func TestRecordAndReplay(t *testing.T) {
	servers := []config.Server{inMemory.own(t, "calc", nil), overStdio.own(t, "fs", url.Values{"root": {t.TempDir()}})}
	file := filepath.Join(t.TempDir(), "talk.jsonl")
	var recorder *script.Recorder
	w := open(t, lines(expect("add"), call("calc__add", m{"a": 2, "b": 3}), call("fs__read_file", m{"path": "nothing.txt"}), expect("5"), m{"text": "5"}), servers, func(o *workspace.Options) {
		var err error
		if recorder, err = script.Record(file, o.Model, nil); err != nil {
			t.Fatal(err)
		}
		o.Model = recorder
	})
	w.ready("calc", "fs")
	w.send("add 2 and 3")
	if err := recorder.Close(); err != nil {
		t.Fatal(err)
	}
	again := open(t, lines(m{"text": "not this one"}), servers, func(o *workspace.Options) {
		var err error
		if o.Model, err = script.Replay(file, nil); err != nil {
			t.Fatal(err)
		}
	})
	again.ready("calc", "fs")
	s := again.send("add 2 and 3")
	if all := s.Messages(); all[len(all)-1].Text() != "5" {
		t.Errorf("it came to %q", all[len(all)-1].Text())
	}
}
