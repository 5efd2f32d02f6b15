// A client that starts a server, lists what it offers and calls a tool. It
// speaks whatever revision the server speaks.
//
//	go run ./examples/client go run ./examples/calculator
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/transport/stdio"
)

func main() {
	if len(os.Args) < 2 {
		log.Fatal("usage: client COMMAND [ARGUMENT …], the server to start")
	}
	ctx := context.Background()
	c, err := client.Dial(ctx, &stdio.Command{Path: os.Args[1], Args: os.Args[2:]}, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	for tool, err := range c.Tools(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s: %s\n", tool.Name, tool.Description)
	}
	type sum struct {
		Sum int `json:"sum"`
	}
	out, err := client.Call[sum](ctx, c, "add", map[string]int{"a": 20, "b": 22}, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("20 + 22 =", out.Sum)
}
