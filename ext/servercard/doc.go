// Package servercard reads and publishes MCP server cards and AI catalogs.
//
// A server card is a JSON document that says what a remote server is and where
// it is, so that a client can find it before it connects. A catalog lists the
// cards of a site at [CatalogPath]. To publish both for a server:
//
//	card := &servercard.Card{Name: "com.example/weather", Version: "1.0.0", Description: "Weather forecasts",
//		Remotes: []servercard.Remote{{Type: servercard.StreamableHTTP, URL: "https://example.com/mcp"}}}
//	h, err := servercard.NewHandler(card)
//	mux.Handle("/mcp"+servercard.CardSuffix, h)
//	c, err := servercard.NewCatalogHandler(&servercard.Catalog{Entries: []servercard.Entry{card.Entry(cardURL)}})
//	mux.Handle(servercard.CatalogPath, c)
//
// The contents of a card are claims of its publisher. Show them to the
// user and make no security decision based on them; what the server says in
// server/discover has precedence.
package servercard
