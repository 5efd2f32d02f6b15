package server

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/schema"
)

var errNothing = errors.New("the result is nil")

// An outputError is the error of an output that violates the output schema of
// its tool.
type outputError struct{ problems error }

func (b *outputError) Error() string { return b.problems.Error() }

// encoderOf returns the function that encodes an Out as the body of a tool
// result, and the output schema, which is nil for types that are passed on as
// they are.
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
		return nil, nil, errors.New("use *mcp.CallToolResult, a pointer")
	case *mcp.Content, *[]mcp.Content, **mcp.TextContent:
		return nil, nil, errors.New("use mcp.Contents or string")
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

// An Output is the output of a tool together with the content for the model,
// chosen for this call. The output schema is that of T. Use it if several tools
// share a type, or if the text depends on the call; a type that always produces
// the same text implements [Texter] or [Contenter].
type Output[T any] struct {
	// Structured becomes the structured content.
	Structured T
	// Text becomes the content. Empty means the text of T, or its JSON.
	Text string
	// Content, if not nil, becomes the content instead of Text.
	Content mcp.Contents
}

// A wrapper is an Output of any type.
type wrapper interface {
	encoder() (encode func(output any) (json.RawMessage, error), outSchema json.RawMessage, err error)
}

// encoder returns the function that encodes an Output. It needs no value.
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

// beside holds the functions with which an output describes itself; nil if it
// has no such methods.
type beside[Out any] struct {
	contents func(*Out) mcp.Contents
	text     func(*Out) string
}

// besideOf finds the methods of an output, on the value or on the pointer.
func besideOf[Out any]() (b beside[Out]) {
	if contenter, ok := methodOf[Out, Contenter](); ok {
		b.contents = func(v *Out) mcp.Contents { return contenter(v).MCPContents() }
	}
	if texter, ok := methodOf[Out, Texter](); ok {
		b.text = func(v *Out) string { return texter(v).MCPText() }
	}
	return b
}

// methodOf returns the conversion of an Out to I, if Out or *Out implements it.
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

// body encodes an output with the content that it provides itself.
func (p *planned[Out]) body(v *Out) (json.RawMessage, error) {
	if p.own.contents != nil {
		return contentBody(p, v, p.own.contents)
	}
	return structuredBody(p, v, p.own.text)
}

// contentBody encodes an output with content blocks of its own.
func contentBody[Out any](plan *planned[Out], v *Out, contents func(*Out) mcp.Contents) (json.RawMessage, error) {
	structured, err := plan.append(nil, v)
	if err != nil {
		return nil, err
	}
	r := mcp.CallToolResult{Content: contents(v), StructuredContent: structured}
	return r.AppendJSON(nil)
}

// longText is the length from which counting the characters to escape is
// cheaper than growing the buffer.
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

// usualRoom is the buffer size for results of a type: slightly more than the
// last one took.
type usualRoom struct{ atomic.Int64 }

func (r *usualRoom) make() []byte { return make([]byte, 0, max(64, r.Load())) }

func (r *usualRoom) learn(size int) {
	if room := int64(min(size+size/8+16, longText)); room != r.Load() {
		r.Store(room)
	}
}

// structuredBody encodes an output once, as structured content, and quotes that
// as the text unless there is another text.
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

var plans sync.Map // of *planned[T], by the type of T

// A planned is a compiled type.
type planned[T any] struct {
	*schema.Plan[T]
	room usualRoom // of results
	own  beside[T] // the content that a result provides itself
}

// append encodes an output and checks it against the rules of its tags.
func (p *planned[T]) append(dst []byte, v *T) ([]byte, error) {
	start := len(dst)
	dst, err := p.Append(dst, v)
	if err != nil {
		return dst, err
	}
	if err := p.Check(dst[start:]); err != nil {
		return dst, &outputError{err}
	}
	return dst, nil
}

// planOf compiles a type once for all features that use it. It does not cache
// an error.
func planOf[T any]() (*planned[T], error) {
	t := reflect.TypeFor[T]()
	if p, ok := plans.Load(t); ok {
		return p.(*planned[T]), nil
	}
	compiled, err := schema.Compile[T]()
	if err != nil {
		return nil, err
	}
	p := &planned[T]{Plan: compiled, own: besideOf[T]()}
	plans.Store(t, p)
	return p, nil
}

// inputOf compiles a type that is only decoded.
func inputOf[T any]() (*planned[T], error) {
	p, err := planOf[T]()
	if err != nil {
		return nil, err
	}
	return p, p.CanDecode()
}

// outputOf compiles a type that is only encoded.
func outputOf[T any]() (*planned[T], error) {
	p, err := planOf[T]()
	if err != nil {
		return nil, err
	}
	return p, p.CanEncode()
}
