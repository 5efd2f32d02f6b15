package gateway

import (
	"context"
	"slices"

	"github.com/tenon-mcp/tenon/internal/protocol"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/mcp"
)

// rightsKey is the key of the caller's rights in the context of a call.
type rightsKey struct{}

// mayUseServer reports whether the caller may use anything of a server.
func mayUseServer(ctx context.Context, server string) bool {
	r, ok := ctx.Value(rightsKey{}).(*rights)
	return !ok || r.mayUse(server, "")
}

// within serves server/discover, and passes on notifications of the client. The
// Router leaves out the servers of which the caller may use nothing.
func (p *policy) within(ctx context.Context, c *mcp.Call, r *rights, next mcp.Handler) (mcp.Result, error) {
	if one, ok := p.names.(oneServer); ok && !r.mayUse(string(one), "") {
		if c.IsNotification {
			return mcp.Result{}, nil
		}
		res, err := next.Serve(ctx, c)
		res.Body = rawjson.RewriteMember(res.Body, "instructions", func([]byte) []byte { return nil })
		return filtered(res, res.Body), err
	}
	res, err := next.Serve(context.WithValue(ctx, rightsKey{}, r), c)
	return filtered(res, res.Body), err
}

// listen serves subscriptions/listen without what the caller may not use, as if it
// did not exist.
func (p *policy) listen(ctx context.Context, c *mcp.Call, r *rights, next mcp.Handler) (mcp.Result, error) {
	onward := *c
	var err error
	if onward.Params, err = p.reduced(ctx, c, r); err != nil {
		return mcp.Result{}, err
	}
	if c.OnNotification != nil {
		onward.OnNotification = func(n mcp.Notification) {
			if n.Method == mcp.NotificationResourceUpdated {
				uri, _ := rawjson.String(rawjson.Lookup(n.Params, "uri"))
				if !p.maySee(ctx, r, protocol.KindURI, uri) {
					return
				}
			}
			c.OnNotification(n)
		}
	}
	return next.Serve(ctx, &onward)
}

// reduced returns the parameters of a subscription without what the caller may not
// use.
func (p *policy) reduced(ctx context.Context, c *mcp.Call, r *rights) ([]byte, error) {
	params, err := withoutNames(c, func(kind, name string) bool { return p.maySee(ctx, r, kind, name) })
	if err != nil || len(params) == 0 {
		return params, err
	}
	var in mcp.ListenParams
	if err := mcp.Unmarshal(params, &in); err != nil {
		return nil, mcp.InvalidParams("%v", err)
	}
	f := &in.Notifications
	tools, prompts, resources := p.seesLists(r)
	if (tools || !f.ToolsListChanged) && (prompts || !f.PromptsListChanged) && (resources || !f.ResourcesListChanged) {
		return params, nil
	}
	f.ToolsListChanged = f.ToolsListChanged && tools
	f.PromptsListChanged = f.PromptsListChanged && prompts
	f.ResourcesListChanged = f.ResourcesListChanged && resources
	return mcp.Marshal(in)
}

// withoutNames returns the parameters of a subscription with the names that keep
// selects.
func withoutNames(c *mcp.Call, keep func(kind, name string) bool) ([]byte, error) {
	all := true
	marked, err := protocol.RenameNames(c.Method, mcp.InParams, "", c.Params, func(kind, name string) (string, error) {
		if keep(kind, name) {
			return name, nil
		}
		all = false
		return notOurs, nil
	})
	if err != nil || all {
		return c.Params, err
	}
	in, err := unmarked(marked)
	if err != nil {
		return nil, err
	}
	return mcp.Marshal(in)
}

// seesLists reports which lists may have something for the caller.
func (p *policy) seesLists(r *rights) (tools, prompts, resources bool) {
	some := func(kind string) bool {
		return slices.ContainsFunc(r.rules, func(rule *Rule) bool { return !rule.Deny && (rule.isWhole() || rule.isAbout(kind)) })
	}
	return some(protocol.KindTool), some(protocol.KindPrompt), some(protocol.KindURI)
}
