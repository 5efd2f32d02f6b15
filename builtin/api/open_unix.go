//go:build unix

package api

import "syscall"

// dontWait keeps open from waiting for the other end of a pipe.
const dontWait = syscall.O_NONBLOCK
