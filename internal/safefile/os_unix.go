//go:build unix

package safefile

import (
	"errors"
	"os"
	"syscall"
)

// dontWait keeps open from waiting for the other end of a pipe.
const dontWait = syscall.O_NONBLOCK

// syncDir makes a rename durable. It ignores file systems that cannot sync a
// directory.
func syncDir(root *os.Root, dir string) error {
	d, err := root.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) || errors.Is(err, os.ErrPermission) {
		err = nil
	}
	return errors.Join(err, d.Close())
}

// processAlive reports whether a process exists; known is false if that
// cannot be determined.
func processAlive(pid int) (alive, known bool) {
	if pid <= 0 {
		return false, false
	}
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM), true
}
