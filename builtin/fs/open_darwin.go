package fs

import (
	"io/fs"
	"os"
	"syscall"
	"time"
)

// kernelFile always returns false: the only kernel file system is /dev,
// which isKernelPath knows by path.
func kernelFile(*os.File) bool { return false }

// times returns the creation and access times of a file; zero means unknown.
func times(_ location, info fs.FileInfo) (created, accessed time.Time) {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return time.Unix(s.Birthtimespec.Unix()), time.Unix(s.Atimespec.Unix())
	}
	return created, accessed
}
