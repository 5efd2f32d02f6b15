//go:build !linux && !darwin

package fs

import (
	"io/fs"
	"os"
	"time"
)

// kernelFile always returns false: these systems have no kernel file systems
// beyond those that isKernelPath knows by path.
func kernelFile(*os.File) bool { return false }

// times returns the creation and access times of a file; zero means unknown.
func times(location, fs.FileInfo) (created, accessed time.Time) { return created, accessed }
