//go:build !linux

package tcpalive

import "syscall"

// Control does nothing: only Linux has the limit.
func Control(_, _ string, _ syscall.RawConn) error { return nil }
