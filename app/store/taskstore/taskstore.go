// Package taskstore keeps tasks in a SQLite file, so that they survive a
// restart of the server.
//
//	store, err := taskstore.Open("tasks.db", nil)
//	m, err := tasks.NewManager(s, &tasks.Options{Store: store})
//
// Several processes of one machine may share the file. Each locks a file beside
// it, named like it with -run- and an id, until it closes the store. Because the
// system releases the lock of a process that ends, however it ends, the others,
// and the next one, know at once which tasks were interrupted, and they never
// take a process that is merely slow for one that has ended.
package taskstore

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/app/store/internal/sqlitefile"
	"github.com/tenon-mcp/tenon/ext/tasks"
	"github.com/tenon-mcp/tenon/internal/safefile"
)

// Options configures a Store; nil means the defaults.
type Options struct {
	// MaxBytes is the size of the file at which new tasks are refused. Tasks
	// that exist may grow it further. 0 means 1 GiB.
	MaxBytes int64
	// Log receives errors of work in the background. Nil means slog.Default().
	Log *slog.Logger
}

const (
	// pollEvery is how often the store looks for changes by other processes
	// while tasks are watched.
	pollEvery = 100 * time.Millisecond
	// sweepEvery is how often expired tasks are removed.
	sweepEvery = 10 * time.Second
	// busyTimeout is how long one statement waits for the lock of another
	// process, and busyLimit how long a method does.
	busyTimeout = 50 * time.Millisecond
	busyLimit   = 5 * time.Second
	// sweepBatch is how many are removed in one transaction.
	sweepBatch = 100
)

// steps upgrade the file, see [sqlitefile.Format]. The clock counts changes, so
// that a process finds those of others; a result is apart from its record,
// which is read more often.
var steps = []string{
	`CREATE TABLE task (
		id TEXT PRIMARY KEY, owner TEXT NOT NULL, created INTEGER NOT NULL, expires INTEGER NOT NULL,
		version INTEGER NOT NULL, changed INTEGER NOT NULL, writer TEXT NOT NULL, data TEXT NOT NULL, result BLOB
	) STRICT;
	CREATE INDEX task_owner ON task (owner, created, id, expires);
	CREATE INDEX task_expires ON task (expires) WHERE expires > 0;
	CREATE INDEX task_changed ON task (changed);
	CREATE TABLE clock (n INTEGER NOT NULL) STRICT;
	INSERT INTO clock VALUES (0);
	CREATE TABLE runner (id TEXT PRIMARY KEY, process TEXT NOT NULL) STRICT;`,
	`CREATE INDEX task_open ON task (data ->> '$.runner') WHERE ` + open + `;`,
}

// A Store is a [tasks.Store] in a SQLite file. A change is on the disk before
// the method that made it returns.
type Store struct {
	opts    Options
	file    string
	db      *sql.DB
	writing chan struct{} // has room for the one writer of this process

	process string // identifies this Store among those that share the file
	release func() // ends the lock that says that this process exists

	watch   tasks.Watchers
	watched chan struct{} // has a token when a watch was added
	seen    int64         // the clock when changes were last looked for

	mu      sync.Mutex
	runners map[string]bool // that this Store has declared alive

	ctx   context.Context // ends when the store is closed
	stop  context.CancelFunc
	ended chan struct{} // closed when the work in the background has ended
}

var _ tasks.Store = (*Store)(nil)

// Open opens or creates a store in a file that only its owner can read. The
// caller closes the store after the servers that use it.
func Open(file string, o *Options) (*Store, error) {
	s := &Store{process: rand.Text(), writing: make(chan struct{}, 1), watched: make(chan struct{}, 1), runners: map[string]bool{}, ended: make(chan struct{})}
	if o != nil {
		s.opts = *o
	}
	if s.opts.MaxBytes <= 0 {
		s.opts.MaxBytes = 1 << 30
	}
	if s.opts.Log == nil {
		s.opts.Log = slog.Default()
	}
	var err error
	if s.db, err = sqlitefile.Open(file, sqlitefile.Format{Contents: "tasks", ID: 0x546e5461, Steps: steps, BusyTimeout: busyTimeout, Durable: true}); err != nil {
		return nil, err
	}
	s.ctx, s.stop = context.WithCancel(context.Background())
	// All processes find the locks beside the same file.
	if s.file, err = filepath.EvalSymlinks(file); err == nil {
		err = s.register()
	}
	if err != nil {
		s.stop()
		if s.release != nil {
			s.release()
		}
		return nil, errors.Join(s.wrap(err), s.db.Close())
	}
	go s.background()
	return s, nil
}

// lockFile returns the path of the file that a process holds.
func (s *Store) lockFile(process string) string { return s.file + "-run-" + process }

// register locks the file of this process, and forgets processes that have
// ended. A transaction keeps another process from taking the file for that of an
// ended one before it is locked.
func (s *Store) register() error {
	return s.write(s.ctx, func(tx *sql.Tx) error {
		if err := tx.QueryRow("SELECT n FROM clock").Scan(&s.seen); err != nil {
			return err
		}
		if err := s.forget(tx); err != nil {
			return err
		}
		if s.release != nil {
			return nil // the transaction is repeated
		}
		release, err := safefile.Hold(s.lockFile(s.process))
		s.release = release
		return err
	})
}

// forget removes the files and runners of processes that have ended.
func (s *Store) forget(tx *sql.Tx) error {
	entries, err := os.ReadDir(filepath.Dir(s.file))
	if err != nil {
		return err
	}
	prefix := filepath.Base(s.lockFile(""))
	held := []any{}
	for _, e := range entries {
		process, ok := strings.CutPrefix(e.Name(), prefix)
		if !ok {
			continue
		}
		exists, err := safefile.Held(s.lockFile(process))
		switch {
		case err != nil:
			return err
		case exists:
			held = append(held, process)
		default:
			os.Remove(s.lockFile(process))
		}
	}
	_, err = tx.Exec("DELETE FROM runner WHERE process NOT IN (''"+strings.Repeat(",?", len(held))+")", held...)
	return err
}

// Close closes the store. Tasks that are still running count as interrupted.
func (s *Store) Close() error {
	s.stop()
	<-s.ended
	err := s.db.Close()
	s.release()
	return s.wrap(err)
}

func (s *Store) wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", s.file, err)
}

// write runs f in a transaction, while no other transaction of this process
// writes: SQLite would make them wait for longer.
func (s *Store) write(ctx context.Context, f func(*sql.Tx) error) error {
	select {
	case s.writing <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-s.writing }()
	return patient(ctx, func() error {
		tx, err := s.db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		if err := f(tx); err != nil {
			return err
		}
		return tx.Commit()
	})
}

// patient calls f again while another process holds a lock.
func patient(ctx context.Context, f func() error) error {
	for began := time.Now(); ; {
		err := f()
		if !sqlitefile.IsBusy(err) || time.Since(began) > busyLimit {
			return err
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%w: %w", ctx.Err(), err)
		}
		time.Sleep(time.Millisecond)
	}
}
