package taskstore_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/app/store"
	"github.com/tenon-mcp/tenon/app/store/taskstore"
	"github.com/tenon-mcp/tenon/ext/tasks"
	"github.com/tenon-mcp/tenon/ext/tasks/storetest"
	"github.com/tenon-mcp/tenon/internal/leaktest"
	"github.com/tenon-mcp/tenon/internal/tasktest"
)

func TestMain(m *testing.M) {
	switch mode, file := tasktest.Mode(); mode {
	case "":
		leaktest.Main(m)
	case "serve":
		store, err := taskstore.Open(file, nil)
		tasktest.Check(err)
		tasktest.Serve(store, store.Close)
	case "count":
		count(file)
	}
}

func open(t *testing.T, file string, o *taskstore.Options) *taskstore.Store {
	t.Helper()
	s, err := taskstore.Open(file, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func record(id, owner string) *tasks.Record {
	now := time.Now().Truncate(time.Millisecond)
	return &tasks.Record{Task: tasks.Task{ID: id, Status: tasks.Working, CreatedAt: now, LastUpdatedAt: now}, Owner: owner, Expires: now.Add(time.Hour)}
}

func TestStore(t *testing.T) { storetest.Run(t, sharedFile()) }

func TestManagersShareFile(t *testing.T) { storetest.RunManagers(t, sharedFile()) }

// sharedFile returns a function that opens the same file within one test.
func sharedFile() func(t *testing.T) tasks.Store {
	files := map[string]string{}
	return func(t *testing.T) tasks.Store {
		if files[t.Name()] == "" {
			files[t.Name()] = filepath.Join(t.TempDir(), "tasks.db")
		}
		return open(t, files[t.Name()], nil)
	}
}

// A store that is opened again has what was stored, and only its owner can read
// the file. Nothing else is left beside it.
func TestReopen(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "sub folder", "tasks #1%.db")
	if err := os.Mkdir(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	s := open(t, file, nil)
	if err := s.Create(t.Context(), record("a", "ada"), 1); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(filepath.Dir(file))
	if err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("others can read it: %v, %v", info.Mode(), err)
	}
	link := filepath.Join(dir, "link.db")
	if err := os.Symlink(file, link); err != nil {
		t.Skip(err)
	}
	s, again := open(t, file, nil), open(t, link, nil)
	if r, err := again.Get(t.Context(), "a"); err != nil || r.Owner != "ada" {
		t.Errorf("%+v, %v", r, err)
	}
	if err := s.Renew(t.Context(), "r", time.Hour); err != nil {
		t.Fatal(err)
	}
	if alive, err := again.Alive(t.Context(), "r"); !alive || err != nil {
		t.Errorf("a runner of the same file by another name: %v, %v", alive, err)
	}
}

// A file of sessions is not taken for one of tasks, nor the other way round.
func TestOtherFiles(t *testing.T) {
	dir := t.TempDir()
	sessions, own, newer := filepath.Join(dir, "sessions.db"), filepath.Join(dir, "tasks.db"), filepath.Join(dir, "text.db")
	d, err := store.Open(sessions)
	if err != nil {
		t.Fatal(err)
	}
	d.Close()
	open(t, own, nil).Close()
	if err := os.WriteFile(newer, []byte(strings.Repeat("this is no database. ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := taskstore.Open(sessions, nil); err == nil || !strings.Contains(err.Error(), "does not hold tasks") {
		t.Errorf("a file of sessions: %v", err)
	}
	if _, err := store.Open(own); err == nil || !strings.Contains(err.Error(), "does not hold sessions") {
		t.Errorf("a file of tasks: %v", err)
	}
	if _, err := taskstore.Open(newer, nil); err == nil || !strings.Contains(err.Error(), "text.db") {
		t.Errorf("a file of text: %v", err)
	}
	if _, err := taskstore.Open(dir, nil); err == nil {
		t.Error("a directory is opened")
	}
	if _, err := taskstore.Open(filepath.Join(dir, "missing", "tasks.db"), nil); err == nil || !strings.Contains(err.Error(), "the folder does not exist") {
		t.Errorf("a file in a folder that is missing: %v", err)
	}
}

// A database of another program is refused, and stays as it is.
func TestDatabaseOfAnotherProgram(t *testing.T) {
	file := filepath.Join(t.TempDir(), "other.db")
	db, err := sql.Open("sqlite", "file:"+file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("CREATE TABLE customer (name TEXT)"); err != nil {
		t.Fatal(err)
	}
	db.Close()
	if err := os.Chmod(file, 0o640); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := taskstore.Open(file, nil); err == nil || !strings.Contains(err.Error(), "does not hold tasks") {
		t.Errorf("the database of another program: %v", err)
	}
	after, err := os.ReadFile(file)
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("the file was changed (%v)", err)
	}
	if info, err := os.Stat(file); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o640 {
		t.Errorf("the mode was changed: %v, %v", info.Mode(), err)
	}
}

// A file of tasks that others can read is closed to them.
func TestFileIsPrivate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files have no mode there")
	}
	file := filepath.Join(t.TempDir(), "tasks.db")
	open(t, file, nil).Close()
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	open(t, file, nil).Close()
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the mode is %v, %v", info.Mode(), err)
	}
}

// Expired tasks are removed from the file, also by a process that only looks on.
func TestExpiredTasksAreRemoved(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tasks.db")
	s := open(t, file, nil)
	const secret = "a-result-nobody-may-keep"
	for i := range 250 {
		r := record(fmt.Sprint(i), "ada")
		r.Task.StatusMessage = strings.Repeat(secret, 40)
		r.Expires = time.Now().Add(-time.Second)
		if i == 0 {
			r.Expires = time.Time{}
		}
		if err := s.Create(t.Context(), r, 1000); err != nil {
			t.Fatal(err)
		}
	}
	s.Close()
	before, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	s = open(t, file, &taskstore.Options{MaxBytes: before.Size()})
	for i := 0; ; i++ { // there is room again, without a larger file
		err := s.Create(t.Context(), record(fmt.Sprint("new-", i), "ada"), 1000)
		if errors.Is(err, tasks.ErrFull) {
			time.Sleep(10 * time.Millisecond) // until the sweep at the beginning
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		break
	}
	if _, err := s.Get(t.Context(), "0"); err != nil {
		t.Errorf("a task without an end: %v", err)
	}
}

func TestFileIsBounded(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tasks.db")
	s := open(t, file, &taskstore.Options{MaxBytes: 1 << 20})
	var last *tasks.Record
	for i := range 1000 {
		r := record(fmt.Sprint(i), "ada")
		r.Task.StatusMessage = strings.Repeat("x", 10000)
		err := s.Create(t.Context(), r, 1000)
		if errors.Is(err, tasks.ErrFull) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		last = r
	}
	if n, _ := strconv.Atoi(last.Task.ID); n < 50 || n > 150 {
		t.Errorf("%d tasks of 10,000 bytes fit into 1 MiB", n+1)
	}
	last.Task.Status, last.Task.Result = tasks.Completed, []byte(`"`+strings.Repeat("y", 100000)+`"`)
	if err := s.Update(t.Context(), last); err != nil {
		t.Errorf("a task that exists cannot end: %v", err)
	}
}

// A process whose Store was not closed leaves a file behind; the next one
// removes it, and knows that its runners are gone.
func TestFilesOfEndedProcessesAreRemoved(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tasks.db")
	open(t, file, nil).Close()
	if err := os.WriteFile(file+"-run-ENDED", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t, file, nil)
	entries, err := filepath.Glob(file + "-run-*")
	if err != nil || len(entries) != 1 || strings.HasSuffix(entries[0], "ENDED") {
		t.Errorf("%q, %v", entries, err)
	}
	s.Close()
}

// Several processes change one record: no change is lost.
func TestProcessesShareAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tasks.db")
	s := open(t, file, nil)
	if err := s.Create(t.Context(), record("a", ""), 1); err != nil {
		t.Fatal(err)
	}
	const processes = 3
	var all []*tasktest.Process
	for range processes {
		all = append(all, tasktest.Start(t, "count", file))
	}
	for _, c := range all {
		if err := c.Cmd.Wait(); err != nil {
			t.Errorf("%v: %s", err, c.Output())
		}
	}
	r, err := s.Get(t.Context(), "a")
	if err != nil || r.Task.StatusMessage != fmt.Sprint(processes*increments) || r.Version != processes*increments+1 {
		t.Errorf("%+v, %v", r, err)
	}
}

const increments = 100

// count increments the number in the record.
func count(file string) {
	s, err := taskstore.Open(file, nil)
	tasktest.Check(err)
	for n := 0; n < increments; {
		r, err := s.Get(context.Background(), "a")
		tasktest.Check(err)
		i, _ := strconv.Atoi(r.Task.StatusMessage)
		r.Task.StatusMessage = strconv.Itoa(i + 1)
		if err := s.Update(context.Background(), r); !errors.Is(err, tasks.ErrConflict) {
			tasktest.Check(err)
			n++
		}
	}
	tasktest.Check(s.Close())
}
