package taskstore

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/tenon-mcp/tenon/ext/tasks"
	"github.com/tenon-mcp/tenon/internal/safefile"
	"github.com/tenon-mcp/tenon/mcp"
)

// live is the condition that a task has not expired; its parameter is the time.
const live = "(expires = 0 OR expires > ?)"

// open is the condition that a task has not ended.
const open = "data ->> '$.task.status' IN ('working', 'input_required')"

// encode returns the columns data, result and expires of a record.
func encode(r *tasks.Record) (data string, result []byte, expires int64, err error) {
	c := *r
	c.Task.Result = nil
	raw, err := mcp.Marshal(c)
	if !r.Expires.IsZero() {
		expires = max(r.Expires.UnixMilli(), 1)
	}
	return string(raw), r.Task.Result, expires, err
}

func decode(data string, result []byte, version int64) (*tasks.Record, error) {
	r := new(tasks.Record)
	if err := mcp.Unmarshal([]byte(data), r); err != nil {
		return nil, err
	}
	r.Task.Result, r.Version = result, version
	return r, nil
}

// Create implements [tasks.Store].
func (s *Store) Create(ctx context.Context, r *tasks.Record, most int) error {
	data, result, expires, err := encode(r)
	if err != nil {
		return err
	}
	err = s.write(ctx, func(tx *sql.Tx) error {
		var n int
		var size int64
		if err := tx.QueryRow("SELECT count(*) FROM task WHERE owner = ? AND "+live, r.Owner, time.Now().UnixMilli()).Scan(&n); err != nil {
			return err
		}
		if n >= most {
			return tasks.ErrTooMany
		}
		const used = "SELECT (p.page_count - f.freelist_count) * s.page_size FROM pragma_page_count p, pragma_freelist_count f, pragma_page_size s"
		if err := tx.QueryRow(used).Scan(&size); err != nil {
			return err
		}
		if size+int64(len(data)+len(result)) > s.opts.MaxBytes {
			return tasks.ErrFull
		}
		now, err := tick(tx)
		if err != nil {
			return err
		}
		res, err := tx.Exec("INSERT INTO task (id, owner, created, expires, version, changed, writer, data, result) VALUES (?,?,?,?,1,?,?,?,?) ON CONFLICT DO NOTHING",
			r.Task.ID, r.Owner, r.Task.CreatedAt.UnixMilli(), expires, now, s.process, data, result)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); n == 0 || err != nil {
			return errors.Join(tasks.ErrConflict, err)
		}
		return nil
	})
	if err != nil {
		return s.wrap(err)
	}
	r.Version = 1
	return nil
}

// tick counts a change.
func tick(tx *sql.Tx) (now int64, err error) {
	return now, tx.QueryRow("UPDATE clock SET n = n + 1 RETURNING n").Scan(&now)
}

// Get implements [tasks.Store].
func (s *Store) Get(ctx context.Context, id string) (*tasks.Record, error) {
	var data string
	var result []byte
	var version int64
	err := patient(ctx, func() error {
		return s.db.QueryRowContext(ctx, "SELECT data, result, version FROM task WHERE id = ? AND "+live, id, time.Now().UnixMilli()).Scan(&data, &result, &version)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return nil, tasks.ErrNotFound
	}
	if err != nil {
		return nil, s.wrap(err)
	}
	r, err := decode(data, result, version)
	return r, s.wrap(err)
}

// Left implements [tasks.Store].
func (s *Store) Left(ctx context.Context, id string) (time.Duration, error) {
	r, err := s.Get(ctx, id)
	if err != nil || r.Expires.IsZero() {
		return 0, err
	}
	return max(time.Until(r.Expires), time.Millisecond), nil
}

// Update implements [tasks.Store].
func (s *Store) Update(ctx context.Context, r *tasks.Record) error {
	data, result, expires, err := encode(r)
	if err != nil {
		return err
	}
	err = s.write(ctx, func(tx *sql.Tx) error {
		now := time.Now().UnixMilli()
		var version int64
		switch err := tx.QueryRow("SELECT version FROM task WHERE id = ? AND "+live, r.Task.ID, now).Scan(&version); {
		case errors.Is(err, sql.ErrNoRows):
			return tasks.ErrNotFound
		case err != nil:
			return err
		case version != r.Version:
			return tasks.ErrConflict
		}
		changed, err := tick(tx)
		if err != nil {
			return err
		}
		_, err = tx.Exec("UPDATE task SET version = version + 1, changed = ?, writer = ?, expires = ?, data = ?, result = ? WHERE id = ?",
			changed, s.process, expires, data, result, r.Task.ID)
		return err
	})
	if err != nil {
		return s.wrap(err)
	}
	r.Version++
	s.watch.Notify(r.Task.ID)
	return nil
}

// List implements [tasks.Store].
func (s *Store) List(ctx context.Context, owner string, after tasks.Cursor, limit int) (all []*tasks.Record, err error) {
	created := int64(-1 << 62)
	if after.ID != "" {
		created = after.Created.UnixMilli()
	}
	err = patient(ctx, func() error {
		all, err = list(s.db.QueryContext(ctx, "SELECT data, version FROM task WHERE owner = ? AND (created, id) > (?, ?) AND "+live+" ORDER BY created, id LIMIT ?",
			owner, created, after.ID, time.Now().UnixMilli(), limit))
		return err
	})
	return all, s.wrap(err)
}

// list reads the records in rows.
func list(rows *sql.Rows, err error) ([]*tasks.Record, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []*tasks.Record
	for rows.Next() {
		var data string
		var version int64
		if err := rows.Scan(&data, &version); err != nil {
			return nil, err
		}
		r, err := decode(data, nil, version)
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, rows.Err()
}

// Renew implements [tasks.Store]. How long ago it was called does not matter:
// a runner is alive until it stops, or its process ends.
func (s *Store) Renew(ctx context.Context, runner string, d time.Duration) error {
	s.mu.Lock()
	declared := s.runners[runner]
	s.mu.Unlock()
	alive := d > 0
	if declared == alive {
		return nil
	}
	err := s.write(ctx, func(tx *sql.Tx) (err error) {
		if alive {
			_, err = tx.Exec("INSERT OR REPLACE INTO runner (id, process) VALUES (?,?)", runner, s.process)
		} else {
			_, err = tx.Exec("DELETE FROM runner WHERE id = ?", runner)
		}
		return err
	})
	if err != nil {
		return s.wrap(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if alive {
		s.runners[runner] = true
	} else {
		delete(s.runners, runner)
	}
	return nil
}

// Alive implements [tasks.Store].
func (s *Store) Alive(ctx context.Context, runner string) (bool, error) {
	var process string
	err := patient(ctx, func() error {
		return s.db.QueryRowContext(ctx, "SELECT process FROM runner WHERE id = ?", runner).Scan(&process)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, s.wrap(err)
	}
	if process == s.process {
		return true, nil
	}
	held, err := safefile.Held(s.lockFile(process))
	return held, s.wrap(err)
}

// Interrupted implements [tasks.Store].
func (s *Store) Interrupted(ctx context.Context, limit int) (ids []string, err error) {
	var runners []string
	err = patient(ctx, func() error {
		runners, err = texts(s.db.QueryContext(ctx, "SELECT DISTINCT data ->> '$.runner' FROM task WHERE "+open))
		return err
	})
	if err != nil {
		return nil, s.wrap(err)
	}
	for _, runner := range runners {
		alive, err := s.Alive(ctx, runner)
		if err != nil {
			return nil, err
		}
		if alive || len(ids) >= limit {
			continue
		}
		var some []string
		err = patient(ctx, func() error {
			some, err = texts(s.db.QueryContext(ctx, "SELECT id FROM task WHERE "+open+" AND data ->> '$.runner' = ? AND "+live+" LIMIT ?",
				runner, time.Now().UnixMilli(), limit-len(ids)))
			return err
		})
		if err != nil {
			return nil, s.wrap(err)
		}
		ids = append(ids, some...)
	}
	return ids, nil
}

// texts reads rows of one text each.
func texts(rows *sql.Rows, err error) (all []string, _ error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, err
		}
		all = append(all, text)
	}
	return all, rows.Err()
}
