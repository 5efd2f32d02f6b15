// Package fs is a server for files: reading, writing, editing, listing and
// searching within a few directories, and nothing outside of them.
//
// It takes the place of the reference server for files: its tools have the same
// names and arguments and answer in the same words. docs/servers/fs.md says
// what it can do beyond that, and where it differs on purpose.
//
// # How nothing gets out
//
// Every path goes one way. It is read once (path.go), given to the root that it
// lies in, and followed link by link (place.go), so that what is operated on is
// a root and a path in it without links. All operations then go through
// [os.Root], which refuses to leave its directory also when somebody exchanges a
// part of the path between the check and the operation. What is opened is a
// regular file or a directory: pipes, sockets, devices and the file systems of
// the kernel are refused without being opened (open.go).
package fs
