//go:build unix

package sql_test

import (
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"github.com/tenon-mcp/tenon/builtin/sql"
)

// A disk without room is imitated by a limit on the size of files.
func TestSQLiteNoRoom(t *testing.T) {
	g := sqliteTarget(t)
	g.fresh(t)
	s := serve(t, sql.Config{DSN: g.dsn, Writes: true})
	before := g.state(t)
	info, err := os.Stat(g.dsn)
	if err != nil {
		t.Fatal(err)
	}
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	var old syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old); err != nil {
		t.Fatal(err)
	}
	tight := old
	tight.Cur = uint64(info.Size() + 8192)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &tight); err != nil {
		t.Fatal(err)
	}
	insert := map[string]any{"sql": "INSERT INTO notes VALUES (hex(zeroblob(100000)))", "confirm": true}
	full := call(t, s, "run_statement", insert)
	read := run(t, s, "SELECT count(*) FROM people")
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &old); err != nil {
		t.Fatal(err)
	}
	if !full.failed || !strings.Contains(full.text, "SQLite: disk I/O error") && !strings.Contains(full.text, "no space left") {
		t.Errorf("without room: %s", full.text)
	}
	if read.failed {
		t.Errorf("reading without room: %s", read.text)
	}
	if a := run(t, s, "SELECT count(*) FROM notes"); a.failed || a.rows(t) != "[[1]]" {
		t.Errorf("afterwards: %s", a.text)
	}
	if after := g.state(t); after != before {
		t.Errorf("half of it was kept:\n%s\n%s", after, before)
	}
	if a := call(t, s, "run_statement", insert); a.failed {
		t.Errorf("with room: %s", a.text)
	}
}
