//go:build unix

package recording

import (
	"io"
	"os"
	"os/signal"
	"syscall"
)

// endings catches the signals that end a process. On a terminal, an interrupt
// from the keyboard reaches the server directly, since it is in the same process
// group, so it is only caught.
func endings(in io.Reader) (<-chan os.Signal, func()) {
	caught := make(chan os.Signal, 8)
	passed := []os.Signal{syscall.SIGTERM, syscall.SIGHUP}
	stop := func() { signal.Stop(caught) }
	if !terminal(in) {
		signal.Notify(caught, append(passed, syscall.SIGINT, syscall.SIGQUIT)...)
		return caught, stop
	}
	signal.Notify(caught, passed...)
	keyboard := make(chan os.Signal, 1)
	signal.Notify(keyboard, syscall.SIGINT, syscall.SIGQUIT)
	return caught, func() { signal.Stop(keyboard); stop() }
}

func terminal(in io.Reader) bool {
	f, ok := in.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// endedBy returns the signal that ended a process, or nil.
func endedBy(s *os.ProcessState) os.Signal {
	if status, ok := s.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return status.Signal()
	}
	return nil
}

func signalNumber(s os.Signal) int {
	if n, ok := s.(syscall.Signal); ok {
		return int(n)
	}
	return 0
}
