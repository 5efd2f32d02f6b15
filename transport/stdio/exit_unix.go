//go:build unix

package stdio

import (
	"os"
	"syscall"
)

// endingSignal returns the signal that ended a process, nil if none did.
func endingSignal(state *os.ProcessState) os.Signal {
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return ws.Signal()
	}
	return nil
}
