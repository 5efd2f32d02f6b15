package eraconn

import (
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/jsonrpc"
)

// In each warnPeriod a warner reports warnBurst warnings as they are. It counts
// the others and reports their number at the end of the period.
const (
	warnBurst  = 10
	warnPeriod = 10 * time.Second
)

// A warner reports, at a bounded rate, messages of a server that were skipped
// and messages to it that could not be delivered.
type warner struct {
	report func(warning string) // nil drops warnings

	mu       sync.Mutex
	reported int         // reported in this period
	more     int         // only counted
	period   *time.Timer // nil between periods
	closed   bool
}

// frame reports a frame that was skipped.
func (w *warner) frame(frame []byte, err error) {
	if errors.Is(err, jsonrpc.ErrLateResponse) {
		return
	}
	text := "skipped a message from the server: " + err.Error()
	if len(frame) > 0 {
		text += ": " + strconv.Quote(string(frame[:min(len(frame), 100)]))
	}
	w.warn(text)
}

// warn reports text. It calls report without holding a lock.
func (w *warner) warn(text string) {
	if w.report != nil && w.admit() {
		w.report(text)
	}
}

// admit counts a warning and reports whether it is to be reported as it is.
func (w *warner) admit() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return false
	}
	if w.period == nil {
		w.period = time.AfterFunc(warnPeriod, w.summarise)
	}
	if w.reported == warnBurst {
		w.more++
		return false
	}
	w.reported++
	return true
}

// summarise ends the period.
func (w *warner) summarise() {
	w.mu.Lock()
	more := w.more
	w.reported, w.more, w.period = 0, 0, nil
	w.mu.Unlock()
	if more > 0 {
		w.report(fmt.Sprintf("%s more warnings about messages of the server", grouped(more)))
	}
}

// close ends the last period; nothing is reported after it.
func (w *warner) close() {
	w.mu.Lock()
	w.closed = true
	running := w.period != nil && w.period.Stop()
	w.mu.Unlock()
	if running {
		w.summarise()
	}
}

// grouped writes a number with a comma between thousands.
func grouped(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
