// Package fs is an MCP server for files. It reads, writes, edits, lists and
// searches files within the allowed directories and nowhere else.
//
//	s, err := fs.New(fs.Config{Roots: []string{"/home/me/project"}})
//
// It is compatible with the reference filesystem server: its tools have the
// same names, arguments and results. docs/servers/fs.md lists the additions and
// the intended differences.
//
// # Confinement
//
// Every path is parsed once (path.go), assigned to the root that contains it,
// and resolved link by link (location.go) to a root and a path without links.
// Every operation then goes through [os.Root], which stays within its directory
// even if another process replaces a part of the path between the check and the
// operation. Only regular files and directories are opened: pipes, sockets,
// devices and kernel file systems are refused without being opened (open.go).
package fs
