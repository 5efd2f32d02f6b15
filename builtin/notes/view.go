package notes

import (
	_ "embed"

	"github.com/tenon-mcp/tenon/ext/apps"
	"github.com/tenon-mcp/tenon/server"
)

// graphURI names the view that draws the links to a note. It is the same for
// every caller.
const graphURI = "ui://notes/graph.html"

//go:embed view/graph.html
var graphHTML string

func addView(s *server.Server) error {
	return apps.AddView(s, apps.View{URI: graphURI, Name: "graph", Title: "Links between notes", HTML: graphHTML, Unlisted: true})
}
