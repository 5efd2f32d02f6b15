package jsonrpc

import (
	"fmt"
	"strconv"

	"github.com/tenon-mcp/tenon/internal/rawjson"
)

// Decode decodes one message. It validates all of data once; the message holds
// slices of data, which must not be modified while the message is in use. The
// error is a [*DecodeError].
func Decode(data []byte) (Message, error) {
	var p parts
	if err := rawjson.CheckMembers(data, func(name, value []byte) { p.put(name, value) }); err != nil {
		e := notJSON(err)
		if o := outlineOf(data); o.isResponse() {
			e.ID, e.Response = o.id, true
		}
		return Message{}, e
	}
	if !rawjson.IsObject(data) {
		return Message{}, notObject(data)
	}
	return p.message()
}

func notJSON(err error) *DecodeError {
	return &DecodeError{Code: CodeParse, Reason: "not valid JSON: " + err.Error()}
}

func notObject(data []byte) *DecodeError {
	what := "not a message: expected a JSON object"
	if rawjson.IsArray(data) {
		what = "not a message: expected a JSON object, found an array (batches are not accepted)"
	}
	return &DecodeError{Code: CodeInvalidRequest, Reason: what}
}

// parts are the raw members of a message; nil means absent. Other members are
// ignored.
type parts struct{ version, id, method, params, result, err []byte }

func (p *parts) put(name, value []byte) {
	switch string(name) {
	case "jsonrpc":
		p.version = value
	case "id":
		p.id = value
	case "method":
		p.method = value
	case "params":
		p.params = value
	case "result":
		p.result = value
	case "error":
		p.err = value
	}
}

// message builds the message or returns why it is invalid.
func (p *parts) message() (Message, error) {
	id, wrong := readID(p.id)
	reject := func(code int, format string, args ...any) (Message, error) {
		isResponse := p.method == nil && (p.result != nil || p.err != nil)
		return Message{}, &DecodeError{Code: code, ID: id, Response: isResponse, Reason: fmt.Sprintf(format, args...)}
	}
	switch {
	case p.version == nil:
		return reject(CodeInvalidRequest, `jsonrpc: missing: expected "2.0"`)
	case string(p.version) != `"2.0"` && !rawjson.EqualString(p.version, "2.0"):
		return reject(CodeInvalidRequest, `jsonrpc: expected the string "2.0"`)
	case p.method == nil:
		return p.response(id, wrong, reject)
	case p.result != nil || p.err != nil:
		return reject(CodeInvalidRequest, "the message has both a method and a result or an error")
	case wrong != "":
		return reject(CodeInvalidRequest, "%s", wrong)
	}
	method, ok := rawjson.String(p.method)
	switch {
	case !ok || method == "":
		return reject(CodeInvalidRequest, `method: expected a non-empty string`)
	case p.params != nil && !rawjson.IsObject(p.params):
		return reject(CodeInvalidParams, `params: expected an object`)
	}
	return Message{ID: id, Method: method, Params: p.params}, nil
}

type rejecter func(code int, format string, args ...any) (Message, error)

// response builds a result or an error.
func (p *parts) response(id ID, wrong string, reject rejecter) (Message, error) {
	switch {
	case p.result == nil && p.err == nil:
		return reject(CodeInvalidRequest, "the message has no method, result or error")
	case p.result != nil && p.err != nil:
		return reject(CodeInvalidRequest, "the response has both a result and an error")
	case p.err != nil && rawjson.IsNull(p.id):
		// The peer could not read the id of the request.
	case wrong != "":
		return reject(CodeInvalidRequest, "%s", wrong)
	}
	if p.err != nil {
		e, wrong := readError(p.err)
		if wrong != "" {
			return reject(CodeInvalidRequest, "%s", wrong)
		}
		return Message{ID: id, Error: e}, nil
	}
	switch {
	case id == nil:
		return reject(CodeInvalidRequest, "id: missing: a result needs the id of its request")
	case !rawjson.IsObject(p.result):
		return reject(CodeInvalidRequest, `result: expected an object`)
	}
	return Message{ID: id, Result: p.result}, nil
}

// readID returns the id, or what is wrong with it. A missing id is not an
// error.
func readID(raw []byte) (id ID, wrong string) {
	switch {
	case raw == nil:
		return nil, ""
	case len(raw) > MaxID:
		return nil, fmt.Sprintf("id: %d bytes; at most %d are allowed", len(raw), MaxID)
	case raw[0] == '"' || isInteger(raw):
		return raw, ""
	case rawjson.IsNull(raw):
		return nil, "id: null is not allowed; omit the id to send a notification"
	}
	return nil, "id: expected a string or an integer without fraction and exponent"
}

// isInteger reports whether a valid JSON value is an integer.
func isInteger(raw []byte) bool {
	for i, b := range raw {
		if b-'0' > 9 && (b != '-' || i > 0) {
			return false
		}
	}
	return true
}

// readError returns the error of a response, or what is wrong with it.
func readError(raw []byte) (e *Error, wrong string) {
	if !rawjson.IsObject(raw) {
		return nil, `error: expected an object`
	}
	var code, message []byte
	e = &Error{}
	for m := rawjson.Object(raw); m.Next(); {
		switch string(m.Name) {
		case "code":
			code = m.Value
		case "message":
			message = m.Value
		case "data":
			e.Data = m.Value
		}
	}
	if code == nil || !isInteger(code) {
		return nil, "error.code: expected an integer without fraction and exponent"
	}
	var err error
	if e.Code, err = strconv.Atoi(string(code)); err != nil {
		return nil, "error.code: out of range"
	}
	var ok bool
	if e.Message, ok = rawjson.String(message); !ok {
		return nil, "error.message: expected a string"
	}
	return e, ""
}

// A BatchItem is one message of a batch, or the [*DecodeError] for it.
type BatchItem struct {
	Message
	Err error
}

// IsBatch reports whether data, if it is valid JSON, is an array.
func IsBatch(data []byte) bool { return rawjson.IsArray(data) }

// DecodeBatch decodes a batch of at most max messages; max <= 0 means no limit.
// As with [Decode], data is validated once and the messages hold slices of it.
// The error is a [*DecodeError] for the batch as a whole; errors of single
// messages are in their items.
func DecodeBatch(data []byte, max int) ([]BatchItem, error) {
	if err := rawjson.Check(data); err != nil {
		return nil, notJSON(err)
	}
	if !rawjson.IsArray(data) {
		return nil, &DecodeError{Code: CodeInvalidRequest, Reason: "not a batch: expected a JSON array"}
	}
	var items []BatchItem
	for e := rawjson.Array(data); e.Next(); {
		if max > 0 && len(items) == max {
			return nil, &DecodeError{Code: CodeInvalidRequest, Reason: fmt.Sprintf("the batch has more than %d messages", max)}
		}
		var item BatchItem
		item.Message, item.Err = decodeChecked(e.Value)
		items = append(items, item)
	}
	if len(items) == 0 {
		return nil, &DecodeError{Code: CodeInvalidRequest, Reason: "the batch is empty"}
	}
	return items, nil
}

// decodeChecked decodes a message from JSON that has been validated.
func decodeChecked(raw []byte) (Message, error) {
	if !rawjson.IsObject(raw) {
		return Message{}, notObject(raw)
	}
	var p parts
	for m := rawjson.Object(raw); m.Next(); {
		p.put(m.Name, m.Value)
	}
	return p.message()
}
