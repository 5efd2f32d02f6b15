package clientcall

import (
	"errors"

	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// FromWire turns the error of an answer into one of the house.
func FromWire(e *jsonrpc.Error) *mcp.Error {
	return &mcp.Error{Code: e.Code, Message: e.Message, Data: e.Data}
}

// ToWire turns what a Handler returned into the error of an answer. An error
// without a code may say things that are nobody's business, so only its
// existence is told.
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

// An Response is what a request came to, ready to be written.
type Response struct {
	// Code is that of the error; 0 means that it is a result.
	Code int
	// Append appends the whole message.
	Append func(dst []byte) []byte
	// Split appends all of the message but its large part, which belongs at
	// the index at and need not be copied to be sent. It may have line breaks
	// in it. Nil means that there is no such part.
	Split func(dst []byte) (rest []byte, at int, large []byte)
}

// Large is from where on the body of a result is worth not being copied.
const Large = 16 << 10

// Fail is the answer that is an error.
func Fail(id jsonrpc.ID, e *jsonrpc.Error) Response {
	return Response{Code: e.Code, Append: func(dst []byte) []byte { return jsonrpc.AppendError(dst, id, e) }}
}

// Invalid is the error for an answer that breaks the protocol.
func Invalid(method, reason string) *mcp.Error {
	return &mcp.Error{Code: mcp.CodeInternal, Local: true, Message: "the server's answer to " + method + " cannot be used: " + reason}
}

// RevisionResult is the result of a call that asks a connection for its
// revision.
func RevisionResult(r mcp.Revision) (mcp.Result, error) {
	body, err := mcp.Marshal(mcp.RevisionResult{Revision: r})
	return mcp.Result{Body: body}, err
}
