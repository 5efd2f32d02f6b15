package fs

import (
	"io/fs"
	"os"
	"syscall"
	"time"
)

// kernelFile reports whether an open file lies in a file system that a kernel
// makes up; there is none here but /dev, which is known by its name.
func kernelFile(*os.File) bool { return false }

// times are when a file was made and last read; zero where it is not known.
func times(_ place, info fs.FileInfo) (created, accessed time.Time) {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return time.Unix(s.Birthtimespec.Unix()), time.Unix(s.Atimespec.Unix())
	}
	return created, accessed
}
