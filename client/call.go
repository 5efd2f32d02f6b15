package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/schema"
)

// A ToolError is the error of a tool that ran and failed.
type ToolError struct {
	Tool   string
	Result *mcp.CallToolResult
}

// Error returns the text of the tool's result.
func (e *ToolError) Error() string {
	if text := e.Result.Content.Text(); text != "" {
		return text
	}
	return fmt.Sprintf("tool %q failed without a message", clip(e.Tool))
}

// Call calls a tool and decodes its result into an Out: the structured content,
// or the text as JSON if there is none. If Out is string, the result is the
// text. A structured value that an older server has wrapped as {"result": …}
// is unwrapped.
//
// Args is encoded as a JSON object: a struct, a map, raw JSON, or nil for none.
// Package schema encodes arguments and decodes results, as on a server, so the
// types used with server.AddTool work here. Unknown properties of the result
// are ignored; missing ones leave their field unchanged; see
// [schema.Unmarshal]. If a value has no JSON form, Call returns an error
// without calling the tool.
//
// If the tool fails, the error is a [*ToolError]. Nil options mean those of the
// client.
func Call[Out any](ctx context.Context, c *Client, tool string, args any, o *CallOptions) (Out, error) {
	var out Out
	if err := schema.CanUnmarshal(&out); err != nil {
		return out, refused("result of tool %q: %v", clip(tool), err)
	}
	res, err := c.callTool(ctx, tool, args, o)
	if err != nil {
		return out, err
	}
	if res.failed {
		return out, res.toolError(tool)
	}
	if s, ok := any(&out).(*string); ok {
		*s, err = res.plain(tool)
		return out, err
	}
	if err := res.decode(tool, &out); err != nil {
		var none Out
		return none, err
	}
	return out, nil
}

// CallTool calls a tool. Args is encoded as for [Call]. The result of a tool
// that failed has IsError set, for a model to read; the error is non-nil if
// there is no result.
func (c *Client) CallTool(ctx context.Context, name string, args any, o *CallOptions) (*mcp.CallToolResult, error) {
	res, err := c.callTool(ctx, name, args, o)
	if err != nil {
		return nil, err
	}
	return res.full(name)
}

// A toolResult is the result of a tool with its content not yet decoded.
type toolResult struct {
	content    json.RawMessage // an array, or nil
	structured json.RawMessage // nil if there is none
	failed     bool
	meta       mcp.Meta
}

func (c *Client) callTool(ctx context.Context, name string, args any, o *CallOptions) (toolResult, error) {
	arguments, err := object(args, schema.Marshal)
	if err != nil {
		return toolResult{}, refused("arguments of tool %q: %v", clip(name), err)
	}
	var out *output
	if !c.opts.SkipOutputCheck {
		if out, err = c.outputs.of(name); err != nil {
			return toolResult{}, err
		}
	}
	got, _, err := c.do(ctx, mcp.MethodToolsCall, name, toolParams(name, arguments), o)
	if err != nil {
		return toolResult{}, err
	}
	body, err := completeBody(mcp.MethodToolsCall, name, got)
	if err != nil {
		return toolResult{}, err
	}
	res, err := readToolResult(name, body)
	res.meta = got.Meta
	if err == nil && out != nil && !res.failed {
		err = out.check(name, res.structured)
	}
	return res, err
}

// complete makes a call whose result must be complete, and returns its body.
func (c *Client) complete(ctx context.Context, method, name string, params json.RawMessage, o *CallOptions) (json.RawMessage, error) {
	res, _, err := c.do(ctx, method, name, params, o)
	if err != nil {
		return nil, err
	}
	return completeBody(method, name, res)
}

// completeBody returns the body of a result, which must be complete.
func completeBody(method, name string, res mcp.Result) (json.RawMessage, error) {
	if res.Type != "" {
		return nil, invalid(method, name, "the result has the type %q of an extension; use Do", clip(res.Type))
	}
	if !rawjson.IsObject(res.Body) {
		return nil, invalid(method, name, "expected an object")
	}
	return res.Body, nil
}

func toolParams(name string, arguments []byte) json.RawMessage {
	dst := make([]byte, 0, len(`{"name":"","arguments":}`)+len(name)+len(arguments)+8)
	dst = rawjson.AppendString(append(dst, `{"name":`...), name)
	if arguments != nil {
		dst = append(append(dst, `,"arguments":`...), arguments...)
	}
	return append(dst, '}')
}

func readToolResult(tool string, body json.RawMessage) (toolResult, error) {
	var r toolResult
	for m := rawjson.Object(body); m.Next(); {
		switch string(m.Name) {
		case "content":
			if !rawjson.IsArray(m.Value) {
				return r, invalid(mcp.MethodToolsCall, tool, "content: expected an array")
			}
			r.content = m.Value
		case "structuredContent":
			r.structured = m.Value
		case "isError":
			switch string(m.Value) {
			case "true":
				r.failed = true
			case "false":
			default:
				return r, invalid(mcp.MethodToolsCall, tool, "isError: expected true or false")
			}
		}
	}
	if r.content == nil && r.structured == nil {
		return r, invalid(mcp.MethodToolsCall, tool, "the result has no content")
	}
	return r, nil
}

// full decodes the whole result.
func (r *toolResult) full(tool string) (*mcp.CallToolResult, error) {
	content, err := r.blocks()
	if err != nil {
		return nil, invalid(mcp.MethodToolsCall, tool, "content: %v", err)
	}
	return &mcp.CallToolResult{Content: content, StructuredContent: r.structured, IsError: r.failed, Meta: r.meta}, nil
}

// blocks decodes the content, with a fast path for plain text.
func (r *toolResult) blocks() (mcp.Contents, error) {
	var list mcp.Contents
	for e := rawjson.Array(r.content); e.Next(); {
		text, plain := plainText(e.Value)
		if !plain {
			list = nil
			err := mcp.Unmarshal(r.content, &list)
			return list, err
		}
		list = append(list, mcp.Text(text))
	}
	return list, nil
}

// plainText returns the text of a block that has no other members.
func plainText(block []byte) (text string, ok bool) {
	var typed, found bool
	for m := rawjson.Object(block); m.Next(); {
		switch string(m.Name) {
		case "type":
			typed = rawjson.EqualString(m.Value, "text")
		case "text":
			text, found = rawjson.String(m.Value)
		default:
			return "", false
		}
	}
	return text, typed && found
}

func (r *toolResult) toolError(tool string) error {
	full, err := r.full(tool)
	if err != nil {
		return err
	}
	return &ToolError{Tool: tool, Result: full}
}

// plain returns the result as a string.
func (r *toolResult) plain(tool string) (string, error) {
	if s, ok := rawjson.String(r.structured); ok {
		return s, nil
	}
	if s, ok := rawjson.String(unwrap(r.structured)); ok {
		return s, nil
	}
	blocks, err := r.blocks()
	if err != nil {
		return "", invalid(mcp.MethodToolsCall, tool, "content: %v", err)
	}
	return blocks.Text(), nil
}

// decode decodes the result into out.
func (r *toolResult) decode(tool string, out any) error {
	if r.structured != nil && !rawjson.IsNull(r.structured) {
		return r.decodeStructured(tool, out)
	}
	text, err := r.plain(tool)
	if err != nil {
		return err
	}
	if text == "" && r.structured != nil {
		return r.decodeStructured(tool, out)
	}
	// Some servers send null for no structured content.
	if rawjson.Check([]byte(text)) != nil {
		return fmt.Errorf("tool %q returned no structured content, and its text is not JSON: %s", clip(tool), quote(text))
	}
	if err := schema.Unmarshal([]byte(text), out); err != nil {
		return fmt.Errorf("decode the text of tool %q: %w", clip(tool), err)
	}
	return nil
}

func (r *toolResult) decodeStructured(tool string, out any) error {
	err := rawjson.Check(r.structured)
	if err != nil {
		return invalid(mcp.MethodToolsCall, tool, "structuredContent: not valid JSON: %v", err)
	}
	inner := unwrap(r.structured)
	if inner != nil && r.says(inner) && schema.Unmarshal(inner, out) == nil {
		return nil // a type that accepts any JSON would accept the wrapped form too
	}
	if err = schema.Unmarshal(r.structured, out); err == nil {
		return nil
	}
	if inner != nil && schema.Unmarshal(inner, out) == nil {
		return nil
	}
	return fmt.Errorf("decode the structured content of tool %q: %w", clip(tool), err)
}

// says reports whether the text of the result is this JSON value, as it is for
// a wrapped value.
func (r *toolResult) says(value []byte) bool {
	if rawjson.IsObject(value) { // objects are never wrapped
		return false
	}
	blocks, err := r.blocks()
	if err != nil {
		return false
	}
	text := []byte(blocks.Text())
	return rawjson.Check(text) == nil && bytes.Equal(rawjson.AppendCanonical(nil, text), rawjson.AppendCanonical(nil, value))
}

// unwrap returns the value in {"result": value}, or nil for anything else.
func unwrap(raw []byte) (inner []byte) {
	for m := rawjson.Object(raw); m.Next(); {
		if inner != nil || string(m.Name) != "result" {
			return nil
		}
		inner = m.Value
	}
	return inner
}
