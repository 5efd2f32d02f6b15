//go:build unix

package fs

import (
	"errors"
	"io/fs"
	"syscall"
)

// nonblock keeps open from waiting for the other end of a pipe.
const nonblock = syscall.O_NONBLOCK

// links returns the number of hard links of a file.
func links(info fs.FileInfo) uint64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Nlink)
	}
	return 1
}

// owner returns the owner of a file.
func owner(info fs.FileInfo) (uid, gid int, ok bool) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, false
	}
	return int(s.Uid), int(s.Gid), true
}

// isInvalid reports whether the file system does not support an operation.
func isInvalid(err error) bool {
	return errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOSYS)
}
