package sql

import (
	_ "embed"

	"github.com/tenon-mcp/tenon/ext/apps"
)

// chartURI names the view that draws the result of a query.
const chartURI = "ui://sql/chart.html"

//go:embed view/chart.html
var chartHTML string

func (d *database) addView() error {
	return apps.AddView(d.server, apps.View{URI: chartURI, Name: "chart", Title: "Chart of a query", HTML: chartHTML, Unlisted: true})
}
