//go:build linux || darwin

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
	err = rename(int(d.Fd()), a, int(d.Fd()), b, flagExchange)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.ENOTSUP) {
		return errors.ErrUnsupported
	}
	if err != nil {
		return &os.LinkError{Op: "exchange", Old: a, New: b, Err: err}
	}
	return nil
}

// RenameNew renames a file or directory, and never replaces what is there. It
// returns an error that is [errors.ErrUnsupported], or EINVAL, where the system
// or the file system cannot do that in one step.
func RenameNew(from *os.File, oldName string, to *os.File, newName string) error {
	return rename(int(from.Fd()), oldName, int(to.Fd()), newName, flagNoReplace)
}
