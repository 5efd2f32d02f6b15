// Package mcp defines the types of the Model Context Protocol, the same for
// every revision: a [Handler] serves a [Call] and returns a [Result], or an
// [InputRequired] error if it needs input from the client first.
//
// The types describe the newest revision without its envelope. Fields of Call
// and Result hold what the envelope carries (revision, client identity,
// responses to input requests, cache hints); Params and Body contain none of
// its keys. Package era adds and removes the envelope of each revision.
//
// The package starts no goroutines and does no I/O. Write a server with package
// server, and call one with package client:
//
//	h := mcp.HandlerFunc(func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
//		return mcp.Result{}, mcp.MethodNotFound(c.Method)
//	})
package mcp
