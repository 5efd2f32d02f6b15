//go:build !unix

package notes

import (
	"io/fs"
	"runtime"
)

const (
	dontWait = 0
	windows  = runtime.GOOS == "windows"
)

// inodeOf is not known here; size and time have to do.
func inodeOf(fs.FileInfo) (inode uint64, changed int64) { return 0, 0 }

// private is not known here: the cache folder is the user's.
func private(info fs.FileInfo) bool { return info.Mode().IsRegular() }
