package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/tenon-mcp/tenon/app/gateway"
	"github.com/tenon-mcp/tenon/mcp"
)

// noLogin is the login of a user who has not logged in yet.
type noLogin struct{}

func (noLogin) ID(context.Context) (string, error)          { return "", nil }
func (noLogin) Refused(context.Context, string) error       { return nil }
func (noLogin) Changed(ctx context.Context, _ string) error { <-ctx.Done(); return ctx.Err() }
func (noLogin) Begin(context.Context, string) (gateway.LoginPage, error) {
	return gateway.LoginPage{URL: "https://gateway.example.com/login?ticket=1", Wait: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }}, nil
}

func ExampleRequireLogin() {
	var notes mcp.Handler // a connection to a server
	h := mcp.Chain(notes, gateway.RequireLogin(gateway.LoginOptions{Server: "notes", Login: noLogin{}}))

	canOpenPages := mcp.Caller{Capabilities: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapability{URL: mcp.Settings{}}}}
	_, err := h.Serve(context.Background(), &mcp.Call{Method: mcp.MethodToolsCall, Params: json.RawMessage(`{"name":"search"}`), Caller: canOpenPages})
	need, ok := errors.AsType[*mcp.InputRequired](err)
	if !ok {
		fmt.Println(err)
		return
	}
	for _, q := range need.Requests {
		var p mcp.ElicitParams
		if err := mcp.Unmarshal(q.Params, &p); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(p.Message)
		fmt.Println(p.URL)
	}
	// Output:
	// notes needs you to log in. Open the page only if you want to use your account at notes here.
	// https://gateway.example.com/login?ticket=1
}
