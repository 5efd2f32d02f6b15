package safefile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/windows"
)

func identify(dir *os.File) (identity, error) {
	var d windows.ByHandleFileInformation
	if err := windows.GetFileInformationByHandle(windows.Handle(dir.Fd()), &d); err != nil {
		return identity{}, &os.PathError{Op: "stat", Path: dir.Name(), Err: err}
	}
	return identity{uint64(d.VolumeSerialNumber), uint64(d.FileIndexHigh)<<32 | uint64(d.FileIndexLow)}, nil
}

// tryLock locks a file in the user's cache folder that stands for the
// directory, since directories cannot be locked on Windows. It works between
// the processes of one user.
func tryLock(_ *os.File, id identity) (release func(), err error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, fmt.Errorf("%w: no cache folder: %w", ErrNoLocks, err)
	}
	folder := filepath.Join(cache, "tenon", "locks")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoLocks, err)
	}
	f, err := os.OpenFile(filepath.Join(folder, fmt.Sprintf("%x-%x.lock", id.volume, id.file)), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoLocks, err)
	}
	if err := lockOpen(f, true); err != nil {
		f.Close()
		return nil, err
	}
	return func() { f.Close() }, nil // which unlocks it
}

// lockOpen locks an open file without waiting, for this process alone or
// together with others that do not want it alone.
func lockOpen(f *os.File, alone bool) error {
	flags := uint32(windows.LOCKFILE_FAIL_IMMEDIATELY)
	if alone {
		flags |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, &windows.Overlapped{})
	switch {
	case err == nil:
		return nil
	case errors.Is(err, windows.ERROR_LOCK_VIOLATION):
		return errBusy
	default:
		return fmt.Errorf("%w: %w", ErrNoLocks, err)
	}
}
