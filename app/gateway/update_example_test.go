package gateway_test

import (
	"context"
	"fmt"

	"github.com/tenon-mcp/tenon/app/gateway"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// A gateway that replaces one of its servers while it runs.
func ExampleRouter_Update() {
	open := func(tool string) *server.Server {
		s := server.New(mcp.Implementation{Name: "test", Version: "1"}, nil)
		server.AddTool(s, tool, "A tool", func(context.Context, *mcp.Call, struct{}) (string, error) { return "", nil }, nil)
		return s
	}
	released := make(chan string)
	r, err := gateway.NewRouter([]gateway.Upstream{{Name: "notes", Handler: open("add")}}, &gateway.Options{
		Released: func(u gateway.Upstream) {
			u.Handler.(*server.Server).Close() // its calls have ended
			released <- u.Name
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()

	if err := r.Update([]gateway.Upstream{{Name: "sql", Handler: open("query")}}); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("released:", <-released)
	_, own, ok := r.Resolve(context.Background(), nil, "tool", "sql__query")
	fmt.Println(own, ok)
	// Output:
	// released: notes
	// query true
}

// A Switch replaces the links before a server, such as a policy, while calls are
// open.
func ExampleSwitch() {
	closed := mcp.HandlerFunc(func(context.Context, *mcp.Call) (mcp.Result, error) {
		return mcp.Result{}, mcp.Errorf(mcp.CodeInternal, "closed today")
	})
	open := mcp.HandlerFunc(func(context.Context, *mcp.Call) (mcp.Result, error) { return mcp.Result{}, nil })

	var s gateway.Switch
	for _, h := range []mcp.Handler{closed, open} {
		s.Set(h)
		_, err := s.Serve(context.Background(), &mcp.Call{Method: mcp.MethodPing})
		fmt.Println(err)
	}
	// Output:
	// closed today (-32603)
	// <nil>
}
