package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"
)

// interruptGrace bounds the time that a command has to end after an interrupt.
// Programs that it started end with it: each has a guard.
const interruptGrace = 700 * time.Millisecond

// onInterrupt says what an interrupt does to a command.
type onInterrupt int32

const (
	endSoon   onInterrupt = iota // the process ends after interruptGrace, or at the second interrupt
	endWell                      // the command ends in its own time, or at the second interrupt
	endItself                    // the command handles interrupts itself
)

func endingOf(command string) onInterrupt {
	switch command {
	case "serve", "gateway", "up", "inspect", "orders":
		return endWell
	case "shell", "chat", "tap":
		return endItself
	}
	return endSoon
}

// wait waits for the end of the command and returns the exit code. The first
// signal cancels the command's context. What the command does meanwhile, such as
// reading from a terminal or writing to a pipe that nobody reads, cannot keep
// the process alive.
func (p *program) wait(done <-chan int, signals <-chan os.Signal, cancel func()) int {
	var late <-chan time.Time
	for signalled := 0; ; {
		select {
		case code := <-done:
			return code
		case <-late:
			return p.abandon("interrupted", exitInterrupted)
		case <-p.expired:
			return p.abandon("the time limit was reached", exitLimit)
		case sig := <-signals:
			if f := p.reload.Load(); sig == syscall.SIGHUP && f != nil {
				(*f)()
				continue
			}
			if signalled++; signalled == 1 {
				p.drain.Store(sig == syscall.SIGTERM)
			}
			again := signalled > 1
			cancel()
			switch onInterrupt(p.ends.Load()) {
			case endSoon:
				if again {
					return p.abandon("interrupted", exitInterrupted)
				}
				late = time.After(interruptGrace)
			case endWell:
				if again {
					return p.abandon("interrupted", exitInterrupted)
				}
			}
		}
	}
}

// abandon stops waiting for a command that does not end. It prints a note only if
// that does not block, as on a terminal or a pipe that is not read.
func (p *program) abandon(why string, code int) int {
	said := make(chan struct{})
	go func() { fmt.Fprintln(p.err, "tenon: "+why); close(said) }()
	select {
	case <-said:
	case <-time.After(100 * time.Millisecond):
	}
	return code
}

// cancelWriter is a writer that fails once ctx ends, so that an interrupt stops
// printing.
type cancelWriter struct {
	ctx context.Context
	w   io.Writer
}

func (u cancelWriter) Write(b []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.w.Write(b)
}

// File returns the underlying file, for checks whether it is a terminal.
func (u cancelWriter) File() *os.File { return fileOf(u.w) }
