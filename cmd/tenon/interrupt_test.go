package main

import (
	"io"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// C7: what the first and the second interrupt do to a command that does not end.
func TestInterrupts(t *testing.T) {
	for _, c := range []struct {
		command    string
		interrupts int
		after      time.Duration // until the process ends; negative: it does not
	}{
		{"call", 1, interruptGrace}, {"call", 2, 0}, {"up", 1, -1}, {"up", 2, 0}, {"serve", 2, 0}, {"chat", 2, -1},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := &program{err: io.Discard}
			p.ends.Store(int32(endingOf(c.command)))
			done, signals, cancelled := make(chan int, 1), make(chan os.Signal, 4), false
			for range c.interrupts {
				signals <- os.Interrupt
			}
			if c.after < 0 { // the command ends in its own time
				time.AfterFunc(time.Hour, func() { done <- exitOK })
			}
			begun := time.Now()
			code := p.wait(done, signals, func() { cancelled = true })
			took, want := time.Since(begun), c.after
			if c.after < 0 {
				want = time.Hour
			}
			if took != want || !cancelled || (code == exitInterrupted) != (c.after >= 0) {
				t.Errorf("%s, %d interrupts: code %d after %v, not %v, cancelled: %v", c.command, c.interrupts, code, took, want, cancelled)
			}
		})
	}
}
