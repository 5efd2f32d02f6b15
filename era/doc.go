// Package era detects the protocol revision of each message and dispatches it
// to the matching codec. There are two eras: modern (2026-07-28 and later, each
// request stands alone) and legacy (up to 2025-11-25, a session begins with
// initialize). Packages above this one know only [mcp.Handler].
//
// A [Server] serves clients of every revision with one Handler:
//
//	s, err := era.NewServer(handler, nil)
//	err = s.ServeStream(ctx, stream)
//
// [Dial] detects which era a server speaks and returns the connection as a
// Handler. Most programs use both through a package of transport, such as
// transport/stdio.
//
// A transport of your own implements [jsonrpc.Stream], which reads and writes
// frames: pass one to [Server.ServeStream], the other to [Dial].
package era
