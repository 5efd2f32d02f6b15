// Package store saves the sessions of a host in one SQLite file.
//
// Several processes may use the same file. A file of a newer Tenon is refused.
package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/tenon-mcp/tenon/app/host"
	"github.com/tenon-mcp/tenon/app/store/internal/sqlitefile"
)

// A DB is an open store. It is a [host.Store].
type DB struct {
	db   *sql.DB
	file string
}

// steps upgrade a file from one version to the next; the version is the number of
// steps applied.
var steps = []string{
	`CREATE TABLE session (
		id TEXT PRIMARY KEY, title TEXT NOT NULL, created INTEGER NOT NULL, changed INTEGER NOT NULL,
		model TEXT NOT NULL, turns INTEGER NOT NULL, usage TEXT NOT NULL, data TEXT NOT NULL
	) STRICT;
	CREATE INDEX session_changed ON session (changed DESC);`,
	// Messages and kept results become rows, so that a growing session is not
	// written again; and a session has an owner.
	`ALTER TABLE session ADD COLUMN folder TEXT NOT NULL DEFAULT '';
	ALTER TABLE session ADD COLUMN oneshot INTEGER NOT NULL DEFAULT 0;
	ALTER TABLE session ADD COLUMN owner TEXT NOT NULL DEFAULT '';
	ALTER TABLE session ADD COLUMN owner_id TEXT NOT NULL DEFAULT '';
	CREATE TABLE message (
		session TEXT NOT NULL REFERENCES session (id) ON DELETE CASCADE, seq INTEGER NOT NULL, data TEXT NOT NULL, PRIMARY KEY (session, seq)
	) STRICT;
	CREATE TABLE handle (
		session TEXT NOT NULL REFERENCES session (id) ON DELETE CASCADE, name TEXT NOT NULL, data TEXT NOT NULL, PRIMARY KEY (session, name)
	) STRICT;
	INSERT INTO message SELECT s.id, m.key, m.value FROM session s, json_each(s.data, '$.messages') m;
	INSERT INTO handle SELECT s.id, h.key, h.value FROM session s, json_each(s.data, '$.handles') h WHERE h.type = 'object';
	UPDATE session SET data = json_remove(data, '$.messages', '$.handles');`,
}

// Open opens or creates the store in a file that only its owner can read.
func Open(file string) (*DB, error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, err
	}
	db, err := sqlitefile.Open(file, sqlitefile.Format{Contents: "sessions", Steps: steps})
	if err != nil {
		return nil, err
	}
	return &DB{db, file}, nil
}

func (d *DB) wrap(err error) error {
	if _, elsewhere := errors.AsType[*host.OpenElsewhereError](err); err == nil || elsewhere || errors.Is(err, host.ErrNoSession) {
		return err
	}
	return fmt.Errorf("%s: %w", d.file, err)
}

// Close closes the store.
func (d *DB) Close() error { return d.wrap(d.db.Close()) }

// Save writes the changes of a session. It fails with a *host.OpenElsewhereError
// if the session has another owner, and with host.ErrNoSession if it was deleted.
func (d *DB) Save(u *host.Update) error {
	data, err := json.Marshal(u.Saved)
	if err != nil {
		return err
	}
	usage, err := json.Marshal(u.Usage)
	if err != nil {
		return err
	}
	owner, err := json.Marshal(u.Owner)
	if err != nil {
		return err
	}
	return d.change(func(tx *sql.Tx) error {
		if u.New {
			_, err = tx.Exec(`INSERT INTO session (id, title, created, changed, model, turns, usage, data, folder, oneshot, owner, owner_id) VALUES (?,?,?,?,?,?,?,?,?,?,?,?)`,
				u.ID, u.Title, u.Created.UnixMicro(), u.Changed.UnixMicro(), u.Model, u.Turns, string(usage), string(data), u.Folder, u.OneShot, string(owner), u.Owner.ID)
		} else if err = owned(tx, u.ID, u.Owner); err == nil {
			_, err = tx.Exec(`UPDATE session SET title=?, changed=?, model=?, turns=?, usage=?, data=?, oneshot=? WHERE id = ?`,
				u.Title, u.Changed.UnixMicro(), u.Model, u.Turns, string(usage), string(data), u.OneShot, u.ID)
		}
		if err != nil {
			return err
		}
		return writeRows(tx, u)
	})
}

// owned fails unless o owns the session.
func owned(tx *sql.Tx, id string, o host.Owner) error {
	now, err := ownerOf(tx, id)
	if err == nil && now.ID != o.ID {
		err = &host.OpenElsewhereError{Session: id, Owner: now}
	}
	return err
}

func ownerOf(tx querier, id string) (o host.Owner, err error) {
	var raw string
	if err := tx.QueryRow("SELECT owner FROM session WHERE id = ?", id).Scan(&raw); err != nil {
		return o, missing(id, err)
	}
	if raw == "" {
		return o, nil
	}
	return o, json.Unmarshal([]byte(raw), &o)
}

// A querier is a database or a transaction.
type querier interface {
	QueryRow(query string, args ...any) *sql.Row
}

// Owner returns the owner of a session.
func (d *DB) Owner(id string) (host.Owner, error) {
	o, err := ownerOf(d.db, id)
	return o, d.wrap(err)
}

func missing(id string, err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("session %s: %w", id, host.ErrNoSession)
	}
	return err
}

func writeRows(tx *sql.Tx, u *host.Update) error {
	for _, seq := range u.Drop {
		if _, err := tx.Exec("DELETE FROM message WHERE session = ? AND seq = ?", u.ID, seq); err != nil {
			return err
		}
	}
	for _, r := range u.Rows {
		data, err := json.Marshal(r.Message)
		if err != nil {
			return err
		}
		if _, err := tx.Exec("INSERT OR REPLACE INTO message (session, seq, data) VALUES (?,?,?)", u.ID, r.Seq, string(data)); err != nil {
			return err
		}
	}
	for name, data := range u.Handles {
		if _, err := tx.Exec("INSERT OR REPLACE INTO handle (session, name, data) VALUES (?,?,?)", u.ID, name, string(data)); err != nil {
			return err
		}
	}
	return nil
}

// change runs f in a transaction.
func (d *DB) change(f func(*sql.Tx) error) error {
	tx, err := d.db.Begin()
	if err != nil {
		return d.wrap(err)
	}
	defer tx.Rollback()
	if err := f(tx); err != nil {
		return d.wrap(err)
	}
	return d.wrap(tx.Commit())
}

// Claim makes o the owner of a session and returns the session.
func (d *DB) Claim(id string, o host.Owner, takeOver bool) (s *host.Saved, err error) {
	raw, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	err = d.change(func(tx *sql.Tx) error {
		now, err := ownerOf(tx, id)
		if err != nil {
			return err
		}
		if now.ID != o.ID && !takeOver && now.Alive() {
			return &host.OpenElsewhereError{Session: id, Owner: now}
		}
		if _, err := tx.Exec("UPDATE session SET owner = ?, owner_id = ? WHERE id = ?", string(raw), o.ID, id); err != nil {
			return err
		}
		s, err = load(tx, id)
		return err
	})
	return s, err
}

// Release ends the ownership of o, if it is the owner.
func (d *DB) Release(id string, o host.Owner) error {
	_, err := d.db.Exec("UPDATE session SET owner = '', owner_id = '' WHERE id = ? AND owner_id = ?", id, o.ID)
	return d.wrap(err)
}

// Load returns a session.
func (d *DB) Load(id string) (s *host.Saved, err error) {
	tx, err := d.db.BeginTx(context.Background(), &sql.TxOptions{ReadOnly: true}) // a snapshot
	if err != nil {
		return nil, d.wrap(err)
	}
	defer tx.Rollback()
	s, err = load(tx, id)
	return s, d.wrap(err)
}

func load(tx *sql.Tx, id string) (*host.Saved, error) {
	var data string
	if err := tx.QueryRow("SELECT data FROM session WHERE id = ?", id).Scan(&data); err != nil {
		return nil, missing(id, err)
	}
	var s host.Saved
	if err := json.Unmarshal([]byte(data), &s); err != nil {
		return nil, fmt.Errorf("read session %s: %w", id, err)
	}
	s.Handles = map[string]json.RawMessage{}
	err := each(tx, "SELECT seq, data FROM message WHERE session = ? ORDER BY seq", id, func(seq int64, data string) error {
		r := host.Row{Seq: seq}
		s.Rows = append(s.Rows, r)
		return json.Unmarshal([]byte(data), &s.Rows[len(s.Rows)-1].Message)
	})
	if err != nil {
		return nil, fmt.Errorf("read session %s: %w", id, err)
	}
	err = each(tx, "SELECT name, data FROM handle WHERE session = ?", id, func(name, data string) error {
		s.Handles[name] = json.RawMessage(data)
		return nil
	})
	return &s, err
}

// each calls f with the two columns of every row.
func each[K any](tx *sql.Tx, query, id string, f func(key K, data string) error) error {
	rows, err := tx.Query(query, id)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var key K
		var data string
		if err := rows.Scan(&key, &data); err != nil {
			return err
		}
		if err := f(key, data); err != nil {
			return err
		}
	}
	return rows.Err()
}

// List returns the sessions, latest first.
func (d *DB) List() ([]host.Summary, error) {
	rows, err := d.db.Query("SELECT id, title, created, changed, model, turns, usage, folder, oneshot FROM session ORDER BY changed DESC, id DESC")
	if err != nil {
		return nil, d.wrap(err)
	}
	defer rows.Close()
	var all []host.Summary
	for rows.Next() {
		var s host.Summary
		var created, changed int64
		var usage string
		if err := rows.Scan(&s.ID, &s.Title, &created, &changed, &s.Model, &s.Turns, &usage, &s.Folder, &s.OneShot); err != nil {
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

// Delete deletes a session, if it exists.
func (d *DB) Delete(id string) error {
	_, err := d.db.Exec("DELETE FROM session WHERE id = ?", id)
	return d.wrap(err)
}
