package fs

import (
	"io/fs"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
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

// renameNew renames a file or directory, never onto something that is there.
func renameNew(from *os.File, oldName string, to *os.File, newName string) error {
	return unix.RenameatxNp(int(from.Fd()), oldName, int(to.Fd()), newName, unix.RENAME_EXCL)
}
