package gateway

import (
	"context"
	"slices"

	"github.com/tenon-mcp/tenon/internal/protocol"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/mcp"
)

// within serves server/discover, and passes on notifications of the client. The
// Router leaves out the servers of which the caller may use nothing.
func (p *RuleSet) within(ctx context.Context, c *mcp.Call, r *rights, next mcp.Handler) (mcp.Result, error) {
	if one, ok := p.names.(oneServer); ok && !r.mayUse(string(one), "") {
		if c.IsNotification {
			return mcp.Result{}, nil
		}
		res, err := next.Serve(ctx, c)
		res.Body = rawjson.RewriteMember(res.Body, "instructions", func([]byte) []byte { return nil })
		return filtered(res, res.Body), err
	}
	res, err := next.Serve(ctx, c)
	return filtered(res, res.Body), err
}

// listen serves subscriptions/listen without what the caller may not use, as if it
// did not exist.
func (p *RuleSet) listen(ctx context.Context, c *mcp.Call, r *rights, next mcp.Handler) (mcp.Result, error) {
	onward := *c
	var err error
	if onward.Params, err = p.reduced(ctx, c, r); err != nil {
		return mcp.Result{}, err
	}
	return next.Serve(ctx, &onward)
}

// mayReceive reports whether a subscriber may get a notification.
func (p *RuleSet) mayReceive(ctx context.Context, c *mcp.Call, n mcp.Notification) bool {
	r := p.callers.of(c.Caller.Principal)
	tools, prompts, resources := p.seesLists(r)
	switch n.Method {
	case mcp.NotificationSubscriptionsAcknowledged:
		return true
	case mcp.NotificationToolsListChanged:
		return tools
	case mcp.NotificationPromptsListChanged:
		return prompts
	case mcp.NotificationResourcesListChanged:
		return resources
	}
	may := true
	_, _ = protocol.RenameNames(n.Method, mcp.InParams, "", n.Params, func(kind, name string) (string, error) {
		may = may && p.maySee(ctx, c, r, kind, name)
		return name, nil
	})
	return may
}

// reduced returns the parameters of a subscription without what the caller may not
// use.
func (p *RuleSet) reduced(ctx context.Context, c *mcp.Call, r *rights) ([]byte, error) {
	params, err := withoutNames(c, func(kind, name string) bool { return p.maySee(ctx, c, r, kind, name) })
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
func (p *RuleSet) seesLists(r *rights) (tools, prompts, resources bool) {
	some := func(kind string) bool {
		return slices.ContainsFunc(r.rules, func(rule *Rule) bool { return !rule.Deny && (rule.isWhole() || rule.isAbout(kind)) })
	}
	return some(protocol.KindTool), some(protocol.KindPrompt), some(protocol.KindURI)
}
