package server

import (
	"errors"
	"sync"
)

// closing is what a server has to end when it is closed.
type closing struct {
	mu    sync.Mutex
	funs  []func() error
	ended chan struct{} // nil until Close was called; closed when it is done
	err   error
}

// OnClose has f run when the server is closed, for what a feature started and
// somebody has to end: a watcher, a connection, an index that is being built.
// The last that was added runs first. On a server that is closed already f runs
// at once, and its error is logged.
func (s *Server) OnClose(f func() error) {
	s.closing.mu.Lock()
	if s.closing.ended == nil {
		s.closing.funs = append(s.closing.funs, f)
		s.closing.mu.Unlock()
		return
	}
	s.closing.mu.Unlock()
	if err := f(); err != nil {
		s.log().Error("closing a server failed", "error", err)
	}
}

// Close ends what the features of the server do in the background and returns
// when all of it has ended. It does not end calls: whoever serves the server
// stops that first. A server on which nothing was registered with
// [Server.OnClose] need not be closed. Close may be called more than once and
// from many goroutines; each gets the same answer, and none before it is done.
// A function that runs because of Close must not call it.
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
	defer close(c.ended) // also after a panic, so that nobody waits for ever
	var errs []error
	for i := len(funs) - 1; i >= 0; i-- {
		errs = append(errs, funs[i]())
	}
	c.err = errors.Join(errs...)
	return c.err
}
