package fs

import "io/fs"

// nonblock is zero: opening a file never waits on Windows.
const nonblock = 0

// links always returns 1: a FileInfo does not have the number on Windows.
func links(fs.FileInfo) uint64 { return 1 }

// owner returns nothing: a rename keeps the owner on Windows.
func owner(fs.FileInfo) (uid, gid int, ok bool) { return 0, 0, false }

// isInvalid reports whether the file system does not support an operation.
func isInvalid(error) bool { return false }
