package clientcall

import (
	"errors"

	"github.com/tenon-mcp/tenon/internal/protocol"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// FromWire returns the error of a response as an [mcp.Error].
func FromWire(e *jsonrpc.Error) *mcp.Error {
	return &mcp.Error{Code: e.Code, Message: e.Message, Data: e.Data}
}

// ToWire returns the error of a Handler as that of a response. The text of an
// error without a code may be private, so the response does not have it.
func ToWire(err error) *jsonrpc.Error {
	if e, ok := errors.AsType[*mcp.Error](err); ok {
		code := e.Code
		if code == 0 {
			code = mcp.CodeInternal
		}
		return &jsonrpc.Error{Code: code, Message: e.Message, Data: e.Data}
	}
	return &jsonrpc.Error{Code: mcp.CodeInternal, Message: "the server failed to serve this request"}
}

// A Response is the response to a request, ready to be written.
type Response struct {
	// Code is the error code; 0 means a result.
	Code int
	// Append appends the whole message.
	Append func(dst []byte) []byte
	// Split appends the message without its large part, which belongs at the
	// index at and can be sent without a copy. The large part may contain line
	// breaks. Nil means that there is no such part.
	Split func(dst []byte) (rest []byte, at int, large []byte)
	// Err is the error of the Handler; nil means that the response is a result
	// or an error of the protocol.
	Err *mcp.Error
}

// Large is the size in bytes above which the body of a result is not copied.
const Large = 16 << 10

// Fail returns an error response.
func Fail(id jsonrpc.ID, e *jsonrpc.Error) Response {
	return Response{Code: e.Code, Append: func(dst []byte) []byte { return jsonrpc.AppendError(dst, id, e) }}
}

// FailWith returns the error response for an error of a Handler. e is the error as
// the client gets it.
func FailWith(id jsonrpc.ID, e *jsonrpc.Error, err error) Response {
	a := Fail(id, e)
	a.Err, _ = errors.AsType[*mcp.Error](err)
	return a
}

// Invalid returns the error for a response that breaks the protocol.
func Invalid(method, reason string) *mcp.Error {
	return &mcp.Error{Code: mcp.CodeInternal, Local: true, Message: "the server's answer to " + method + " cannot be used: " + reason}
}

// RevisionResult returns the result of a call for the revision of a connection.
func RevisionResult(r mcp.Revision) (mcp.Result, error) {
	body, err := mcp.Marshal(protocol.RevisionResult{Revision: r})
	return mcp.Result{Body: body}, err
}
