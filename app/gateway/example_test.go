package gateway_test

import (
	"context"
	"fmt"

	"github.com/tenon-mcp/tenon/app/gateway"
	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// offering returns a server with tools that say who they are.
func offering(name string, tools ...string) *server.Server {
	s := server.New(mcp.Implementation{Name: name, Version: "1"}, nil)
	for _, tool := range tools {
		server.AddTool(s, tool, "This is "+tool+" of "+name+".", func(context.Context, *mcp.Call, struct{}) (string, error) {
			return tool + " of " + name, nil
		}, nil)
	}
	return s
}

// names prints the names of the tools that a Handler lists.
func names(h mcp.Handler) {
	for tool, err := range client.New(h, nil).Tools(context.Background()) {
		fmt.Println(tool.Name, err)
	}
}

// A set is a selection of what all servers offer.
func ExampleWithin() {
	router, err := gateway.NewRouter([]gateway.Upstream{
		{Name: "notes", Handler: offering("notes", "read", "write")},
		{Name: "sql", Handler: offering("sql", "drop", "query")},
	}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer router.Close()
	names(mcp.Chain(router, gateway.Within(gateway.Set{Servers: []string{"notes"}, Tools: []string{"*__query"}})))
	// Output:
	// notes__read <nil>
	// notes__write <nil>
	// sql__query <nil>
}

// An override renames or hides a tool.
func ExampleOverride() {
	router, err := gateway.NewRouter([]gateway.Upstream{{Name: "sql", Handler: offering("sql", "drop", "query")}}, &gateway.Options{
		Tools: map[string]gateway.Override{"sql__query": {Name: "ask_database"}, "sql__drop": {Hidden: true}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer router.Close()
	names(router)
	// Output: ask_database <nil>
}
