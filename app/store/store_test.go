package store

import (
	"encoding/json"
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

func session(id string, at time.Time) *host.Saved {
	return &host.Saved{
		ID: id, Title: "Title of " + id, Created: at, Changed: at, Model: "test/one",
		Messages: []llm.Message{
			llm.User("hello \u202e <b>"),
			{Role: llm.RoleAssistant, Parts: []llm.Part{{Kind: llm.PartThinking, Text: "hm", Signature: "x:y"}, {Kind: llm.PartToolCall, Call: &llm.ToolCall{ID: "1", Name: "calc__add", Arguments: json.RawMessage(`{"a":1}`)}}}},
			llm.Results(llm.TextResult("1", "2")),
			llm.User("and?"),
		},
		Usage:   llm.Usage{Input: 10, Output: 5, Cost: 0.25},
		Handles: map[string]json.RawMessage{"r1": json.RawMessage(`"long"`)},
		Sources: []string{"calc"},
	}
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
	if !reflect.DeepEqual(got, want) {
		t.Errorf("came back as\n%+v, not\n%+v", got, want)
	}
	list, err := d.List()
	if err != nil || len(list) != 2 || list[0].ID != "b" || list[1].Turns != 2 || list[1].Usage != want.Usage || !list[1].Created.Equal(at) {
		t.Errorf("the list is %+v, %v", list, err)
	}
	if err := d.Delete("b"); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Load("b"); err == nil || !strings.Contains(err.Error(), "no session b") {
		t.Errorf("a deleted session: %v", err)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("others can read it: %v, %v", info.Mode(), err)
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
