package recording

import (
	"io"
	"os"
	"os/signal"
)

// endings catches Ctrl+C, which the server, on the same console, gets directly,
// so that this process does not end before the server.
func endings(io.Reader) (<-chan os.Signal, func()) {
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, os.Interrupt)
	return nil, func() { signal.Stop(caught) }
}

// endedBy returns nil: a process on Windows never ends by a signal.
func endedBy(*os.ProcessState) os.Signal { return nil }

func signalNumber(os.Signal) int { return 0 }
