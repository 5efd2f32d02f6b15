package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/tenon-mcp/tenon/internal/protocol"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/mcp"
)

// Ping returns nil if the server responds. It sends a ping to a server of an
// older revision, and server/discover, not cached, to one of revision
// 2026-07-28, which has no ping.
func (c *Client) Ping(ctx context.Context) error {
	_, _, err := c.do(ctx, mcp.MethodPing, "", nil, nil)
	return err
}

// Revision returns the protocol revision that the connection uses. It is empty
// for a server in the same process.
func (c *Client) Revision(ctx context.Context) (mcp.Revision, error) {
	res, _, err := c.do(ctx, protocol.MethodRevision, "", nil, nil)
	if e, ok := errors.AsType[*mcp.Error](err); ok && e.Code == mcp.CodeMethodNotFound {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	var r protocol.RevisionResult
	err = res.Decode(&r)
	return r.Revision, err
}

// Discover returns the server's description of itself and its capabilities.
func (c *Client) Discover(ctx context.Context) (*mcp.Discovery, error) {
	res, _, err := c.do(ctx, mcp.MethodDiscover, "", nil, nil)
	if err != nil {
		return nil, err
	}
	if _, err := completeBody(mcp.MethodDiscover, "", res); err != nil {
		return nil, err
	}
	return protocol.DecodeDiscovery(res)
}

// ReadResource reads a resource. The time limits are those of the client's
// [Options]; use [Client.Do] for those of a single call. The same applies to
// GetPrompt and Complete.
func (c *Client) ReadResource(ctx context.Context, uri string) (*mcp.ReadResourceResult, error) {
	params := append(rawjson.AppendString([]byte(`{"uri":`), uri), '}')
	return fetch[mcp.ReadResourceResult](ctx, c, mcp.MethodResourcesRead, uri, params, "contents")
}

// GetPrompt returns the messages of a prompt. Nil args means none.
func (c *Client) GetPrompt(ctx context.Context, name string, args map[string]string) (*mcp.GetPromptResult, error) {
	params, err := mcp.Marshal(mcp.GetPromptParams{Name: name, Arguments: args})
	if err != nil {
		return nil, refused("arguments of prompt %q: %v", clip(name), err)
	}
	return fetch[mcp.GetPromptResult](ctx, c, mcp.MethodPromptsGet, name, params, "messages")
}

// Complete returns possible values of an argument of a prompt or resource
// template. Values after the first 100 are dropped.
func (c *Client) Complete(ctx context.Context, p mcp.CompleteParams) (*mcp.Completion, error) {
	params, err := mcp.Marshal(p)
	if err != nil {
		return nil, refused("parameters of %s: %v", mcp.MethodComplete, err)
	}
	res, err := fetch[mcp.CompleteResult](ctx, c, mcp.MethodComplete, "", params, "completion")
	if err != nil {
		return nil, err
	}
	found := res.Completion
	if len(found.Values) > protocol.MaxCompletions {
		c.opts.warn(fmt.Sprintf("%s returned %d values; dropped those beyond the %d allowed", mcp.MethodComplete, len(found.Values), protocol.MaxCompletions))
		found.Values, found.HasMore = found.Values[:protocol.MaxCompletions], true
	}
	return &found, nil
}

// fetch makes a call and decodes its result, which must have the given member.
func fetch[T any](ctx context.Context, c *Client, method, name string, params json.RawMessage, member string) (*T, error) {
	body, err := c.complete(ctx, method, name, params, nil)
	if err != nil {
		return nil, err
	}
	if v := rawjson.Lookup(body, member); v == nil || rawjson.IsNull(v) {
		return nil, invalid(method, name, "%s: missing", member)
	}
	out := new(T)
	if err := mcp.Unmarshal(body, out); err != nil {
		return nil, invalid(method, name, "%v", err)
	}
	return out, nil
}
