package stdio

import "syscall"

// dieWithParent has the kernel kill the process when the thread that started
// it ends. Child.run keeps that thread for as long as the process lives.
func dieWithParent(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGKILL }
