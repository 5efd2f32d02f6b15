package stdio_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
	"github.com/tenon-mcp/tenon/transport/stdio"
)

// A server on standard input and output. Whatever else the program prints goes
// to standard error.
func ExampleServe() {
	s := server.New(mcp.Implementation{Name: "greeter", Version: "1.0"}, nil)
	server.AddTool(s, "greet", "Greet somebody", func(_ context.Context, _ *mcp.Call, in struct {
		Name string `json:"name"`
	}) (string, error) {
		return "Hello, " + in.Name + "!", nil
	}, nil)
	if err := stdio.Serve(context.Background(), s, nil); err != nil {
		log.Fatal(err)
	}
}

// A client that starts a server program and keeps it alive. The program gets a
// short environment; a token is passed on by name.
func ExampleCommand() {
	c, err := client.Dial(context.Background(), &stdio.Command{
		Path:       "notes-server",
		Args:       []string{"--vault", "notes"},
		InheritEnv: []string{"NOTES_TOKEN"},
		Stderr:     func(line string) { fmt.Fprintln(os.Stderr, "notes-server:", line) },
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	for tool, err := range c.Tools(context.Background()) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(tool.Name)
	}
}
