package host

import (
	"os"
	"testing"
)

// kill ends a process as if the machine had.
func kill(t *testing.T, pid int) {
	t.Helper()
	p, err := os.FindProcess(pid)
	if err == nil {
		err = p.Kill()
	}
	if err != nil {
		t.Errorf("kill %d: %v", pid, err)
	}
}
