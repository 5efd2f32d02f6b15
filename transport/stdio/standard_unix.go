//go:build unix

package stdio

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// takeStandard moves descriptors 0 and 1 to private ones and replaces them by the
// null device and standard error.
func takeStandard() (taken, error) {
	null, err := syscall.Open(os.DevNull, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return taken{}, &os.PathError{Op: "open", Path: os.DevNull, Err: err}
	}
	defer syscall.Close(null)
	in, err := private(0)
	if err != nil {
		return taken{}, fmt.Errorf("take over standard input: %w", err)
	}
	out, err := private(1)
	if err != nil {
		syscall.Close(in)
		return taken{}, fmt.Errorf("take over standard output: %w", err)
	}
	restore := func() error { return errors.Join(replace(in, 0), replace(out, 1)) }
	if err := errors.Join(replace(null, 0), replace(2, 1)); err != nil {
		err = errors.Join(err, restore())
		syscall.Close(in)
		syscall.Close(out)
		return taken{}, fmt.Errorf("redirect standard input and output: %w", err)
	}
	changedIn, changedOut := makeNonblocking(in), makeNonblocking(out)
	return taken{
		in:      os.NewFile(uintptr(in), "stdin"),
		out:     os.NewFile(uintptr(out), "stdout"),
		restore: restore,
		restoreModes: func() {
			if changedIn {
				_ = syscall.SetNonblock(0, false)
			}
			if changedOut {
				_ = syscall.SetNonblock(1, false)
			}
		},
	}, nil
}

// private duplicates a descriptor, with close-on-exec.
func private(fd int) (int, error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	dup, err := syscall.Dup(fd)
	if err == nil {
		syscall.CloseOnExec(dup)
	}
	return dup, err
}

// makeNonblocking makes fd non-blocking, so that Close ends a blocked read, and
// reports whether it did. The mode is shared with other users of the file, so it
// is set only on pipes and sockets that are not standard error as well.
func makeNonblocking(fd int) bool {
	var st, stderr syscall.Stat_t
	if syscall.Fstat(fd, &st) != nil {
		return false
	}
	kind := st.Mode & syscall.S_IFMT
	if kind != syscall.S_IFIFO && kind != syscall.S_IFSOCK {
		return false
	}
	if syscall.Fstat(2, &stderr) == nil && stderr.Dev == st.Dev && stderr.Ino == st.Ino {
		return false
	}
	return !isNonblocking(fd) && syscall.SetNonblock(fd, true) == nil
}

// isNonblocking reports whether fd is non-blocking: an os.File of it then has
// deadlines.
func isNonblocking(fd int) bool {
	dup, err := private(fd)
	if err != nil {
		return false
	}
	f := os.NewFile(uintptr(dup), "")
	defer f.Close()
	return hasDeadlines(f)
}

// hasDeadlines reports whether Close ends a blocked Read of f.
func hasDeadlines(f *os.File) bool { return f.SetReadDeadline(time.Time{}) == nil }
