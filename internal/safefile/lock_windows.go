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
	err = windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &windows.Overlapped{})
	switch {
	case err == nil:
		return func() { f.Close() }, nil // which unlocks it
	case errors.Is(err, windows.ERROR_LOCK_VIOLATION):
		err = errBusy
	default:
		err = fmt.Errorf("%w: %w", ErrNoLocks, err)
	}
	f.Close()
	return nil, err
}
