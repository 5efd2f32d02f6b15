package speccheck

import (
	"errors"

	"github.com/tenon-mcp/tenon/jsonrpc"
)

// A Frame is a parsed frame: one message, a batch, or an error.
type Frame struct {
	Message jsonrpc.Message
	Batch   []jsonrpc.BatchItem
	Err     *jsonrpc.DecodeError
}

// ParseFrame parses a frame. Err is set if it is not a JSON-RPC message or batch.
func ParseFrame(frame []byte) (r Frame) {
	var err error
	if jsonrpc.IsBatch(frame) {
		r.Batch, err = jsonrpc.DecodeBatch(frame, 0)
	} else {
		r.Message, err = jsonrpc.Decode(frame)
	}
	if err != nil && !errors.As(err, &r.Err) {
		r.Err = &jsonrpc.DecodeError{Code: jsonrpc.CodeParse, Reason: err.Error()}
	}
	return r
}

// Kind returns the kind of message.
func (r *Frame) Kind() Kind {
	switch {
	case r.Err != nil:
		return KindInvalid
	case r.Batch != nil:
		return KindBatch
	}
	return KindOf(&r.Message)
}

// KindOf returns the kind of a JSON-RPC message.
func KindOf(m *jsonrpc.Message) Kind {
	switch {
	case m.IsRequest():
		return KindRequest
	case m.IsNotification():
		return KindNotification
	case m.Error != nil:
		return KindError
	}
	return KindResponse
}
