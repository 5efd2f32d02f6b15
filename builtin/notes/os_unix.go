//go:build unix

package notes

import (
	"io/fs"
	"os"
	"syscall"
)

const (
	dontWait = syscall.O_NONBLOCK
	windows  = false
)

// inodeOf returns the inode number and the status change time of a file.
func inodeOf(info fs.FileInfo) (inode uint64, changed int64) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0
	}
	return s.Ino, changedAt(s)
}

// private reports whether only this user can write a file.
func private(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && info.Mode().IsRegular() && info.Mode().Perm()&0o077 == 0 && int(s.Uid) == os.Getuid()
}
