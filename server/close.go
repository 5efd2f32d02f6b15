package server

import (
	"errors"
	"sync"
)

// closing holds what Close runs.
type closing struct {
	mu    sync.Mutex
	funs  []func() error
	ended chan struct{} // nil until Close is called; closed when Close is done
	err   error
}

// OnClose registers f to run when the server is closed, to stop what a feature
// has started, such as a watcher or a connection. Functions run in reverse
// order. If the server is closed already, f runs at once and its error is
// logged.
func (s *Server) OnClose(f func() error) {
	s.closing.mu.Lock()
	if s.closing.ended == nil {
		s.closing.funs = append(s.closing.funs, f)
		s.closing.mu.Unlock()
		return
	}
	s.closing.mu.Unlock()
	if err := f(); err != nil {
		s.log().Error("OnClose function failed", "error", err)
	}
}

// Close runs the functions registered with [Server.OnClose] and returns their
// errors, joined, when all have finished. It does not stop calls: stop the
// transport first. A server without such functions need not be closed. Close
// may be called repeatedly and concurrently; every call waits and returns the
// same error. A function registered with OnClose must not call Close.
func (s *Server) Close() error {
	c := &s.closing
	c.mu.Lock()
	if c.ended != nil {
		c.mu.Unlock()
		<-c.ended
		return c.err
	}
	c.ended = make(chan struct{})
	funs := c.funs
	c.funs = nil
	c.mu.Unlock()
	defer close(c.ended) // also after a panic, so that no caller waits forever
	var errs []error
	for i := len(funs) - 1; i >= 0; i-- {
		errs = append(errs, funs[i]())
	}
	c.err = errors.Join(errs...)
	return c.err
}
