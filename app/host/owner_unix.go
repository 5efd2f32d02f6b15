//go:build unix

package host

import (
	"errors"
	"syscall"
)

// processAlive reports whether a process of this machine runs.
func processAlive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}
