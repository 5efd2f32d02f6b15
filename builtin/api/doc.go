// Package api is an MCP server for an HTTP API that a file describes: its tools,
// resources, prompts and completions send requests. docs/wrap-an-api.md explains
// the format; package spec has its types.
//
//	s, err := api.New(api.Config{File: "tracker.yaml"})
//
// The flow of a tool call is:
//
//	arguments   decoded, with the defaults of the schema            tool.go
//	lookup      one read before anything else, for $lookup          tool.go
//	confirm     the user is asked with the real values              confirm.go
//	key         an idempotency key, the same in every round         confirm.go
//	request     path, query, headers and body from templates        request.go, path.go
//	send        credential, retries, cache, redirects               package upstream
//	pages       further pages up to a limit, and a cursor           page.go, cursor.go
//	then, task  follow-up requests; polling for long work           follow.go
//	error       rules turn a response into an error that teaches    fault.go
//	output      jq, text, budget; the rest behind a link            output.go, shrink.go
//
// Everything is compiled when the file is loaded (compile.go). Secrets are only in
// package credential and in requests: each text that leaves the server passes
// hidden (server.go).
package api
