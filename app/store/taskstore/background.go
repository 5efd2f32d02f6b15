package taskstore

import (
	"database/sql"
	"time"
)

// Watch implements [tasks.Store]. It reports changes by other processes within
// about 100 milliseconds, and those by this one at once.
func (s *Store) Watch(id string, changed func()) (stop func()) {
	stop = s.watch.Watch(id, changed)
	select {
	case s.watched <- struct{}{}:
	default:
	}
	return stop
}

// background looks for changes by other processes while tasks are watched, and
// removes expired tasks.
func (s *Store) background() {
	defer close(s.ended)
	var swept time.Time
	failing := false
	for pause := time.Duration(0); ; {
		select {
		case <-s.ctx.Done():
			return
		case <-s.watched:
		case <-time.After(pause):
		}
		if pause = sweepEvery; s.watch.Any() {
			pause = pollEvery
		}
		err := s.poll()
		if err == nil && time.Since(swept) >= sweepEvery {
			swept = time.Now()
			err = s.sweep()
		}
		if err != nil && s.ctx.Err() == nil && !failing {
			s.opts.Log.Warn("tasks: look for changes in the task store", "error", s.wrap(err))
		}
		failing = err != nil
	}
}

// poll calls the functions that watch tasks that other processes have changed.
func (s *Store) poll() error {
	if !s.watch.Any() {
		return nil // what changes meanwhile is found at the next call
	}
	var now int64
	if err := s.db.QueryRowContext(s.ctx, "SELECT n FROM clock").Scan(&now); err != nil || now == s.seen {
		return err
	}
	ids, err := texts(s.db.QueryContext(s.ctx, "SELECT id FROM task WHERE changed > ? AND changed <= ? AND writer <> ?", s.seen, now, s.process))
	if err != nil {
		return err
	}
	s.seen = now
	for _, id := range ids {
		s.watch.Notify(id)
	}
	return nil
}

// sweep removes expired tasks. It writes only if there are any, because all
// processes sweep.
func (s *Store) sweep() error {
	for {
		now := time.Now().UnixMilli()
		var any bool
		if err := s.db.QueryRowContext(s.ctx, "SELECT EXISTS (SELECT 1 FROM task WHERE expires > 0 AND expires <= ?)", now).Scan(&any); err != nil || !any {
			return err
		}
		err := s.write(s.ctx, func(tx *sql.Tx) error {
			_, err := tx.Exec("DELETE FROM task WHERE id IN (SELECT id FROM task WHERE expires > 0 AND expires <= ? ORDER BY expires LIMIT ?)", now, sweepBatch)
			return err
		})
		if err != nil {
			return err
		}
	}
}
