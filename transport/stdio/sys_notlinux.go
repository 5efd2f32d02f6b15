//go:build unix && !linux

package stdio

import "syscall"

// dieWithParent does nothing: this system has no such signal. A server without a
// guard reads the end of its input and should end by itself.
func dieWithParent(*syscall.SysProcAttr) {}

// replace makes descriptor to refer to the file of from.
func replace(from, to int) error { return syscall.Dup2(from, to) }
