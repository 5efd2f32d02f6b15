package inspect

import (
	"errors"

	"github.com/tenon-mcp/tenon/jsonrpc"
)

// A reading is what a frame turned out to be: one message, several, or none.
type reading struct {
	one   jsonrpc.Message
	batch []jsonrpc.BatchItem
	err   *jsonrpc.DecodeError
}

func readFrame(frame []byte) (r reading) {
	var err error
	if jsonrpc.IsBatch(frame) {
		r.batch, err = jsonrpc.DecodeBatch(frame, 0)
	} else {
		r.one, err = jsonrpc.Decode(frame)
	}
	if err != nil && !errors.As(err, &r.err) {
		r.err = &jsonrpc.DecodeError{Code: jsonrpc.CodeParse, Reason: err.Error()}
	}
	return r
}

func (r *reading) kind() Kind {
	switch {
	case r.err != nil:
		return KindInvalid
	case r.batch != nil:
		return KindBatch
	}
	return kindOf(&r.one)
}

func kindOf(m *jsonrpc.Message) Kind {
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

// shorten cuts a text to about n bytes, between two characters.
func shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xc0 == 0x80 {
		n--
	}
	return s[:n] + "…"
}
