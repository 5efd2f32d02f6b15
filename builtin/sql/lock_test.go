package sql_test

import (
	stdsql "database/sql"
	"testing"

	_ "modernc.org/sqlite"
)

// lockSQLite locks a file as another program would.
func lockSQLite(t *testing.T, file string) (unlock func()) {
	t.Helper()
	db, err := stdsql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("BEGIN EXCLUSIVE"); err != nil {
		t.Fatal(err)
	}
	return func() {
		if _, err := db.Exec("ROLLBACK"); err != nil {
			t.Error(err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}
