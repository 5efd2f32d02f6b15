package audit

import (
	"os"

	"golang.org/x/sys/windows"
)

// lock keeps other processes from appending until unlock is called. The byte
// that is locked lies far behind the end of the file, so that reading it is
// never kept from anybody.
func lock(f *os.File) (unlock func(), err error) {
	at := &windows.Overlapped{OffsetHigh: 1 << 30}
	if err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK, 0, 1, 0, at); err != nil {
		return nil, &os.PathError{Op: "lock", Path: f.Name(), Err: err}
	}
	return func() { windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, at) }, nil
}
