package connect

import (
	"context"
	"errors"
	"sync"

	"github.com/tenon-mcp/tenon/mcp"
)

// A directLink is a builtin server that gets calls as they are: their principal,
// which no message can carry, and the values of their context arrive there.
type directLink struct {
	builtin Builtin
	life    context.Context // ends with Close
	stop    context.CancelFunc

	mu     sync.Mutex
	closed bool
	calls  sync.WaitGroup
}

func newDirectLink(b Builtin) *directLink {
	l := &directLink{builtin: b}
	l.life, l.stop = context.WithCancel(context.Background())
	return l
}

var errLinkClosed = errors.New("the connection was closed")

// Serve implements [mcp.Handler]. Close ends the call.
func (l *directLink) Serve(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	if !l.begin() {
		return mcp.Result{}, &mcp.ClosedError{Cause: errLinkClosed}
	}
	defer l.calls.Done()
	if c.Detach != nil { // it may be called with a context that has ended
		return l.builtin.Serve(ctx, c)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(l.life, func() { cancel(errLinkClosed) })()
	res, err := l.builtin.Serve(ctx, c)
	if err != nil && errors.Is(context.Cause(ctx), errLinkClosed) {
		mcp.Abandon(err)
		return mcp.Result{}, &mcp.ClosedError{Cause: errLinkClosed}
	}
	return res, err
}

// begin counts a call, unless the link is closed.
func (l *directLink) begin() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.calls.Add(1)
	}
	return !l.closed
}

// Close ends the calls and the server.
func (l *directLink) Close() error {
	l.mu.Lock()
	was := l.closed
	l.closed = true
	l.mu.Unlock()
	l.stop()
	l.calls.Wait()
	if was {
		return nil
	}
	return l.builtin.Close()
}

// Done implements [restart.Process].
func (l *directLink) Done() <-chan struct{} { return l.life.Done() }

// Err implements [restart.Process].
func (l *directLink) Err() error { return l.life.Err() }

// Revision is empty: there are no messages.
func (*directLink) Revision() mcp.Revision { return "" }
func (*directLink) pid() int               { return 0 }
func (*directLink) lastWords() string      { return "" }
