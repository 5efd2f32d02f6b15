package safefile

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// exchange exchanges two names of a directory in one step.
func exchange(dir *os.Root, a, b string) error {
	d, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer d.Close()
	err = unix.Renameat2(int(d.Fd()), a, int(d.Fd()), b, unix.RENAME_EXCHANGE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
		return errors.ErrUnsupported
	}
	if err != nil {
		return &os.LinkError{Op: "exchange", Old: a, New: b, Err: err}
	}
	return nil
}

// isOpenForWriting reports whether a process has the file open for writing. The
// system grants a read lease only if none has. Where leases do not exist, or
// the file belongs to somebody else, the answer is no.
func isOpenForWriting(f *os.File) bool {
	_, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_RDLCK)
	return errors.Is(err, unix.EAGAIN)
}

// RenameNew renames a file or directory, and never replaces what is there. It
// returns an error that is [errors.ErrUnsupported], or EINVAL, where the system
// or the file system cannot do that in one step.
func RenameNew(from *os.File, oldName string, to *os.File, newName string) error {
	return unix.Renameat2(int(from.Fd()), oldName, int(to.Fd()), newName, unix.RENAME_NOREPLACE)
}
