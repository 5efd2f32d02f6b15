package tasklist

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func names(t *testing.T, l List) string {
	t.Helper()
	all, err := l.All()
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, r := range all {
		ids = append(ids, r.Server+"/"+r.ID+"="+r.Status)
	}
	return strings.Join(ids, " ")
}

func TestList(t *testing.T) {
	l := List{filepath.Join(t.TempDir(), "sub", "tasks.json")}
	if got := names(t, l); got != "" {
		t.Errorf("a list without a file: %s", got)
	}
	begin := time.Now().Add(-time.Minute)
	put := func(server, id, status string, n int, expires time.Duration) {
		t.Helper()
		r := Record{Server: server, ID: id, Tool: "x", Status: status, Started: begin.Add(time.Duration(n) * time.Second), Call: json.RawMessage(`{"a":1}`)}
		if expires != 0 {
			r.Expires = time.Now().Add(expires)
		}
		if err := l.Put(r); err != nil {
			t.Fatal(err)
		}
	}
	put("b", "1", "working", 2, time.Hour)
	put("a", "1", "working", 1, 0)
	put("a", "2", "working", 3, -time.Second) // expired
	put("b", "1", "input_required", 2, time.Hour)
	if got := names(t, l); got != "a/1=working b/1=input_required" {
		t.Errorf("%s", got)
	}
	if err := l.Change("a", "1", func(r *Record) { r.Status = "completed" }); err != nil {
		t.Fatal(err)
	}
	if err := l.Change("a", "nosuch", func(*Record) { t.Error("changed what is not there") }); err != nil {
		t.Fatal(err)
	}
	if err := l.Remove("b", "1"); err != nil {
		t.Fatal(err)
	}
	if got := names(t, l); got != "a/1=completed" {
		t.Errorf("%s", got)
	}
	if info, err := os.Stat(l.File); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("%v %v: others can read it", info, err)
	}
}

// Many processes write at once, and no record is lost.
func TestConcurrentPuts(t *testing.T) {
	l := List{filepath.Join(t.TempDir(), "tasks.json")}
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			if err := l.Put(Record{Server: "s", ID: fmt.Sprint(i), Status: "working", Started: time.Now()}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if got, _ := l.All(); len(got) != 20 {
		t.Errorf("%d records", len(got))
	}
}

// The list is bounded, and running tasks stay longest.
func TestBounded(t *testing.T) {
	var all []Record
	for i := range maxRecords + 100 {
		r := Record{ID: fmt.Sprint(i), Status: "completed", Started: time.Unix(int64(i), 0)}
		if i < 5 {
			r.Status = "working"
		}
		all = append(all, r)
	}
	got := bounded(all, time.Now())
	if len(got) != maxRecords || got[0].ID != "0" || got[4].ID != "4" || got[5].ID != "105" {
		t.Errorf("%d records, the first are %s %s", len(got), got[0].ID, got[5].ID)
	}
}

// A server cannot make the list large.
func TestLongRecords(t *testing.T) {
	l := List{filepath.Join(t.TempDir(), "tasks.json")}
	long := strings.Repeat("x", 1<<20)
	for _, r := range []Record{{ID: long}, {ID: "a", Call: json.RawMessage(`"` + long + `"`)}} {
		if err := l.Put(r); err == nil || len(err.Error()) > 500 {
			t.Errorf("%.100v", err)
		}
	}
	if err := l.Put(Record{ID: "a", Message: long}); err != nil {
		t.Fatal(err)
	}
	if all, err := l.All(); err != nil || len(all) != 1 || len(all[0].Message) > 1000 {
		t.Errorf("%d records, %v", len(all), err)
	}
}

func TestBrokenFileSaysWhatToDo(t *testing.T) {
	l := List{filepath.Join(t.TempDir(), "tasks.json")}
	if err := os.WriteFile(l.File, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := l.All(); err == nil || !strings.Contains(err.Error(), "delete the file") {
		t.Errorf("%v", err)
	}
	if err := l.Put(Record{ID: "x"}); err == nil || !strings.Contains(err.Error(), "delete the file") {
		t.Errorf("%v", err)
	}
}
