package jsonrpc

import (
	"fmt"
	"strconv"

	"github.com/tenon-mcp/tenon/internal/rawjson"
)

// Decode reads one message. The whole of data is checked, once; the message
// holds slices of data, which must not be changed as long as it is used. The
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
	return &DecodeError{Code: CodeParse, Reason: "the message is not valid JSON: " + err.Error()}
}

func notObject(data []byte) *DecodeError {
	what := "a message is a JSON object, and this is not one"
	if rawjson.IsArray(data) {
		what = "a message is a JSON object, and this is an array: batches are not accepted here"
	}
	return &DecodeError{Code: CodeInvalidRequest, Reason: what}
}

// parts are the members of a message as they stand in it; nil means absent.
// Members with other names are of no concern.
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

// message makes the message of its parts, or says why they are none.
func (p *parts) message() (Message, error) {
	id, wrong := readID(p.id)
	refuse := func(code int, format string, args ...any) (Message, error) {
		answer := p.method == nil && (p.result != nil || p.err != nil)
		return Message{}, &DecodeError{Code: code, ID: id, Response: answer, Reason: fmt.Sprintf(format, args...)}
	}
	switch {
	case p.version == nil:
		return refuse(CodeInvalidRequest, `the member "jsonrpc" is missing: it must be "2.0"`)
	case string(p.version) != `"2.0"` && !rawjson.EqualString(p.version, "2.0"):
		return refuse(CodeInvalidRequest, `the member "jsonrpc" must be the string "2.0"`)
	case p.method == nil:
		return p.response(id, wrong, refuse)
	case p.result != nil || p.err != nil:
		return refuse(CodeInvalidRequest, "a message cannot be a request and a response: it has a method and a result or an error")
	case wrong != "":
		return refuse(CodeInvalidRequest, "%s", wrong)
	}
	method, ok := rawjson.String(p.method)
	switch {
	case !ok || method == "":
		return refuse(CodeInvalidRequest, `the member "method" must be a string that is not empty`)
	case p.params != nil && !rawjson.IsObject(p.params):
		return refuse(CodeInvalidParams, `the member "params" must be an object`)
	}
	return Message{ID: id, Method: method, Params: p.params}, nil
}

type refusal func(code int, format string, args ...any) (Message, error)

// response makes a result or an error of the parts.
func (p *parts) response(id ID, wrong string, refuse refusal) (Message, error) {
	switch {
	case p.result == nil && p.err == nil:
		return refuse(CodeInvalidRequest, "the message has neither a method nor a result nor an error")
	case p.result != nil && p.err != nil:
		return refuse(CodeInvalidRequest, "a response has a result or an error, not both")
	case p.err != nil && rawjson.IsNull(p.id):
		// The other side could not read the id of what it answers.
	case wrong != "":
		return refuse(CodeInvalidRequest, "%s", wrong)
	}
	if p.err != nil {
		e, wrong := readError(p.err)
		if wrong != "" {
			return refuse(CodeInvalidRequest, "%s", wrong)
		}
		return Message{ID: id, Error: e}, nil
	}
	switch {
	case id == nil:
		return refuse(CodeInvalidRequest, "a result needs the id of its request")
	case !rawjson.IsObject(p.result):
		return refuse(CodeInvalidRequest, `the member "result" must be an object`)
	}
	return Message{ID: id, Result: p.result}, nil
}

// readID returns the id, or what is wrong with it. No id at all is not wrong.
func readID(raw []byte) (id ID, wrong string) {
	switch {
	case raw == nil:
		return nil, ""
	case len(raw) > MaxID:
		return nil, fmt.Sprintf("the id has %d bytes, and %d are allowed", len(raw), MaxID)
	case raw[0] == '"' || isInteger(raw):
		return raw, ""
	case rawjson.IsNull(raw):
		return nil, "the id must not be null: leave it out to send a notification"
	}
	return nil, "the id must be a string or an integer without fraction and exponent"
}

// isInteger reports whether a checked value is a number written as an integer.
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
		return nil, `the member "error" must be an object`
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
		return nil, "the code of the error must be an integer without fraction and exponent"
	}
	var err error
	if e.Code, err = strconv.Atoi(string(code)); err != nil {
		return nil, "the code of the error is out of range"
	}
	var ok bool
	if e.Message, ok = rawjson.String(message); !ok {
		return nil, "the message of the error must be a string"
	}
	return e, ""
}
