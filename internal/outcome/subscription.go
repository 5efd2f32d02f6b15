package outcome

import (
	"context"
	"errors"
	"sync"

	"github.com/tenon-mcp/tenon/mcp"
)

// Answered reports whether a call that returned err ended with a response of the
// server, an error or an input request among them.
func Answered(err error) bool {
	if err == nil {
		return true
	}
	if _, asks := errors.AsType[*mcp.InputRequired](err); asks {
		return true
	}
	e, ok := errors.AsType[*mcp.Error](err)
	return ok && !e.Local
}

// Subscribe passes a subscription on to next and calls ended, once, when it has ended
// or was refused. It ends after Subscribe has returned if the Handler detaches it; see
// [mcp.Call].Detach.
func Subscribe(ctx context.Context, c *mcp.Call, next mcp.Handler, ended func()) (mcp.Result, error) {
	ended = sync.OnceFunc(ended)
	detached := false
	onward := *c
	if c.Detach != nil {
		onward.Detach = func(stop func()) {
			detached = true
			c.Detach(func() { stop(); ended() })
		}
	}
	res, err := next.Serve(ctx, &onward)
	if !detached || err != nil {
		ended()
	}
	return res, err
}
