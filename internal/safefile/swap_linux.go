package safefile

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

const (
	flagExchange  = unix.RENAME_EXCHANGE
	flagNoReplace = unix.RENAME_NOREPLACE
)

var rename = unix.Renameat2

// lease keeps programs that open a file for writing waiting until f is closed,
// for 45 seconds at most, unless one has it open already: then writers is true.
// Where leases do not exist, or the file belongs to somebody else, both are
// false.
func lease(f *os.File) (granted, writers bool) {
	_, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_RDLCK)
	return err == nil, errors.Is(err, unix.EAGAIN)
}

// isAwaited reports whether a program waits for the lease on a file to end.
func isAwaited(f *os.File) bool {
	kind, err := unix.FcntlInt(f.Fd(), unix.F_GETLEASE, 0)
	return err == nil && kind != unix.F_RDLCK
}
