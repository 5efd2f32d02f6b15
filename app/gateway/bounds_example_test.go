package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/tenon-mcp/tenon/app/gateway"
	"github.com/tenon-mcp/tenon/mcp"
)

func ExampleNotifications() {
	h := mcp.Chain(mcp.HandlerFunc(func(_ context.Context, c *mcp.Call) (mcp.Result, error) {
		fmt.Println("the server gets", c.Method)
		return mcp.Result{}, nil
	}), gateway.Notifications())
	for _, method := range []string{mcp.NotificationInitialized, mcp.NotificationRootsListChanged} {
		h.Serve(context.Background(), &mcp.Call{Method: method, IsNotification: true})
	}
	// Output: the server gets notifications/roots/list_changed
}

func ExampleSubscriptions() {
	h := mcp.Chain(mcp.HandlerFunc(func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
		c.Detach(func() {}) // the subscription stays open
		return mcp.Result{}, nil
	}), gateway.Subscriptions(&gateway.SubscriptionOptions{Max: 1}))
	for range 2 {
		_, err := h.Serve(context.Background(), &mcp.Call{Method: mcp.MethodSubscriptionsListen,
			Params: json.RawMessage(`{"notifications":{"toolsListChanged":true}}`), Detach: func(end func()) {}})
		fmt.Println(err)
	}
	// Output:
	// <nil>
	// too many open subscriptions: end some first; a principal may have 1, with 10000 resources and tasks in them (429)
}

// The rules of a gateway change while it runs.
func ExamplePolicySwitch() {
	var policy gateway.PolicySwitch
	h := mcp.Chain(notes, policy.Middleware)
	list := func() {
		res, _ := callAs(h, "bob", mcp.MethodToolsList, "")
		fmt.Println(string(res.Body))
	}
	list()
	policy.Set(gateway.NewRuleSet([]gateway.Rule{{Match: gateway.Match{Tool: "read"}}}, nil, nil))
	list()
	// Output:
	// {"tools":[{"name":"read"},{"name":"delete"}]}
	// {"tools":[{"name":"read"}]}
}
