package mcp

import (
	"encoding/json"
	"fmt"

	"github.com/tenon-mcp/tenon/internal/rawjson"
)

// Parameters and results of tool calls are encoded and decoded by hand, because
// they are the most frequent ones. Rare forms are left to the JSON library;
// tests compare both.

// DecodeCallToolParams decodes the parameters of a [MethodToolsCall] call
// without copying the arguments. raw must have been validated, as [Call.Params]
// has. args is nil if there are none. The error is an [*Error].
func DecodeCallToolParams(raw json.RawMessage) (name string, args json.RawMessage, err error) {
	var named bool
	for m := rawjson.Object(raw); m.Next(); {
		switch string(m.Name) {
		case "name":
			if name, named = rawjson.String(m.Value); !named {
				return "", nil, InvalidParams("name: expected a string, the name of a tool")
			}
		case "arguments":
			switch {
			case rawjson.IsObject(m.Value):
				args = m.Value
			case !rawjson.IsNull(m.Value):
				return "", nil, InvalidParams("arguments: expected an object")
			}
		}
	}
	if !named {
		return "", nil, InvalidParams("name: missing")
	}
	return name, args, nil
}

// AppendJSON appends the result to dst as one line of JSON. It is a faster
// [Marshal].
func (r *CallToolResult) AppendJSON(dst []byte) ([]byte, error) {
	dst, err := r.Content.appendJSON(append(dst, `{"content":`...))
	if err != nil {
		return nil, err
	}
	if r.StructuredContent != nil {
		if err := rawjson.Check(r.StructuredContent); err != nil {
			return nil, fmt.Errorf("structuredContent is not valid JSON: %w", err)
		}
		dst = append(dst, `,"structuredContent":`...)
		dst = rawjson.AppendCompact(dst, r.StructuredContent)
	}
	if r.IsError {
		dst = append(dst, `,"isError":true`...)
	}
	return append(dst, '}'), nil
}

// DecodeCallToolResult decodes the result of a [MethodToolsCall] call. raw must
// have been validated, as [Result.Body] has; the structured content is a slice
// of it. It is a faster [Unmarshal].
func DecodeCallToolResult(raw json.RawMessage) (*CallToolResult, error) {
	r := new(CallToolResult)
	if r.decodeFast(raw) {
		return r, nil
	}
	r = new(CallToolResult)
	if err := Unmarshal(raw, r); err != nil {
		return nil, err
	}
	return r, nil
}

// decodeFast returns false for anything that it leaves to the JSON library,
// which also reports the errors.
func (r *CallToolResult) decodeFast(raw []byte) bool {
	for m := rawjson.Object(raw); m.Next(); {
		switch string(m.Name) {
		case "content":
			if !r.Content.decodeFast(m.Value) {
				return false
			}
		case "structuredContent":
			r.StructuredContent = m.Value
		case "isError":
			switch string(m.Value) {
			case "true":
				r.IsError = true
			case "false":
			default:
				return false
			}
		}
	}
	return rawjson.IsObject(raw)
}

func (cs *Contents) decodeFast(raw []byte) bool {
	list := Contents{}
	for e := rawjson.Array(raw); e.Next(); {
		if t, ok := plainText(e.Value); ok {
			list = append(list, &TextContent{Text: t})
			continue
		}
		var b singleBlock
		if Unmarshal(e.Value, &b) != nil {
			return false
		}
		list = append(list, b.block)
	}
	*cs = list
	return rawjson.IsArray(raw)
}

// plainText returns the text of a block that has no other members.
func plainText(block []byte) (text string, ok bool) {
	var isText, hasText bool
	for m := rawjson.Object(block); m.Next(); {
		switch string(m.Name) {
		case "type":
			isText = rawjson.EqualString(m.Value, "text")
		case "text":
			text, hasText = rawjson.String(m.Value)
		default:
			return "", false
		}
	}
	return text, isText && hasText
}
