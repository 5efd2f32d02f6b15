package client

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/mcp"
)

// answer has a question answered by whoever can. The caller has made sure that
// the question is of a kind that was declared. The flight is nil when the
// question belongs to no call.
func (o *Options) handleInput(ctx context.Context, f *flight, key string, q mcp.InputRequest) (json.RawMessage, error) {
	switch q.Method {
	case mcp.MethodElicit:
		return o.elicit(ctx, f, key, q)
	case mcp.MethodCreateMessage:
		return o.Sampling.handle(ctx, q)
	case mcp.MethodRootsList:
		return o.listRoots(ctx)
	}
	return nil, mcp.MethodNotFound(q.Method)
}

// malformed is the error for a question that nobody can be asked.
func malformed(q mcp.InputRequest, err error) error {
	return &mcp.Error{Code: mcp.CodeInvalidParams, Local: true,
		Message: fmt.Sprintf("the server asks %s in a way that cannot be used: %v", q.Method, err)}
}

// object encodes parameters or arguments with encode; they must be a JSON
// object. Raw JSON is checked and passed through; nil is nil.
func object(v any, encode func(any) (json.RawMessage, error)) (json.RawMessage, error) {
	var raw json.RawMessage
	switch v := v.(type) {
	case nil:
		return nil, nil
	case json.RawMessage:
		raw = v
	case []byte:
		raw = v
	default:
		enc, err := encode(v)
		if err != nil {
			return nil, err
		}
		if rawjson.IsNull(enc) {
			return nil, nil // a nil map or pointer
		}
		if !rawjson.IsObject(enc) {
			return nil, fmt.Errorf("expected a struct or a map, something that becomes a JSON object, not %T", v)
		}
		return enc, nil
	}
	if len(raw) == 0 {
		return nil, nil
	}
	if err := rawjson.Check(raw); err != nil {
		return nil, fmt.Errorf("not valid JSON: %w", err)
	}
	if !rawjson.IsObject(raw) {
		return nil, fmt.Errorf("expected a JSON object, found %s", clip(string(raw)))
	}
	return raw, nil
}

func quote(s string) string { return strconv.Quote(clip(s)) }
