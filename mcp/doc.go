// Package mcp is the vocabulary of the Model Context Protocol, the same in
// every revision: a [Call] goes in, a [Result] comes out, and a server that
// must know more first says so with [InputRequired].
//
// The language spoken here is the newest protocol without its envelope. What
// an envelope says (which revision, who asks, which answers were given before,
// how long a result may be kept) stands in fields of Call and Result; none of
// its keys ever stays in Params or Body. Package era puts envelopes on and
// takes them off, for every revision, in both directions.
//
// No goroutine and no I/O live here.
package mcp
