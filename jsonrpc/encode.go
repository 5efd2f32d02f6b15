package jsonrpc

import (
	"strconv"

	"github.com/tenon-mcp/tenon/internal/rawjson"
)

// The Append functions append one message to dst, on one line without a
// newline, and return the extended slice. They do not validate raw JSON.

// AppendRequest appends a request. Params is an object, or nil for none.
func AppendRequest(dst []byte, id ID, method string, params []byte) []byte {
	dst = appendHead(dst, id)
	return appendCall(dst, method, params)
}

// AppendNotification appends a notification. Params is an object, or nil for
// none.
func AppendNotification(dst []byte, method string, params []byte) []byte {
	dst = appendHead(dst, nil)
	return appendCall(dst, method, params)
}

// AppendResult appends the result of the request with this id. result is an
// object; nil means an empty one.
func AppendResult(dst []byte, id ID, result []byte) []byte {
	dst = append(appendHead(dst, id), `,"result":`...)
	if len(result) == 0 {
		dst = append(dst, '{', '}')
	} else {
		dst = AppendRaw(dst, result)
	}
	return append(dst, '}')
}

// AppendError appends an error response to the request with this id. A nil id,
// because that of the request could not be read, is left out.
func AppendError(dst []byte, id ID, e *Error) []byte {
	dst = append(appendHead(dst, id), `,"error":{"code":`...)
	dst = strconv.AppendInt(dst, int64(e.Code), 10)
	dst = append(dst, `,"message":`...)
	dst = rawjson.AppendString(dst, e.Message)
	if len(e.Data) > 0 {
		dst = AppendRaw(append(dst, `,"data":`...), e.Data)
	}
	return append(dst, '}', '}')
}

// AppendRaw appends raw JSON without line breaks. JSON that contains line
// breaks is compacted.
func AppendRaw(dst, raw []byte) []byte { return rawjson.AppendCompact(dst, raw) }

func appendHead(dst []byte, id ID) []byte {
	dst = append(dst, `{"jsonrpc":"2.0"`...)
	if id != nil {
		dst = append(append(dst, `,"id":`...), id...)
	}
	return dst
}

func appendCall(dst []byte, method string, params []byte) []byte {
	dst = rawjson.AppendString(append(dst, `,"method":`...), method)
	if len(params) > 0 {
		dst = AppendRaw(append(dst, `,"params":`...), params)
	}
	return append(dst, '}')
}
