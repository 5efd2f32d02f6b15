package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/tenon-mcp/tenon/mcp"
)

func ExampleCallToolResult() {
	res := mcp.CallToolResult{
		Content: mcp.Contents{
			mcp.Text("22 degrees and sunny"),
			mcp.Link(mcp.Resource{URI: "weather://paris", Name: "paris"}),
		},
		StructuredContent: json.RawMessage(`{"degrees":22}`),
	}
	out, err := res.AppendJSON(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(out))
	// Output:
	// {"content":[{"type":"text","text":"22 degrees and sunny"},{"type":"resource_link","uri":"weather://paris","name":"paris"}],"structuredContent":{"degrees":22}}
}

func ExampleToolError() {
	res := mcp.ToolError("no city is called %q: give the name in English", "Münchhausen")
	fmt.Println(res.IsError, res.Content.Text())
	// Output: true no city is called "Münchhausen": give the name in English
}

func ExampleContents() {
	var blocks mcp.Contents
	if err := mcp.Unmarshal([]byte(`[{"type":"text","text":"hello"},{"type":"hologram","depth":3}]`), &blocks); err != nil {
		fmt.Println(err)
		return
	}
	for _, b := range blocks {
		switch b := b.(type) {
		case *mcp.TextContent:
			fmt.Println("text:", b.Text)
		case *mcp.UnknownContent:
			fmt.Println("passed on as it came:", string(b.Raw))
		}
	}
	// Output:
	// text: hello
	// passed on as it came: {"type":"hologram","depth":3}
}

func ExampleForm() {
	form := mcp.Form{Fields: []mcp.FormField{
		{Name: "email", Type: mcp.FieldString, Format: "email", Required: true},
		{Name: "size", Type: mcp.FieldString, Options: []mcp.Option{{Value: "s", Title: "Small"}, {Value: "l", Title: "Large"}}, Default: "s"},
	}}
	schema, err := form.Schema()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(schema))

	answer, _ := form.Complete(json.RawMessage(`{"email":"me"}`))
	fmt.Println(string(answer))
	fmt.Println(form.CheckResponse(answer))
	// Output:
	// {"type":"object","properties":{"email":{"type":"string","format":"email"},"size":{"type":"string","oneOf":[{"const":"s","title":"Small"},{"const":"l","title":"Large"}],"default":"s"}},"required":["email"]}
	// {"email":"me","size":"s"}
	// email: expected text of the format "email"
}

func ExampleUnmarshal() {
	var list mcp.ListToolsResult
	err := mcp.Unmarshal([]byte(`{"tools":[{"name":"add","inputSchema":[]}]}`), &list)
	fmt.Println(err)
	// Output: tools[0].inputSchema: expected an object, such as {"type":"object"}
}

func ExampleCaller_CanHandle() {
	caller := mcp.Caller{Capabilities: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapability{}}}
	page, _ := mcp.ElicitRequest(&mcp.ElicitParams{Mode: mcp.ModeURL, Message: "Sign in", URL: "https://example.com/in"})
	fmt.Println(caller.CanHandle(page))
	// Output: this call needs the client to ask its user to open a web page, but the client has not declared the capability elicitation.url (-32021)
}

// logged is a middleware that says when each call begins and ends. A
// subscription that detaches ends with stop, not when Serve returns.
func logged(next mcp.Handler) mcp.Handler {
	return mcp.HandlerFunc(func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
		fmt.Println("begin", c.Method)
		end := sync.OnceFunc(func() { fmt.Println("end", c.Method) })
		if c.Detach == nil {
			defer end()
			return next.Serve(ctx, c)
		}
		detached := false
		inner := *c
		inner.Detach = func(stop func()) {
			detached = true
			c.Detach(func() { stop(); end() })
		}
		defer func() {
			if !detached {
				end()
			}
		}()
		return next.Serve(ctx, &inner)
	})
}

func ExampleMiddleware() {
	h := mcp.Chain(mcp.HandlerFunc(func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
		if c.Method == mcp.MethodSubscriptionsListen && c.Detach != nil {
			c.Detach(func() { fmt.Println("no notifications any more") })
		}
		return mcp.Result{}, nil
	}), logged)
	ctx := context.Background()

	h.Serve(ctx, &mcp.Call{Method: mcp.MethodToolsList})

	var stop func() // kept by the caller, here in place of a transport
	h.Serve(ctx, &mcp.Call{Method: mcp.MethodSubscriptionsListen, Detach: func(f func()) { stop = f }})
	fmt.Println("Serve has returned")
	stop()
	// Output:
	// begin tools/list
	// end tools/list
	// begin subscriptions/listen
	// Serve has returned
	// no notifications any more
	// end subscriptions/listen
}
