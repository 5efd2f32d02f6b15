package stdio

import "syscall"

// dieWithParent makes the kernel kill the process when the thread that started
// it ends. Child.run locks that thread while the process runs.
func dieWithParent(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGKILL }

// replace makes descriptor to refer to the file of from.
func replace(from, to int) error { return syscall.Dup3(from, to, 0) }
