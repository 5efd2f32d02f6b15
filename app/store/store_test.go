package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/app/host"
	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/ext/skills"
	"github.com/tenon-mcp/tenon/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func open(t *testing.T, file string) *DB {
	t.Helper()
	d, err := Open(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func owner(id string) host.Owner {
	machine, _ := os.Hostname()
	return host.Owner{ID: id, PID: os.Getppid(), Machine: machine, Since: time.Now()} // alive, and not this process
}

func session(id string, at time.Time) *host.Update {
	return &host.Update{New: true, Owner: owner("me"), Saved: host.Saved{
		ID: id, Title: "Title of " + id, Created: at, Changed: at, Model: "test/one", Turns: 2, Folder: "/home", OneShot: true,
		Rows: []host.Row{
			{Seq: 0, Message: llm.User("hello \u202e <b>")},
			{Seq: 1, Message: llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{{Kind: llm.PartThinking, Text: "hm", Signature: "x:y"}, {Kind: llm.PartToolCall, Call: &llm.ToolCall{ID: "1", Name: "calc__add", Arguments: json.RawMessage(`{"a":1.0}`)}}}}},
			{Seq: 3, Message: llm.Results(llm.TextResult("1", "2"))},
			{Seq: 4, Message: llm.User("and?")},
		},
		Usage:   llm.Usage{Input: 10, Output: 5, Cost: 0.25},
		Handles: map[string]json.RawMessage{"r1": json.RawMessage(`{"text":"long"}`)},
		Sources: []string{"calc"},
		Skills: []host.SavedSkill{{Server: "docs", Entry: &skills.Skill{
			URI: "skill://a/SKILL.md", Frontmatter: json.RawMessage(`{"name":"a","description":"About a"}`),
			Resources: []skills.Resource{{URI: "skill://a/SKILL.md", Digest: "sha256:" + strings.Repeat("0", 64), Size: 7}},
		}}},
		Started: map[string]string{"c": "calc/add"},
	}}
}

func TestSessionsComeBackAsTheyWere(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sub", "tenon.db")
	d := open(t, file)
	at := time.Now().UTC().Round(time.Microsecond)
	want := session("a", at)
	if err := d.Save(want); err != nil {
		t.Fatal(err)
	}
	if err := d.Save(session("b", at.Add(time.Second))); err != nil {
		t.Fatal(err)
	}
	d.Close()
	d = open(t, file)
	got, err := d.Load("a")
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, &want.Saved) {
		t.Errorf("came back as\n%+v, not\n%+v", got, want.Saved)
	}
	list, err := d.List()
	if err != nil || len(list) != 2 || list[0].ID != "b" || list[1].Turns != 2 || list[1].Usage != want.Usage || !list[1].Created.Equal(at) || list[1].Folder != "/home" || !list[1].OneShot {
		t.Errorf("the list is %+v, %v", list, err)
	}
	if err := d.Delete("b"); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Load("b"); !errors.Is(err, host.ErrNoSession) || !strings.Contains(err.Error(), "session b") {
		t.Errorf("a deleted session: %v", err)
	}
	u := session("b", at)
	u.New = false
	if err := d.Save(u); !errors.Is(err, host.ErrNoSession) {
		t.Errorf("a deleted session is saved: %v", err)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("others can read it: %v, %v", info.Mode(), err)
	}
}

// H7: a save writes what has changed and leaves the other rows alone.
func TestSaveAppends(t *testing.T) {
	d := open(t, filepath.Join(t.TempDir(), "tenon.db"))
	u := session("a", time.Now())
	if err := d.Save(u); err != nil {
		t.Fatal(err)
	}
	if _, err := d.db.Exec("UPDATE message SET data = replace(data, 'hello', 'touched')"); err != nil {
		t.Fatal(err)
	}
	u.New, u.Handles = false, nil
	u.Rows = []host.Row{{Seq: 4, Message: llm.User("instead")}, {Seq: 5, Message: llm.User("new")}}
	u.Drop = []int64{3}
	if err := d.Save(u); err != nil {
		t.Fatal(err)
	}
	got, err := d.Load("a")
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, r := range got.Rows {
		texts = append(texts, fmt.Sprint(r.Seq, r.Message.Text()))
	}
	if text := strings.Join(texts, "|"); text != "0touched \u202e <b>|1|4instead|5new" || len(got.Handles) != 1 {
		t.Errorf("the rows are %q", text)
	}
}

// H7: who is not the owner cannot write, and can take over.
func TestOwnersDoNotOverwriteEachOther(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tenon.db")
	a, b := open(t, file), open(t, file)
	u := session("a", time.Now())
	if err := a.Save(u); err != nil {
		t.Fatal(err)
	}
	_, err := b.Claim("a", owner("you"), false)
	elsewhere, ok := errors.AsType[*host.OpenElsewhereError](err)
	if !ok || elsewhere.Owner.ID != "me" || !strings.HasPrefix(err.Error(), "session a is open in process ") {
		t.Fatalf("got %v", err)
	}
	if s, err := b.Claim("a", owner("you"), true); err != nil || len(s.Rows) != 4 {
		t.Fatalf("taking over: %+v, %v", s, err)
	}
	u.New = false
	if err := a.Save(u); err == nil || !errors.As(err, &elsewhere) || elsewhere.Owner.ID != "you" {
		t.Errorf("the one before still writes: %v", err)
	}
	if err := b.Release("a", owner("you")); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Claim("a", owner("me"), false); err != nil {
		t.Errorf("a session that was released: %v", err)
	}
	dead := owner("gone")
	dead.PID = 1 << 30
	if _, err := a.Claim("a", dead, true); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Claim("a", owner("you"), false); err != nil {
		t.Errorf("a session of a process that has ended: %v", err)
	}
}

// A file of the version before keeps its sessions.
func TestOldFileIsBroughtForward(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tenon.db")
	now := steps
	steps = steps[:1]
	d, err := Open(file)
	steps = now
	if err != nil {
		t.Fatal(err)
	}
	const old = `{"id":"a","title":"T","created":"2026-01-02T03:04:05Z","changed":"2026-01-02T03:04:05Z","model":"m","messages":[{"role":"user","parts":[{"kind":"text","text":"hi"}]},{"role":"assistant","parts":[{"kind":"tool_call","call":{"id":"1","name":"n","arguments":{"a":1.50,"b":12345678901234567890}}}]}],"usage":{"input":1},"handles":{"r1":{"from":"x","text":"long"}},"sources":["s"]}`
	if _, err := d.db.Exec("INSERT INTO session (id, title, created, changed, model, turns, usage, data) VALUES ('a','T',1,2,'m',1,'{}',?)", old); err != nil {
		t.Fatal(err)
	}
	d.Close()
	got, err := open(t, file).Load("a")
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Rows) != 2 || got.Rows[0].Message.Text() != "hi" || string(got.Rows[1].Message.Calls()[0].Arguments) != `{"a":1.50,"b":12345678901234567890}` || string(got.Handles["r1"]) != `{"from":"x","text":"long"}` || got.Sources[0] != "s" || got.Usage.Input != 1 {
		t.Errorf("came back as %+v", got)
	}
}

func TestTwoProcesses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tenon.db")
	a, b := open(t, file), open(t, file)
	var all sync.WaitGroup
	for i, d := range []*DB{a, b} {
		all.Go(func() {
			for n := range 30 {
				if err := d.Save(session(fmt.Sprintf("%d-%d", i, n), time.Now())); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if list, err := a.List(); len(list) != 60 || err != nil {
		t.Errorf("%d sessions, %v", len(list), err)
	}
}

func TestNewerFileIsLeftAlone(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tenon.db")
	d := open(t, file)
	if _, err := d.db.Exec("PRAGMA user_version = 99"); err != nil {
		t.Fatal(err)
	}
	d.Close()
	if _, err := Open(file); err == nil || !strings.Contains(err.Error(), "newer Tenon") {
		t.Errorf("got %v", err)
	}
}

func TestNoDatabase(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tenon.db")
	if err := os.WriteFile(file, []byte(strings.Repeat("this is no database. ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(file); err == nil || !strings.Contains(err.Error(), "tenon.db") {
		t.Errorf("got %v", err)
	}
}
