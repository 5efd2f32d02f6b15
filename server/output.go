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

// A brokenPromise is the error of an output that does not keep the output
// schema of its tool.
type brokenPromise struct{ problems error }

func (b *brokenPromise) Error() string { return b.problems.Error() }

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
	if w, ok := any((*Out)(nil)).(wrapper); ok {
		encode, outSchema, err := w.encoder()
		return func(v *Out) (json.RawMessage, error) { return encode(v) }, outSchema, err
	}
	var none Out
	if w, ok := any(none).(wrapper); ok { // a pointer to an Output
		encode, outSchema, err := w.encoder()
		return func(v *Out) (json.RawMessage, error) { return encode(*v) }, outSchema, err
	}
	plan, err := outputOf[Out]()
	if err != nil {
		return nil, nil, err
	}
	return plan.body, plan.Schema(), nil
}

// An Output is the output of a tool with what a model reads beside it, chosen
// by the tool for this call. The output schema is that of T. Use it where a type
// is shared by several tools, or where the text depends on the call; a type
// that always reads the same implements [Texter] or [Contenter].
type Output[T any] struct {
	// Structured becomes the structured content.
	Structured T
	// Text becomes the content. Empty means what T says of itself, or its JSON.
	Text string
	// Content, unless it is nil, becomes the content instead of Text.
	Content mcp.Contents
}

// A wrapper is an Output of any type.
type wrapper interface {
	encoder() (encode func(output any) (json.RawMessage, error), outSchema json.RawMessage, err error)
}

// encoder returns how an Output is encoded. It needs no value.
func (*Output[T]) encoder() (func(any) (json.RawMessage, error), json.RawMessage, error) {
	plan, err := outputOf[T]()
	if err != nil {
		return nil, nil, err
	}
	return func(v any) (json.RawMessage, error) {
		o := v.(*Output[T])
		switch {
		case o == nil:
			return nil, errNothing
		case o.Content != nil:
			return contentBody(plan, &o.Structured, func(*T) mcp.Contents { return o.Content })
		case o.Text != "":
			return structuredBody(plan, &o.Structured, func(*T) string { return o.Text })
		}
		return plan.body(&o.Structured)
	}, plan.Schema(), nil
}

// beside is what an output says of itself: content, text, or neither, which are
// nil then.
type beside[Out any] struct {
	contents func(*Out) mcp.Contents
	text     func(*Out) string
}

// besideOf finds the methods of an output. They may be on the value or on the
// pointer.
func besideOf[Out any]() (b beside[Out]) {
	if contenter, ok := methodOf[Out, Contenter](); ok {
		b.contents = func(v *Out) mcp.Contents { return contenter(v).MCPContents() }
	}
	if texter, ok := methodOf[Out, Texter](); ok {
		b.text = func(v *Out) string { return texter(v).MCPText() }
	}
	return b
}

// methodOf returns how an Out is seen as an I, if it or a pointer to it is one.
func methodOf[Out, I any]() (as func(*Out) I, ok bool) {
	wanted := reflect.TypeFor[I]()
	switch {
	case reflect.TypeFor[Out]().Implements(wanted):
		return func(v *Out) I { return any(*v).(I) }, true
	case reflect.TypeFor[*Out]().Implements(wanted):
		return func(v *Out) I { return any(v).(I) }, true
	}
	return nil, false
}

// body encodes an output with what it says of itself.
func (p *planned[Out]) body(v *Out) (json.RawMessage, error) {
	if p.own.contents != nil {
		return contentBody(p, v, p.own.contents)
	}
	return structuredBody(p, v, p.own.text)
}

// contentBody encodes an output that has blocks of its own beside it.
func contentBody[Out any](plan *planned[Out], v *Out, contents func(*Out) mcp.Contents) (json.RawMessage, error) {
	structured, err := plan.append(nil, v)
	if err != nil {
		return nil, err
	}
	r := mcp.CallToolResult{Content: contents(v), StructuredContent: structured}
	return r.AppendJSON(nil)
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
	body, err := plan.append(body, v)
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
