package recording

import (
	"io"
	"os"
	"os/signal"
)

// endings catches Ctrl+C, which the server, on the same console, gets by itself:
// it is only kept from ending this process before the server.
func endings(io.Reader) (<-chan os.Signal, func()) {
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, os.Interrupt)
	return nil, func() { signal.Stop(caught) }
}

// A process on Windows ends with a code and never by a signal.
func endedBy(*os.ProcessState) os.Signal { return nil }

func signalNumber(os.Signal) int { return 0 }
