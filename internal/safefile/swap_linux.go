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

// isOpenForWriting reports whether a process has the file open for writing. The
// system grants a read lease only if none has. Where leases do not exist, or
// the file belongs to somebody else, the answer is no.
func isOpenForWriting(f *os.File) bool {
	_, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_RDLCK)
	return errors.Is(err, unix.EAGAIN)
}
