// Package outcome says how calls end, in the same words for the audit log, metrics,
// traces and pages.
package outcome

import (
	"context"
	"errors"
	"net/http"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/mcp"
)

// An Outcome is how a call ended.
type Outcome uint8

const (
	Open          Outcome = iota // it has not ended
	OK                           // it has a result
	ToolError                    // the result of a tool has isError
	InputRequired                // it goes on when the client has responded to an input request
	Cancelled                    // the client has cancelled it, or has gone
	Limited                      // a rate or concurrency limit refuses it
	Denied                       // a rule denies it
	Error                        // it has failed

	Count // the number of outcomes
)

var names = [Count]string{"open", "ok", "tool_error", "input_required", "cancelled", "limited", "denied", "error"}

// String returns the word for an outcome.
func (o Outcome) String() string { return names[o] }

// MarshalText implements [encoding.TextMarshaler].
func (o Outcome) MarshalText() ([]byte, error) { return []byte(names[o]), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (o *Outcome) UnmarshalText(text []byte) error {
	for i, name := range names {
		if name == string(text) {
			*o = Outcome(i)
			return nil
		}
	}
	return errors.New("unknown outcome")
}

// searched is the size in bytes up to which a result is searched for isError.
const searched = 64 << 10

// Of returns the outcome of a call by what its Handler returned. It is never
// Denied: a denial looks like the error of a name that does not exist.
func Of(ctx context.Context, c *mcp.Call, res *mcp.Result, err error) Outcome {
	if err == nil {
		if c.Method == mcp.MethodToolsCall && len(res.Body) <= searched && string(rawjson.Lookup(res.Body, "isError")) == "true" {
			return ToolError
		}
		return OK
	}
	if _, ok := errors.AsType[*mcp.InputRequired](err); ok {
		return InputRequired
	}
	if e, ok := errors.AsType[*mcp.Error](err); ok && e.HTTPStatus == http.StatusTooManyRequests {
		return Limited
	}
	if ctx.Err() != nil {
		return Cancelled
	}
	return Error
}
