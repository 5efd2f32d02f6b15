// Package streamclient is the client of MCP over streamable HTTP. An [Endpoint]
// names a server by its URL and is an [mcp.Dialer]:
//
//	c, err := client.Dial(ctx, &streamclient.Endpoint{URL: "https://example.com/mcp"}, nil)
//
// It reaches servers of every revision: the first Dial detects which era the
// server speaks. The server's side is package streamable.
package streamclient
