package taskstore_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"testing"
	"time"
)

// While another process holds the lock of the file, tasks can be read; a change
// waits until its context ends, and changes nothing then.
func TestLockedFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tasks.db")
	s := open(t, file, nil)
	r := record("a", "ada")
	if err := s.Create(t.Context(), r, 10); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	c, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := s.Update(ctx, r); !errors.Is(err, context.DeadlineExceeded) || r.Version != 1 { // SQLite alone would wait for 5 s
		t.Errorf("version %d, %v", r.Version, err)
	}
	if got, err := s.Get(t.Context(), "a"); err != nil || got.Version != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := c.ExecContext(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if err := s.Update(t.Context(), r); err != nil || r.Version != 2 {
		t.Errorf("when the lock is released: version %d, %v", r.Version, err)
	}
}
