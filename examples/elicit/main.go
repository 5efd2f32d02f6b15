// A server that asks the person before it does something, in one straight
// line. The same code serves clients of every revision.
package main

import (
	"context"
	"log"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
	"github.com/tenon-mcp/tenon/transport/stdio"
)

type order struct {
	Dish string `json:"dish" doc:"what to order"`
}

type details struct {
	Size string `json:"size" doc:"how big" schema:"enum=small|medium|large,default=medium"`
	Note string `json:"note,omitzero" doc:"anything the kitchen should know" schema:"maxLength=200"`
}

func main() {
	s := server.New(mcp.Implementation{Name: "kitchen", Version: "1.0"}, nil)
	server.AddTool(s, "order", "Order a dish; asks the person for the details", func(_ context.Context, c *mcp.Call, in order) (string, error) {
		// Until there is an answer, err ends the round: return it as it is.
		// The tool is then entered again, from the top, with the answer.
		d, err := server.Elicit[details](c, "details", "How would you like your "+in.Dish+"?")
		if err != nil {
			return "", err
		}
		return "One " + d.Size + " " + in.Dish + " is on its way.", nil
	}, nil)
	if err := stdio.Serve(context.Background(), s, nil); err != nil {
		log.Fatal(err)
	}
}
