package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
)

// ErrInUse reports that another process has a file open.
var ErrInUse = errors.New("another process has it open")

// Merge moves the sessions of one file into another, removes the first file, and
// returns the number of moved sessions. A session in both files stays as in the
// second. If another process has the first file open, the error wraps ErrInUse
// and nothing is moved.
func Merge(ctx context.Context, from, to string) (moved int, err error) {
	if err := fold(ctx, from); err != nil {
		return 0, err
	}
	d, err := Open(to)
	if err != nil {
		return 0, err
	}
	moved, err = d.copyFrom(ctx, from)
	if err = errors.Join(err, d.Close()); err != nil {
		return 0, err
	}
	return moved, os.Remove(from)
}

// fold upgrades a file and merges its write-ahead log, which SQLite does only if
// no other process has the file open.
func fold(ctx context.Context, file string) error {
	d, err := Open(file)
	if err != nil {
		return err
	}
	d.db.SetMaxOpenConns(1)
	var mode string
	_, err = d.db.ExecContext(ctx, "PRAGMA busy_timeout = 0")
	if err == nil {
		err = d.db.QueryRowContext(ctx, "PRAGMA journal_mode = DELETE").Scan(&mode)
	}
	if err = errors.Join(err, d.Close()); err != nil || mode != "delete" {
		return fmt.Errorf("%s: %w", file, errors.Join(ErrInUse, err))
	}
	return nil
}

// copyFrom inserts the sessions of another file that this one does not have.
func (d *DB) copyFrom(ctx context.Context, file string) (int, error) {
	c, err := d.db.Conn(ctx) // an attached file belongs to one connection
	if err != nil {
		return 0, d.wrap(err)
	}
	defer c.Close()
	if _, err := c.ExecContext(ctx, "ATTACH DATABASE ? AS other", file); err != nil {
		return 0, d.wrap(err)
	}
	n, err := copyRows(ctx, c)
	_, detach := c.ExecContext(ctx, "DETACH DATABASE other")
	return n, d.wrap(errors.Join(err, detach))
}

func copyRows(ctx context.Context, c *sql.Conn) (int, error) {
	tx, err := c.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer tx.Rollback()
	for _, q := range []string{
		"CREATE TEMP TABLE moving AS SELECT id FROM other.session WHERE id NOT IN (SELECT id FROM main.session)",
		`INSERT INTO main.session (id, title, created, changed, model, turns, usage, data, folder, oneshot, owner, owner_id)
			SELECT id, title, created, changed, model, turns, usage, data, folder, oneshot, owner, owner_id FROM other.session WHERE id IN moving`,
		"INSERT INTO main.message (session, seq, data) SELECT session, seq, data FROM other.message WHERE session IN moving",
		"INSERT INTO main.handle (session, name, data) SELECT session, name, data FROM other.handle WHERE session IN moving",
	} {
		if _, err := tx.ExecContext(ctx, q); err != nil {
			return 0, err
		}
	}
	var n int
	if err := tx.QueryRowContext(ctx, "SELECT count(*) FROM moving").Scan(&n); err != nil {
		return 0, err
	}
	if _, err := tx.ExecContext(ctx, "DROP TABLE moving"); err != nil {
		return 0, err
	}
	return n, tx.Commit()
}
