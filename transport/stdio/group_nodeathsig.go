//go:build unix && !linux

package stdio

import "syscall"

// dieWithParent does nothing: this system cannot. A server that was started
// without a guard sees the end of its input and should end by itself.
func dieWithParent(*syscall.SysProcAttr) {}
