// Package apps implements the Apps extension of the protocol,
// io.modelcontextprotocol/ui: a server offers views, which are HTML pages for
// the results of its tools, and a host shows them in a sandbox.
//
// A view is a resource with the scheme ui: and the type [MIMEType]. A tool names
// its view in its metadata. On a server, [AddView] adds the resource and [ToolMeta]
// makes the metadata:
//
//	//go:embed chart.html
//	var chart string
//
//	err := apps.AddView(s, apps.View{URI: "ui://stats/chart.html", Name: "chart", HTML: chart})
//	server.AddTool(s, "totals", "Totals by month", totals, &server.ToolOptions{
//		Meta: apps.ToolMeta("ui://stats/chart.html"),
//	})
//
// Hosts that cannot show views ignore the metadata, so the tool must return
// content that is useful without the view.
//
// A host declares the extension with [ClientSettings], finds the view of a tool
// with [ForTool], reads it with [Read], and serves it with the Content-Security-
// Policy that [CSP.Header] builds. It hides tools from the model, and refuses them
// to views, according to [ToolUI.VisibleTo].
package apps
