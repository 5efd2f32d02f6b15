package sql_test

import (
	stdsql "database/sql"
	"path/filepath"
	"testing"

	"github.com/tenon-mcp/tenon/builtin/sql"
)

// A file in WAL mode is read while another program writes to it, and when
// nobody has it open.
func TestSQLiteWAL(t *testing.T) {
	g := sqliteTarget(t)
	g.fresh(t)
	db, err := stdsql.Open("sqlite", g.dsn)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	for _, statement := range []string{"PRAGMA journal_mode=WAL", "BEGIN IMMEDIATE", "INSERT INTO people VALUES (4, 'Barbara', '')"} {
		if _, err := db.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	s := serve(t, sql.Config{DSN: g.dsn})
	count := func(when, want string) {
		t.Helper()
		if a := run(t, s, "SELECT count(*) FROM people"); a.failed || a.rows(t) != want {
			t.Errorf("%s: %s", when, a.text)
		}
	}
	count("before the other commits", "[[3]]")
	if _, err := db.Exec("COMMIT"); err != nil {
		t.Fatal(err)
	}
	count("after that", "[[4]]")
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	count("when nobody has it open", "[[4]]")
	files, _ := filepath.Glob(g.dsn + "*")
	t.Log("beside the file:", files)
	for _, statement := range []string{"DELETE FROM people", "PRAGMA journal_mode=DELETE", "PRAGMA wal_checkpoint"} {
		if a := run(t, s, statement); !a.failed {
			t.Errorf("%s: %s", statement, a.text)
		}
	}
	count("in the end", "[[4]]")
}
