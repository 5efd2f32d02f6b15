package tasks_test

import (
	"context"
	"fmt"
	"log"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/ext/tasks"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// A server with a tool whose calls become tasks, and a client that does not wait
// for one at once.
func ExampleStart() {
	ctx := context.Background()
	s := server.New(mcp.Implementation{Name: "films", Version: "1"}, nil)
	defer s.Close()
	m, err := tasks.NewManager(s, nil)
	if err != nil {
		log.Fatal(err)
	}
	render := func(context.Context, *mcp.Call, struct{}) (string, error) { return "rendered", nil }
	server.AddTool(s, "render", "Render a film", render, m.Tool(tasks.Optional, nil))

	c := client.New(s, &client.Options{Middleware: []mcp.Middleware{tasks.Client}})
	h, err := tasks.Start(ctx, c, "render", nil, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(h.ID() != "")
	res, err := h.Wait(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Content.Text())
	// Output:
	// true
	// rendered
}
