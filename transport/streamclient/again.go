package streamclient

import (
	"context"
	"errors"

	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/mcp"
)

// goesOn reports whether a call is the next round of one that its session
// knows: that cannot be begun again here.
func goesOn(a *connecting, call *mcp.Call) bool { return call.State != "" && !a.conn.Modern() }

// again reports whether a call that failed is to be made again.
func (c *Connection) again(ctx context.Context, a *connecting, call *mcp.Call, err error) bool {
	if lost, ok := errors.AsType[*errSessionLost](err); ok {
		_, answering := errors.AsType[*undelivered](err)
		return lost.unserved && !answering || repeatable(call.Method)
	}
	if _, ok := errors.AsType[*StreamEndedError](err); ok {
		return repeatable(call.Method)
	}
	if !a.conn.Modern() {
		return false
	}
	e, answered := errors.AsType[*mcp.Error](err)
	if answered && !e.Local && e.Code == mcp.CodeHeaderMismatch && call.Method == mcp.MethodToolsCall {
		return c.relist(ctx, a, call)
	}
	return doubtful(err) && c.doubt(ctx, a)
}

// repeatable reports whether serving a request twice does no harm.
func repeatable(method string) bool {
	switch method {
	case mcp.MethodDiscover, mcp.MethodToolsList, mcp.MethodResourcesList, mcp.MethodResourceTemplatesList,
		mcp.MethodResourcesRead, mcp.MethodPromptsList, mcp.MethodPromptsGet, mcp.MethodComplete:
		return true
	}
	return false
}

// relist looks at the tools again until it has seen the one that is called, and
// reports whether it has.
func (c *Connection) relist(ctx context.Context, a *connecting, call *mcp.Call) bool {
	const maxPages = 100
	wanted, _ := text(call.Params, "name")
	list := &mcp.Call{Method: mcp.MethodToolsList, Caller: call.Caller}
	for range maxPages {
		res, err := a.conn.Serve(ctx, list)
		if err != nil {
			return false
		}
		kept := c.tools.read(res.Body, c.warn)
		if lists(kept, wanted) {
			return true
		}
		cursor, more := text(res.Body, "nextCursor")
		if !more {
			return false
		}
		params, err := mcp.Marshal(map[string]string{"cursor": cursor})
		if err != nil {
			return false
		}
		list.Params = params
	}
	return false
}

// doubtful reports whether an error is one that a server of the newest era
// would not make: it may have been replaced by an older one.
func doubtful(err error) bool {
	if older, ok := errors.AsType[era.NotModern](err); ok {
		return older.NotModern()
	}
	e, ok := errors.AsType[*mcp.Error](err)
	if !ok || e.Local {
		return false
	}
	switch e.Code {
	case mcp.CodeUnsupportedVersion, mcp.CodeInvalidRequest, -32000, -32001: // what older servers say
		return true
	}
	return false
}
