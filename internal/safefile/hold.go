package safefile

import (
	"errors"
	"io/fs"
	"os"
)

// Hold creates a file and locks it until release is called, which removes it,
// or until the process ends. [Held] tells other processes whether it is locked.
func Hold(path string) (release func(), err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	if err := lockOpen(f, true); err != nil {
		f.Close()
		os.Remove(path)
		return nil, &os.PathError{Op: "lock", Path: path, Err: err}
	}
	return func() {
		f.Close() // which unlocks it
		os.Remove(path)
	}, nil
}

// Held reports whether a process holds a file, see [Hold]. It is false if the
// file does not exist.
func Held(path string) (bool, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close() // which unlocks it
	// Several processes may ask at the same time, so the lock is shared.
	switch err := lockOpen(f, false); {
	case err == nil:
		return false, nil
	case errors.Is(err, errBusy):
		return true, nil
	default:
		return false, &os.PathError{Op: "lock", Path: path, Err: err}
	}
}
