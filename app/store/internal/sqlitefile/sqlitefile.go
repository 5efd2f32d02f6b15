// Package sqlitefile opens SQLite files that several processes share and
// upgrades them to the current version.
package sqlitefile

import (
	"cmp"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// A Format describes the contents of a file.
type Format struct {
	// Contents names the contents in errors, such as "sessions".
	Contents string
	// ID tells files of different formats apart.
	ID int32
	// Steps upgrade a file from one version to the next; the version is the
	// number of steps applied.
	Steps []string
	// BusyTimeout is how long a statement waits for the lock of another process,
	// whatever its context; see [IsBusy]. 0 means 5 seconds.
	BusyTimeout time.Duration
	// Durable makes every commit wait until the disk has it. Otherwise a commit
	// survives the end of the process, but perhaps not that of the machine.
	Durable bool
}

// maxBusy is how long Open waits for the locks of other processes.
const maxBusy = 5 * time.Second

// IsBusy reports whether a statement failed because another process holds a
// lock.
func IsBusy(err error) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	return ok && e.Code()&0xff == sqlite3.SQLITE_BUSY
}

// Open opens or creates a file that only its owner can read. It fails if the
// file has another format or was written by a newer Tenon.
func Open(file string, f Format) (*sql.DB, error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, err
	}
	created, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o600) // SQLite would make it readable by all
	if err != nil {
		return nil, err
	}
	created.Close()
	abs, err := filepath.Abs(file)
	if err != nil {
		return nil, err
	}
	busy := cmp.Or(f.BusyTimeout, maxBusy)
	synchronous := "NORMAL"
	if f.Durable {
		synchronous = "FULL"
	}
	name := (&url.URL{Scheme: "file", Path: filepath.ToSlash(abs), RawQuery: fmt.Sprintf("_pragma=busy_timeout(%d)", busy.Milliseconds()) + "&_pragma=journal_mode(WAL)&_pragma=synchronous(" + synchronous + ")&_pragma=foreign_keys(1)&_txlock=immediate"}).String()
	db, err := sql.Open("sqlite", name)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(4)
	began := time.Now()
	for err = f.migrate(db); IsBusy(err) && time.Since(began) < maxBusy; {
		err = f.migrate(db)
	}
	if err != nil {
		db.Close()
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return db, nil
}

func (f *Format) migrate(db *sql.DB) error {
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback()
	var version int
	var id int32
	if err := tx.QueryRow("PRAGMA user_version").Scan(&version); err != nil {
		return err
	}
	if err := tx.QueryRow("PRAGMA application_id").Scan(&id); err != nil {
		return err
	}
	switch {
	case version > 0 && id != f.ID:
		return fmt.Errorf("the file does not hold %s: use another file", f.Contents)
	case version > len(f.Steps):
		return fmt.Errorf("written by a newer Tenon (version %d, this one knows %d): use that one, or another file", version, len(f.Steps))
	case version == len(f.Steps):
		return nil
	}
	if _, err := tx.Exec(fmt.Sprintf("PRAGMA application_id = %d", f.ID)); err != nil {
		return err
	}
	for i, step := range f.Steps[version:] {
		if _, err := tx.Exec(step); err != nil {
			return err
		}
		if _, err := tx.Exec(fmt.Sprintf("PRAGMA user_version = %d", version+i+1)); err != nil {
			return err
		}
	}
	return tx.Commit()
}
