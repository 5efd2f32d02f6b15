package apps_test

import (
	"context"
	"fmt"
	"log"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/ext/apps"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// A server offers a view for the results of a tool, and a host finds and reads
// it.
func Example() {
	s := server.New(mcp.Implementation{Name: "stats", Version: "1.0"}, nil)
	err := apps.AddView(s, apps.View{
		URI: "ui://stats/chart.html", Name: "chart",
		HTML: "<!doctype html><title>Chart</title>", // usually embedded
	})
	if err != nil {
		log.Fatal(err)
	}
	server.AddTool(s, "totals", "Totals by month", func(context.Context, *mcp.Call, struct{}) (string, error) {
		return "January: 3", nil
	}, &server.ToolOptions{Meta: apps.ToolMeta("ui://stats/chart.html")})

	ctx, c := context.Background(), client.New(s, nil)
	for tool, err := range c.Tools(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		view, err := apps.Read(ctx, c, apps.ForTool(tool).ResourceURI)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(tool.Name, view.HTML)
	}
	// Output:
	// totals <!doctype html><title>Chart</title>
}
