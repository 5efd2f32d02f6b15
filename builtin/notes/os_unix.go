//go:build unix

package notes

import "syscall"

const (
	dontWait = syscall.O_NONBLOCK
	windows  = false
)
