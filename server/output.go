package server

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"sync/atomic"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/mcp"
)

var errNothing = errors.New("it is nil")

// encoderOf returns what turns an Out into the body of a tool's result, and
// the output schema, which is nil for outputs that are passed on as they are.
func encoderOf[Out any]() (encode func(*Out) (json.RawMessage, error), outSchema json.RawMessage, err error) {
	switch any((*Out)(nil)).(type) {
	case *string:
		return func(v *Out) (json.RawMessage, error) {
			return textBody(*any(v).(*string)), nil
		}, nil, nil
	case *mcp.Contents:
		return func(v *Out) (json.RawMessage, error) {
			r := mcp.CallToolResult{Content: *any(v).(*mcp.Contents)}
			return r.AppendJSON(nil)
		}, nil, nil
	case **mcp.CallToolResult:
		return func(v *Out) (json.RawMessage, error) {
			r := *any(v).(**mcp.CallToolResult)
			if r == nil {
				return nil, errNothing
			}
			return r.AppendJSON(nil)
		}, nil, nil
	case *mcp.CallToolResult:
		return nil, nil, errors.New("return a *mcp.CallToolResult, with a star")
	case *mcp.Content, *[]mcp.Content, **mcp.TextContent:
		return nil, nil, errors.New("return mcp.Contents, or a string")
	}
	plan, err := planOf[Out]()
	if err != nil {
		return nil, nil, err
	}
	if reflect.TypeFor[Out]().Implements(reflect.TypeFor[Contenter]()) {
		return func(v *Out) (json.RawMessage, error) { return contentBody(plan, v) }, plan.Schema(), nil
	}
	text := texterOf[Out]()
	return func(v *Out) (json.RawMessage, error) { return structuredBody(plan, v, text) }, plan.Schema(), nil
}

// contentBody encodes an output that has blocks of its own beside it.
func contentBody[Out any](plan *planned[Out], v *Out) (json.RawMessage, error) {
	structured, err := plan.Append(nil, v)
	if err != nil {
		return nil, err
	}
	r := mcp.CallToolResult{Content: any(*v).(Contenter).MCPContents(), StructuredContent: structured}
	return r.AppendJSON(nil)
}

// texterOf returns what an Out says of itself, or nil if it says nothing.
func texterOf[Out any]() func(*Out) string {
	texter := reflect.TypeFor[Texter]()
	switch {
	case reflect.TypeFor[Out]().Implements(texter):
		return func(v *Out) string { return any(*v).(Texter).MCPText() }
	case reflect.TypeFor[*Out]().Implements(texter):
		return func(v *Out) string { return any(v).(Texter).MCPText() }
	}
	return nil
}

// longText is from where on it pays to count what will be escaped, so that room
// for the text is made once.
const longText = 4 << 10

func textBody(text string) json.RawMessage {
	room := len(text) + 48
	if len(text) > longText {
		for _, escaped := range []string{`"`, `\`, "\n", "\t"} {
			room += strings.Count(text, escaped)
		}
	}
	body := make([]byte, 0, room)
	body = rawjson.AppendString(append(body, `{"content":[{"type":"text","text":`...), text)
	return append(body, `}]}`...)
}

// usualRoom is how much room results of a type take: a little more than the
// last one did, for they are mostly alike.
type usualRoom struct{ atomic.Int64 }

func (r *usualRoom) make() []byte { return make([]byte, 0, max(64, r.Load())) }

func (r *usualRoom) learn(size int) {
	if room := int64(min(size+size/8+16, longText)); room != r.Load() {
		r.Store(room)
	}
}

// structuredBody encodes an output once, as structured content, and quotes it
// as the text unless there is another.
func structuredBody[Out any](plan *planned[Out], v *Out, text func(*Out) string) (json.RawMessage, error) {
	body := append(plan.room.make(), `{"structuredContent":`...)
	start := len(body)
	body, err := plan.Append(body, v)
	if err != nil {
		return nil, err
	}
	end := len(body)
	body = append(body, `,"content":[{"type":"text","text":`...)
	if text != nil {
		body = rawjson.AppendString(body, text(v))
	} else {
		body = rawjson.AppendQuoted(body, body[start:end])
	}
	body = append(body, `}]}`...)
	plan.room.learn(len(body))
	return body, nil
}
