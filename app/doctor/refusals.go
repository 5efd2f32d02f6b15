package doctor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
)

// nowhere is part of every name that no server has.
const nowhere = "tenon-doctor-no-such-thing"

// manners makes invalid requests: the server must refuse each with the right code
// and keep working.
func (x *examination) manners(ctx context.Context) {
	x.refuses(ctx, "an unknown method", nowhere, nil, Warning, mcp.CodeMethodNotFound)
	if x.caps.Tools != nil {
		x.unknownTool(ctx)
	}
	if x.caps.Resources != nil {
		x.refuses(ctx, "a resource that does not exist", mcp.MethodResourcesRead, map[string]string{"uri": nowhere + "://x"}, Note, mcp.CodeInvalidParams, mcp.CodeLegacyResourceNotFound)
	}
	if x.caps.Prompts != nil {
		x.refuses(ctx, "a prompt that does not exist", mcp.MethodPromptsGet, map[string]string{"name": nowhere}, Note, mcp.CodeInvalidParams)
	}
	x.givesUp(ctx)
	x.alive(ctx)
	if s := x.report.Slowest; s != nil && s.Duration > ms(slowAnswer) {
		x.find(Warning, "speed", s.Method, fmt.Sprintf("the answer took %.1f s", s.Duration/1000), "Lists are asked for at every start: keep them ready.")
	}
}

// refuses expects one of some codes for a request.
func (x *examination) refuses(ctx context.Context, what, method string, params any, worst Severity, codes ...int) {
	_, err := x.ask(ctx, method, params)
	e, answered := errors.AsType[*mcp.Error](err)
	switch {
	case err == nil:
		x.find(Warning, "manners", method, fmt.Sprintf("asked for %s, the server answers as if it were there", what), fmt.Sprintf("Answer with error %d.", codes[0]))
	case answered && e.Local: // the client refused to send it
	case !answered && errors.Is(err, context.DeadlineExceeded):
		x.find(Error, "manners", method, fmt.Sprintf("asked for %s, the server does not answer within %v", what, x.IdleTimeout), fmt.Sprintf("Answer every request, this one with error %d: a client waits for it.", codes[0]))
	case !answered:
		x.find(Error, "manners", method, fmt.Sprintf("asked for %s, the server is gone: %v", what, err), "")
	default:
		for _, code := range codes {
			if e.Code == code {
				return
			}
		}
		x.find(worst, "manners", method, fmt.Sprintf("asked for %s, the server answers with error %d (%s)", what, e.Code, e.Message), fmt.Sprintf("The code for it is %d.", codes[0]))
	}
}

// unknownTool accepts both responses to an unknown tool: an error, as the
// specification requires, and a result that tells the model.
func (x *examination) unknownTool(ctx context.Context) {
	r, err := x.ask(ctx, mcp.MethodToolsCall, map[string]any{"name": nowhere, "arguments": map[string]any{}})
	if err == nil {
		if t, e := mcp.DecodeCallToolResult(r.Body); e == nil && t.IsError {
			x.find(Note, "manners", mcp.MethodToolsCall, "a tool that does not exist is answered with a failed result", fmt.Sprintf("The specification wants error %d, which tells a host that its list is out of date.", mcp.CodeInvalidParams))
			return
		}
		x.find(Error, "manners", mcp.MethodToolsCall, "a tool that does not exist is answered as if it had run", fmt.Sprintf("Answer with error %d.", mcp.CodeInvalidParams))
		return
	}
	if e, ok := errors.AsType[*mcp.Error](err); ok && e.Code == mcp.CodeInvalidParams {
		return
	} else if ok {
		x.find(Note, "manners", mcp.MethodToolsCall, fmt.Sprintf("a tool that does not exist is answered with error %d", e.Code), fmt.Sprintf("The code for it is %d.", mcp.CodeInvalidParams))
		return
	}
	x.find(Error, "manners", mcp.MethodToolsCall, "a call of a tool that does not exist gets no answer: "+err.Error(), "")
}

// givesUp makes a request and cancels it at once; the server must keep working.
func (x *examination) givesUp(ctx context.Context) {
	if x.caps.Tools == nil {
		return
	}
	short, stop := context.WithCancel(ctx)
	stop()
	x.Handler.Serve(short, &mcp.Call{Method: mcp.MethodToolsList}) // the error is the cancellation
}

// alive checks that the server still responds.
func (x *examination) alive(ctx context.Context) {
	method := mcp.MethodPing
	if x.Modern {
		method = mcp.MethodDiscover
	}
	began := time.Now()
	_, err := x.ask(ctx, method, nil)
	if e, ok := errors.AsType[*mcp.Error](err); ok && !e.Local {
		x.find(Error, "manners", method, fmt.Sprintf("the server answers with error %d (%s)", e.Code, e.Message), "Every server has to answer it: clients ask to see whether it is alive.")
		return
	}
	if err != nil {
		x.find(Error, "manners", method, fmt.Sprintf("after a cancelled request and some invalid ones, the server no longer answers (%v, after %v)", err, time.Since(began).Round(time.Millisecond)), "Nothing that a client asks may end the server.")
	}
}
