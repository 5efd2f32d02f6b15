// Package sqlitefile opens SQLite files that several processes share and
// upgrades them to the current version.
package sqlitefile

import (
	"cmp"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
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

// Open opens or creates a file that only its owner can read; one that others can
// read is made so. It fails if the folder does not exist, or if the file has
// another format or was written by a newer Tenon; then it changes nothing.
func Open(file string, f Format) (*sql.DB, error) {
	created, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o600) // SQLite would make it readable by all
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("create %s: the folder does not exist: %w", file, fs.ErrNotExist)
	}
	if err != nil {
		return nil, err
	}
	info, err := created.Stat()
	created.Close()
	if err != nil {
		return nil, err
	}
	abs, err := filepath.Abs(file)
	if err != nil {
		return nil, err
	}
	if info.Size() > 0 {
		if err := f.checkFile(abs); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		if err := os.Chmod(file, 0o600); err != nil {
			return nil, fmt.Errorf("%s is accessible to other users: %w", file, err)
		}
	}
	busy := cmp.Or(f.BusyTimeout, maxBusy)
	synchronous := "NORMAL"
	if f.Durable {
		synchronous = "FULL"
	}
	db, err := sql.Open("sqlite", address(abs, fmt.Sprintf("_pragma=busy_timeout(%d)&_pragma=journal_mode(WAL)&_pragma=synchronous(%s)&_pragma=foreign_keys(1)&_txlock=immediate", busy.Milliseconds(), synchronous)))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(4)
	if err := retry(func() error { return f.migrate(db) }); err != nil {
		db.Close()
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return db, nil
}

func address(abs, query string) string {
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(abs), RawQuery: query}).String()
}

// retry calls f again while another process holds a lock.
func retry(f func() error) error {
	began := time.Now()
	err := f()
	for IsBusy(err) && time.Since(began) < maxBusy {
		err = f()
	}
	return err
}

// checkFile checks the format of a file without changing it.
func (f *Format) checkFile(abs string) error {
	db, err := sql.Open("sqlite", address(abs, "_pragma=busy_timeout(50)"))
	if err != nil {
		return err
	}
	defer db.Close()
	return retry(func() error {
		tx, err := db.Begin()
		if err != nil {
			return err
		}
		defer tx.Rollback()
		_, err = f.version(tx)
		return err
	})
}

// version returns the version of a file; 0 if it is empty.
func (f *Format) version(tx *sql.Tx) (version int, err error) {
	var id int32
	var tables int
	if err := tx.QueryRow("PRAGMA user_version").Scan(&version); err != nil {
		return 0, err
	}
	if err := tx.QueryRow("PRAGMA application_id").Scan(&id); err != nil {
		return 0, err
	}
	if err := tx.QueryRow("SELECT count(*) FROM sqlite_schema").Scan(&tables); err != nil {
		return 0, err
	}
	switch {
	case version > 0 && id != f.ID, version == 0 && tables > 0:
		return 0, fmt.Errorf("the file does not hold %s: use another file", f.Contents)
	case version > len(f.Steps):
		return 0, fmt.Errorf("written by a newer Tenon (version %d, this one knows %d): use that one, or another file", version, len(f.Steps))
	}
	return version, nil
}

func (f *Format) migrate(db *sql.DB) error {
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback()
	version, err := f.version(tx)
	if err != nil || version == len(f.Steps) {
		return err
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
