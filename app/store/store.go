// Package store keeps what must outlive a process in one SQLite file: for now
// the conversations of a host and what they have cost.
//
// Several processes may use the same file. A file of a newer Tenon is refused,
// not damaged.
package store

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	_ "modernc.org/sqlite" // the driver

	"github.com/tenon-mcp/tenon/app/host"
	"github.com/tenon-mcp/tenon/app/llm"
)

// A DB is an open store. It is a [host.Store].
type DB struct {
	db   *sql.DB
	file string
}

// steps bring a file from one version to the next; the version is how many of
// them it has had.
var steps = []string{
	`CREATE TABLE session (
		id TEXT PRIMARY KEY, title TEXT NOT NULL, created INTEGER NOT NULL, changed INTEGER NOT NULL,
		model TEXT NOT NULL, turns INTEGER NOT NULL, usage TEXT NOT NULL, data TEXT NOT NULL
	) STRICT;
	CREATE INDEX session_changed ON session (changed DESC);`,
}

// Open opens the store in a file, and makes it if need be. Only its owner can
// read it.
func Open(file string) (*DB, error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o600) // SQLite would make it readable for all
	if err != nil {
		return nil, err
	}
	f.Close()
	abs, err := filepath.Abs(file)
	if err != nil {
		return nil, err
	}
	name := (&url.URL{Scheme: "file", Path: filepath.ToSlash(abs), RawQuery: "_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)&_txlock=immediate"}).String()
	db, err := sql.Open("sqlite", name)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(4)
	d := &DB{db, file}
	if err := d.migrate(); err != nil {
		db.Close()
		return nil, err
	}
	return d, nil
}

func (d *DB) migrate() error {
	tx, err := d.db.Begin()
	if err != nil {
		return d.wrap(err)
	}
	defer tx.Rollback()
	var version int
	if err := tx.QueryRow("PRAGMA user_version").Scan(&version); err != nil {
		return d.wrap(err)
	}
	if version > len(steps) {
		return fmt.Errorf("%s was written by a newer Tenon (version %d, this one knows %d): use that one, or another file", d.file, version, len(steps))
	}
	for i, step := range steps[version:] {
		if _, err := tx.Exec(step); err != nil {
			return d.wrap(err)
		}
		if _, err := tx.Exec(fmt.Sprintf("PRAGMA user_version = %d", version+i+1)); err != nil {
			return d.wrap(err)
		}
	}
	return d.wrap(tx.Commit())
}

func (d *DB) wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", d.file, err)
}

// Close closes the store.
func (d *DB) Close() error { return d.wrap(d.db.Close()) }

// Save keeps a session, in place of what was kept of it before.
func (d *DB) Save(s *host.Saved) error {
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	usage, err := json.Marshal(s.Usage)
	if err != nil {
		return err
	}
	turns := 0
	for _, m := range s.Messages {
		if m.Role == llm.RoleUser {
			turns++
		}
	}
	_, err = d.db.Exec(`INSERT INTO session (id, title, created, changed, model, turns, usage, data) VALUES (?,?,?,?,?,?,?,?)
		ON CONFLICT (id) DO UPDATE SET title=excluded.title, changed=excluded.changed, model=excluded.model, turns=excluded.turns, usage=excluded.usage, data=excluded.data`,
		s.ID, s.Title, s.Created.UnixMicro(), s.Changed.UnixMicro(), s.Model, turns, string(usage), string(data))
	return d.wrap(err)
}

// Load returns a session.
func (d *DB) Load(id string) (*host.Saved, error) {
	var data string
	err := d.db.QueryRow("SELECT data FROM session WHERE id = ?", id).Scan(&data)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("there is no session %s", id)
	}
	if err != nil {
		return nil, d.wrap(err)
	}
	var s host.Saved
	if err := json.Unmarshal([]byte(data), &s); err != nil {
		return nil, fmt.Errorf("session %s cannot be read: %w", id, err)
	}
	return &s, nil
}

// List returns the sessions, the latest first.
func (d *DB) List() ([]host.Summary, error) {
	rows, err := d.db.Query("SELECT id, title, created, changed, model, turns, usage FROM session ORDER BY changed DESC, id DESC")
	if err != nil {
		return nil, d.wrap(err)
	}
	defer rows.Close()
	var all []host.Summary
	for rows.Next() {
		var s host.Summary
		var created, changed int64
		var usage string
		if err := rows.Scan(&s.ID, &s.Title, &created, &changed, &s.Model, &s.Turns, &usage); err != nil {
			return nil, d.wrap(err)
		}
		if err := json.Unmarshal([]byte(usage), &s.Usage); err != nil {
			return nil, fmt.Errorf("session %s: %w", s.ID, err)
		}
		s.Created, s.Changed = time.UnixMicro(created), time.UnixMicro(changed)
		all = append(all, s)
	}
	return all, d.wrap(rows.Err())
}

// Delete forgets a session. One that is not there is no error.
func (d *DB) Delete(id string) error {
	_, err := d.db.Exec("DELETE FROM session WHERE id = ?", id)
	return d.wrap(err)
}
