package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
)

const (
	mostPages = 200
	mostItems = 20_000
)

// lists reads every list of the server, declared or not.
func (x *examination) lists(ctx context.Context) {
	if raw, ok := x.list(ctx, mcp.MethodToolsList, "tools", x.caps.Tools != nil); ok {
		x.tools(raw)
	}
	resources, _ := x.list(ctx, mcp.MethodResourcesList, "resources", x.caps.Resources != nil)
	x.resources(resources)
	templates, _ := x.list(ctx, mcp.MethodResourceTemplatesList, "resourceTemplates", x.caps.Resources != nil)
	x.templates(templates)
	prompts, _ := x.list(ctx, mcp.MethodPromptsList, "prompts", x.caps.Prompts != nil)
	x.prompts(prompts)
	x.completion(ctx, prompts)
	x.changes(ctx, resources)
}

// list reads all pages of a list, as raw items. It returns false if there is
// none.
func (x *examination) list(ctx context.Context, method, member string, declared bool) ([]json.RawMessage, bool) {
	var all []json.RawMessage
	seen := map[string]bool{}
	var cursor *string
	for page := 1; ; page++ {
		var params any
		if cursor != nil {
			params = map[string]string{"cursor": *cursor}
		}
		r, err := x.ask(ctx, method, params)
		if err != nil {
			x.unlisted(method, member, declared, page, err)
			return all, len(all) > 0
		}
		var body map[string]json.RawMessage
		var items []json.RawMessage
		if err := r.Decode(&body); err == nil {
			err = mcp.Unmarshal(body[member], &items)
			if err != nil {
				x.find(Error, "list", method, fmt.Sprintf("%q is not a list: %v", member, err), "")
				return all, false
			}
		}
		if page == 1 && !declared {
			x.find(Warning, "capabilities", method, fmt.Sprintf("the server answers %s but does not declare it", method), "Declare the capability: clients that go by it never ask.")
		}
		all = append(all, items...)
		next, ok := body["nextCursor"]
		if !ok || string(next) == "null" {
			return all, true
		}
		cursor = new(string)
		if mcp.Unmarshal(next, cursor) != nil {
			x.find(Error, "list", method, "nextCursor is not a string", "")
			return all, true
		}
		switch {
		case seen[*cursor]:
			x.find(Error, "list", method, fmt.Sprintf("the list never ends: after %d pages a cursor comes again", page), "Leave nextCursor out of the last page.")
			return all, true
		case page >= mostPages || len(all) > mostItems:
			x.find(Error, "list", method, fmt.Sprintf("the list does not end after %d pages and %d items", page, len(all)), "Leave nextCursor out of the last page, and use larger pages.")
			return all, true
		}
		seen[*cursor] = true
	}
}

// unlisted reports why a list could not be read.
func (x *examination) unlisted(method, member string, declared bool, page int, err error) {
	e, answered := errors.AsType[*mcp.Error](err)
	missing := answered && e.Code == mcp.CodeMethodNotFound
	switch {
	case page > 1:
		x.find(Error, "list", method, fmt.Sprintf("page %d cannot be read with the cursor that the server gave: %v", page, err), "A cursor is the server's own: take every one that was given out.")
	case !declared && missing:
	case !declared && answered: // it has no such list and says so
		x.find(Note, "capabilities", method, fmt.Sprintf("asked for a list that it does not offer, the server answers with error %d instead of %d", e.Code, mcp.CodeMethodNotFound), "")
	case missing && member == "resourceTemplates":
		x.find(Note, "capabilities", method, "it declares resources but does not answer "+method, "Answer with an empty list.")
	case missing:
		x.find(Error, "capabilities", method, fmt.Sprintf("it declares %s but does not answer %s", member, method), "Answer, if only with an empty list, or leave the capability out.")
	case errors.Is(err, context.DeadlineExceeded):
		x.find(Error, "list", method, fmt.Sprintf("no answer within %v", x.IdleTimeout), "")
	default:
		x.find(Error, "list", method, err.Error(), "")
	}
}

// completion requests a completion, if there is something to complete.
func (x *examination) completion(ctx context.Context, prompts []json.RawMessage) {
	q := mcp.CompleteParams{}
	for _, p := range decode[mcp.Prompt](prompts) {
		if len(p.Arguments) > 0 {
			q.Ref, q.Argument.Name = mcp.PromptRef(p.Name), p.Arguments[0].Name
			break
		}
	}
	if q.Ref.Type == "" {
		return
	}
	_, err := x.ask(ctx, mcp.MethodComplete, q)
	e, answered := errors.AsType[*mcp.Error](err)
	missing := answered && e.Code == mcp.CodeMethodNotFound
	switch declared := x.caps.Completions != nil; {
	case declared && missing:
		x.find(Error, "capabilities", mcp.MethodComplete, "it declares completions but does not answer "+mcp.MethodComplete, "Answer, if only with no values, or leave the capability out.")
	case declared && err != nil && !answered:
		x.find(Error, "capabilities", mcp.MethodComplete, err.Error(), "")
	case !declared && err == nil:
		x.find(Warning, "capabilities", mcp.MethodComplete, "the server completes arguments but does not declare it", "Declare completions: clients that go by it never ask.")
	}
}

// changes subscribes to the notifications that the capabilities declare and checks
// the acknowledgement.
func (x *examination) changes(ctx context.Context, resources []json.RawMessage) {
	want := mcp.SubscriptionFilter{}
	if c := x.caps.Tools; c != nil {
		want.ToolsListChanged = c.ListChanged
	}
	if c := x.caps.Prompts; c != nil {
		want.PromptsListChanged = c.ListChanged
	}
	if c := x.caps.Resources; c != nil {
		want.ResourcesListChanged = c.ListChanged
		if all := decode[mcp.Resource](resources); c.Subscribe && len(all) > 0 {
			want.ResourceSubscriptions = []string{all[0].URI}
		}
	}
	if want.Empty() {
		return
	}
	ctx, stop := context.WithTimeout(ctx, min(x.IdleTimeout, 3*time.Second))
	defer stop()
	var got *mcp.SubscriptionsAcknowledgedParams
	err := x.Client.Listen(ctx, want, func(n mcp.Notification) {
		if n.Method == mcp.NotificationSubscriptionsAcknowledged && got == nil {
			got = &mcp.SubscriptionsAcknowledgedParams{}
			if mcp.Unmarshal(n.Params, got) != nil {
				got = nil
			}
			stop()
		}
	})
	switch {
	case got != nil && !got.Notifications.Covers(&want):
		x.find(Warning, "capabilities", mcp.MethodSubscriptionsListen, "it declares change notifications, but does not acknowledge all of them", "Acknowledge what the capabilities promise, or promise less.")
	case got == nil && ctx.Err() == nil && err != nil:
		x.find(Error, "capabilities", mcp.MethodSubscriptionsListen, "it declares change notifications, but a subscription fails: "+err.Error(), "")
	case got == nil:
		x.find(Warning, "capabilities", mcp.MethodSubscriptionsListen, "it declares change notifications, but does not acknowledge a subscription", "")
	}
}

// decode parses the items that are valid.
func decode[T any](raw []json.RawMessage) []T {
	var all []T
	for _, one := range raw {
		var v T
		if mcp.Unmarshal(one, &v) == nil {
			all = append(all, v)
		}
	}
	return all
}
