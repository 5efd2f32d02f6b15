package mcp

import (
	"encoding/json"
	"fmt"

	"github.com/tenon-mcp/tenon/internal/rawjson"
)

// Tool calls are what a server does all day, so their parameters and results
// are read and written here by hand. Whatever is rare is left to the JSON
// library; tests hold both against each other.

// DecodeCallToolParams reads the parameters of a [MethodToolsCall] without
// copying the arguments. raw must have been checked, as [Call.Params] has.
// Args is nil when there are none. The error is an [*Error].
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
		return "", nil, InvalidParams("name: missing: say which tool to call")
	}
	return name, args, nil
}

// AppendJSON appends the result to dst, on one line. It means the same as what
// [Marshal] writes and is made much faster.
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

// DecodeCallToolResult reads the result of a [MethodToolsCall]. raw must have
// been checked, as [Result.Body] has; the structured content is a slice of it,
// not a copy. It reads what [Unmarshal] would, faster.
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

// decodeFast reports false when it meets anything it leaves to the library,
// which also finds the words for what is wrong.
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

// plainText is the text of a block that is nothing but text.
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
