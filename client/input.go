package client

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/mcp"
)

// handleInput responds to an input request. The caller has checked that the
// client declared the capability. f is nil if the request belongs to no call.
func (o *Options) handleInput(ctx context.Context, f *activeCall, key string, q mcp.InputRequest) (json.RawMessage, error) {
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

// invalidRequest returns the error for an invalid input request.
func invalidRequest(q mcp.InputRequest, err error) error {
	return &mcp.Error{Code: mcp.CodeInvalidParams, Local: true,
		Message: fmt.Sprintf("invalid input request %s: %v", q.Method, err)}
}

// object encodes parameters or arguments, which must be a JSON object. It
// validates raw JSON and returns it unchanged; nil stays nil.
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
			return nil, fmt.Errorf("expected a struct or a map, not %T", v)
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
