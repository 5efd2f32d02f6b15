// Package lesson runs the examples of the page's Learn view: real calls, over
// real transports, to servers that are built in. Its callers choose an example and
// at most two numbers, so that no example can do anything but teach.
//
//	example   one call over a pipe in memory          lesson.go
//	batch     messages of 2025-03-26, in one array     batch.go
//	carried   the bytes of one call over a transport   transport.go
package lesson

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/connect"
	"github.com/tenon-mcp/tenon/app/wirelog"
	"github.com/tenon-mcp/tenon/builtin/calc"
	"github.com/tenon-mcp/tenon/builtin/demo"
	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
)

// Options configure [Lessons].
type Options struct {
	// Log gets the messages of all examples.
	Log *wirelog.Log
	// Client returns the options of the client of a server, which pass its
	// questions to the user.
	Client func(server string) client.Options
}

// Lessons run examples. Their methods may be called concurrently.
type Lessons struct{ opts Options }

// New returns Lessons. Both fields of o are required.
func New(o Options) *Lessons { return &Lessons{o} }

// Numbers are what an example calculates with.
type Numbers struct{ A, B float64 }

// An Example is a call that can be played.
type Example struct {
	Builtin string // the server
	Method  string
	Params  any
	ask     func(ctx context.Context, c *client.Client) error // nil: Params are sent
}

// Server returns the name of the example's server in the log and in questions.
func (e Example) Server() string { return e.Builtin + " (example)" }

// Find returns the example with a name.
func Find(name string, n Numbers) (Example, bool) {
	sum := strconv.FormatFloat(n.A, 'g', -1, 64) + " + " + strconv.FormatFloat(n.B, 'g', -1, 64)
	tool := func(builtin, name string, args any) Example {
		return Example{builtin, mcp.MethodToolsCall, map[string]any{"name": name, "arguments": args}, func(ctx context.Context, c *client.Client) error {
			_, err := c.CallTool(ctx, name, args, &client.CallOptions{Progress: progressOf(name)})
			return err
		}}
	}
	switch name {
	case "tool":
		return tool("calc", "add", map[string]float64{"a": n.A, "b": n.B}), true
	case "resource":
		return Example{Builtin: "calc", Method: mcp.MethodResourcesRead, Params: map[string]any{"uri": "welcome://you"}}, true
	case "prompt":
		return Example{Builtin: "calc", Method: mcp.MethodPromptsGet, Params: map[string]any{"name": "explain", "arguments": map[string]string{"calculation": sum}}}, true
	case "elicitation":
		return tool("calc", "average", struct{}{}), true
	case "sampling":
		return tool("demo", "write_line", map[string]string{"topic": "the sum " + sum}), true
	case "logging":
		return tool("demo", "count", map[string]int{"to": 3}), true
	case "error":
		return tool("calc", "no_such_tool", struct{}{}), true
	}
	return Example{}, false
}

// progressOf returns a function that asks for progress if a tool reports any.
func progressOf(tool string) func(mcp.ProgressParams) {
	if tool != "count" {
		return nil
	}
	return func(mcp.ProgressParams) {} // the log has it
}

// A Run is an example that was run.
type Run struct {
	Server   string       // in the log
	Conn     uint64       // in the log: all messages of it belong to the run
	Revision mcp.Revision // of the connection
	Took     time.Duration
	Err      error // of the call
}

// Run runs an example over a new connection in a revision; an empty revision is
// detected, as a host does it. It fails if there is no connection; an error of the
// call is part of the Run.
func (l *Lessons) Run(ctx context.Context, e Example, revision mcp.Revision) (*Run, error) {
	run := &Run{Server: e.Server()}
	known := revision
	if revision == mcp.Revisions()[0] {
		known = "" // so that the handshake is seen
	}
	s, err := connect.Open(ctx, config.Server{Name: run.Server, Kind: config.Builtin, Builtin: e.Builtin}, &connect.Options{
		Client: l.opts.Client(run.Server), Builtin: open, Known: known, Once: true, NoLogin: true,
		Watch: func(name string) connect.Watcher {
			wire := l.opts.Log.Wire(name)
			run.Conn = wire.Conn()
			return wire
		},
	})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	began := time.Now()
	if e.ask != nil {
		run.Err = e.ask(ctx, s.Client())
	} else {
		_, run.Err = s.Client().Do(ctx, e.Method, e.Params, nil)
	}
	run.Took = time.Since(began)
	if run.Revision, err = s.Client().Revision(ctx); err != nil && run.Err == nil {
		run.Err = err
	}
	return run, nil
}

// open creates the servers of examples.
func open(name string, _ url.Values) (connect.Builtin, error) {
	switch name {
	case "calc":
		return calc.New(calc.Config{})
	case "demo":
		return demo.New(demo.Config{})
	}
	return nil, fmt.Errorf("no example uses builtin:%s", name)
}

// errNoAnswer is the error of a server that ends before it answers.
var errNoAnswer = errors.New("the server has ended without a response")
