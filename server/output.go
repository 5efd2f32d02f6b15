package server

import (
	"encoding/json"
	"reflect"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/schema"
)

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
				return nil, mcp.Errorf(mcp.CodeInternal, "the tool came to nothing")
			}
			return r.AppendJSON(nil)
		}, nil, nil
	}
	plan, err := schema.Compile[Out]()
	if err != nil {
		return nil, nil, err
	}
	texts := reflect.TypeFor[Out]().Implements(reflect.TypeFor[Texter]())
	return func(v *Out) (json.RawMessage, error) { return structuredBody(plan, v, texts) }, plan.Schema(), nil
}

func textBody(text string) json.RawMessage {
	body := make([]byte, 0, len(text)+48)
	body = rawjson.AppendString(append(body, `{"content":[{"type":"text","text":`...), text)
	return append(body, `}]}`...)
}

// structuredBody encodes an output once, as structured content, and quotes it
// as the text. An output that cannot be encoded is a fault of the tool, which
// no other arguments would mend.
func structuredBody[Out any](plan *schema.Plan[Out], v *Out, texts bool) (json.RawMessage, error) {
	body := append(make([]byte, 0, 256), `{"structuredContent":`...)
	start := len(body)
	body, err := plan.Append(body, v)
	if err != nil {
		return nil, mcp.Errorf(mcp.CodeInternal, "the output of the tool cannot be encoded: %v", err)
	}
	text := string(body[start:])
	if texts {
		text = any(*v).(Texter).MCPText()
	}
	body = append(body, `,"content":[{"type":"text","text":`...)
	body = rawjson.AppendString(body, text)
	return append(body, `}]}`...), nil
}
