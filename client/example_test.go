package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
)

// shop is a small server in memory. A connection to a server is used in the
// same way.
var shop = mcp.HandlerFunc(func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	switch c.Method {
	case mcp.MethodToolsList:
		return mcp.Result{Body: json.RawMessage(`{"tools":[
			{"name":"price","description":"What something costs","inputSchema":{"type":"object"}},
			{"name":"buy","description":"Buy something","inputSchema":{"type":"object"}}]}`)}, nil
	case mcp.MethodToolsCall:
		name, args, err := mcp.DecodeCallToolParams(c.Params)
		if err != nil {
			return mcp.Result{}, err
		}
		return sell(c, name, args)
	case mcp.MethodSubscriptionsListen:
		c.Notify(mcp.Notification{Method: mcp.NotificationSubscriptionsAcknowledged, Params: c.Params})
		c.Notify(mcp.Notification{Method: mcp.NotificationToolsListChanged})
		<-ctx.Done()
		return mcp.Result{}, ctx.Err()
	}
	return mcp.Result{}, mcp.MethodNotFound(c.Method)
})

func sell(c *mcp.Call, tool string, args json.RawMessage) (mcp.Result, error) {
	var in struct {
		Item string `json:"item"`
	}
	if err := mcp.Unmarshal(args, &in); err != nil {
		return mcp.Result{}, mcp.InvalidParams("%v", err)
	}
	if in.Item != "tea" {
		return result(mcp.ToolError("we have no %s: ask for tea", in.Item))
	}
	if tool == "buy" {
		answer, err := c.Ask("how many", mcp.InputRequest{Method: mcp.MethodElicit, Params: json.RawMessage(`{
			"message": "How much tea?",
			"requestedSchema": {"type":"object","properties":{
				"grams": {"type":"integer","minimum":1},
				"gift":  {"type":"boolean","default":false}},"required":["grams"]}}`)})
		if err != nil {
			return mcp.Result{}, err
		}
		return result(&mcp.CallToolResult{Content: mcp.Contents{mcp.Text(string(answer))}})
	}
	return result(&mcp.CallToolResult{StructuredContent: json.RawMessage(`{"cents":450}`)})
}

func result(r *mcp.CallToolResult) (mcp.Result, error) {
	raw, err := r.AppendJSON(nil)
	return mcp.Result{Body: raw}, err
}

func ExampleNew() {
	c := client.New(shop, &client.Options{
		Client: mcp.Implementation{Name: "shopper", Version: "1.0"},
		Warn:   func(s string) { fmt.Println("warning:", s) },
	})
	defer c.Close()

	res, err := c.CallTool(context.Background(), "price", map[string]string{"item": "tea"}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(res.StructuredContent))
	// Output: {"cents":450}
}

func ExampleCall() {
	type item struct {
		Item string `json:"item"`
	}
	type price struct {
		Cents int `json:"cents"`
	}
	c := client.New(shop, nil)
	ctx := context.Background()

	p, err := client.Call[price](ctx, c, "price", item{"tea"}, nil)
	fmt.Println(p.Cents, err)

	// A tool that ran and failed says why in words for a model.
	_, err = client.Call[price](ctx, c, "price", item{"coffee"}, nil)
	if failed, ok := errors.AsType[*client.ToolError](err); ok {
		fmt.Println(failed.Tool+":", failed)
	}
	// Output:
	// 450 <nil>
	// price: we have no coffee: ask for tea
}

func ExampleClient_Tools() {
	c := client.New(shop, nil)
	for tool, err := range c.Tools(context.Background()) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s: %s\n", tool.Name, tool.Description)
	}
	// Output:
	// price: What something costs
	// buy: Buy something
}

func ExampleClient_Listen() {
	c := client.New(shop, nil)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()

	err := c.Listen(ctx, mcp.SubscriptionFilter{ToolsListChanged: true}, func(n mcp.Notification) {
		switch n.Method {
		case mcp.NotificationSubscriptionsAcknowledged:
			fmt.Println("listening")
		case mcp.NotificationToolsListChanged:
			fmt.Println("list the tools again")
			cancel() // this example has heard enough
		}
	})
	fmt.Println(err)
	// Output:
	// listening
	// list the tools again
	// context canceled
}

func ExampleOptions_elicit() {
	c := client.New(shop, &client.Options{
		// Show the form to the person here. Fields that are left out get their
		// defaults, and the answer is checked before it is sent.
		Elicit: func(ctx context.Context, e *client.Elicitation) (*mcp.ElicitResult, error) {
			fmt.Println(e.Message)
			for _, f := range e.Form.Fields {
				fmt.Printf("- %s (%s)\n", f.Name, f.Type)
			}
			return e.Accept(map[string]any{"grams": 100})
		},
	})
	answer, err := client.Call[string](context.Background(), c, "buy", map[string]string{"item": "tea"}, nil)
	fmt.Println(answer, err)
	// Output:
	// How much tea?
	// - grams (integer)
	// - gift (boolean)
	// {"action":"accept","content":{"grams":100,"gift":false}} <nil>
}
