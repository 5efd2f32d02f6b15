package streamclient

import (
	"context"
	"errors"

	"github.com/tenon-mcp/tenon/internal/eraconn"
	"github.com/tenon-mcp/tenon/mcp"
)

// isLaterRound reports whether a call is a later round of a call that lives in a
// legacy session. Such a call cannot be sent again in another session.
func isLaterRound(a *activeLink, call *mcp.Call) bool { return call.State != "" && !a.conn.Modern() }

// shouldRetry reports whether to send a failed call once more.
func (c *Connection) shouldRetry(ctx context.Context, a *activeLink, call *mcp.Call, err error) bool {
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
	return mayBeLegacy(err) && c.redetect(ctx, a)
}

// repeatable reports whether a request is safe to send twice.
func repeatable(method string) bool {
	switch method {
	case mcp.MethodDiscover, mcp.MethodToolsList, mcp.MethodResourcesList, mcp.MethodResourceTemplatesList,
		mcp.MethodResourcesRead, mcp.MethodPromptsList, mcp.MethodPromptsGet, mcp.MethodComplete:
		return true
	}
	return false
}

// relist lists the tools again, page by page, until it finds the called one, and
// reports whether it does.
func (c *Connection) relist(ctx context.Context, a *activeLink, call *mcp.Call) bool {
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

// mayBeLegacy reports whether a modern server would not send this error: the server
// may have been replaced by a legacy one.
func mayBeLegacy(err error) bool {
	if older, ok := errors.AsType[eraconn.NotModern](err); ok {
		return older.NotModern()
	}
	e, ok := errors.AsType[*mcp.Error](err)
	if !ok || e.Local {
		return false
	}
	switch e.Code {
	case mcp.CodeUnsupportedVersion, mcp.CodeInvalidRequest, -32000, -32001: // codes of legacy servers
		return true
	}
	return false
}
