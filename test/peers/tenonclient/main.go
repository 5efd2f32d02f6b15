// Command tenonclient starts an MCP server, or reaches one over HTTP, runs the
// script of this folder against it with Tenon, and prints one JSON line for
// each step.
//
//	tenonclient [-revision R] [-frames file] command [argument ...]
//	tenonclient [-revision R] [-frames file] -http URL [-sse]
//
// Without -sse it finds out by itself which transport is spoken at the URL.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/transport/httpsse"
	"github.com/tenon-mcp/tenon/transport/stdio"
	"github.com/tenon-mcp/tenon/transport/streamclient"

	"github.com/tenon-mcp/tenon/test/peers/internal/frames"
	"github.com/tenon-mcp/tenon/test/peers/internal/steps"
)

type script struct {
	client   *client.Client
	progress steps.Collection[float64]
	logged   steps.Collection[any]
	changed  steps.Collection[bool]
}

func main() {
	revision := flag.String("revision", "", "the protocol revision that the server is known to speak; empty means to find out")
	file := flag.String("frames", "", "a file that every message is appended to; empty means none")
	url := flag.String("http", "", "reach the server at this URL instead of starting it")
	older := flag.Bool("sse", false, "with -http: over HTTP+SSE, the transport of 2024-11-05")
	flag.Parse()
	if flag.NArg() == 0 && *url == "" {
		fmt.Fprintln(os.Stderr, "usage: tenonclient [-revision R] [-frames file] command [argument ...], or -http URL [-sse]")
		os.Exit(2)
	}
	recording, err := frames.To(*file)
	if err != nil {
		steps.Fail("connect", err)
	}
	how := era.DialOptions{Known: mcp.Revision(*revision), Tap: recording.Tap}
	how.OnInvalidFrame = func(frame []byte, err error) { fmt.Fprintf(os.Stderr, "noise: %v: %q\n", err, frame) }
	s := &script{}
	if err := s.connect(reach(*url, *older, how, flag.Args())); err != nil {
		steps.Fail("connect", err)
	}
	s.run()
	steps.Run("close", func() (any, error) { return nil, s.client.Close() })
}

// A connection knows the revision that is spoken.
type connection interface {
	mcp.Handler
	Revision() mcp.Revision
}

// A dialer keeps the connection.
type dialer struct {
	mcp.Dialer
	made mcp.Conn
}

func (d *dialer) Dial(ctx context.Context, p *mcp.ClientProfile) (mcp.Conn, error) {
	var err error
	d.made, err = d.Dialer.Dial(ctx, p)
	return d.made, err
}

// connection returns what was dialled last.
func (d *dialer) connection(ctx context.Context) (connection, error) {
	if s, ok := d.made.(*stdio.Supervised); ok {
		return s.Connection(ctx)
	}
	return d.made.(connection), nil
}

type supervise struct{ command stdio.Command }

func (s *supervise) Dial(ctx context.Context, p *mcp.ClientProfile) (mcp.Conn, error) {
	return stdio.Supervise(ctx, &s.command, p)
}

func reach(url string, older bool, how era.DialOptions, command []string) mcp.Dialer {
	if url == "" {
		return &supervise{
			stdio.Command{Path: command[0], Args: command[1:], Stderr: func(line string) { fmt.Fprintln(os.Stderr, line) }, Era: how},
		}
	}
	pair := &httpsse.Endpoint{URL: url, Options: how}
	if older {
		return pair
	}
	warn := func(warning string) { fmt.Fprintln(os.Stderr, "warning:", warning) }
	return &streamclient.Endpoint{URL: url, Era: how, Older: pair, Warn: warn}
}

func (s *script) connect(to mcp.Dialer) error {
	ctx, cancel := context.WithTimeout(context.Background(), 3*steps.Patience)
	defer cancel()
	d := &dialer{Dialer: to}
	var err error
	s.client, err = client.Dial(ctx, d, s.options())
	if err != nil {
		return err
	}
	conn, err := d.connection(ctx)
	if err != nil {
		return err
	}
	steps.Run("connect", func() (any, error) {
		about, err := s.client.Discover(ctx)
		if err != nil {
			return nil, err
		}
		name := ""
		if about.Server != nil {
			name = about.Server.Name
		}
		return map[string]any{"revision": conn.Revision(), "server": name}, nil
	})
	return nil
}

func (s *script) options() *client.Options {
	return &client.Options{
		Client: mcp.Implementation{Name: "tenonclient", Version: "1.0.0"},
		Elicit: func(_ context.Context, e *client.Elicitation) (*mcp.ElicitResult, error) {
			return e.Accept(map[string]string{"name": "Ada"})
		},
		//lint:ignore SA1019 the test is about this deprecated feature
		Logging: &client.Logging{OnMessage: func(_ context.Context, line mcp.LogMessage) {
			var data any
			if err := json.Unmarshal(line.Data, &data); err != nil {
				data = err.Error()
			}
			s.logged.Add(data)
		}},
		Warn: func(warning string) { fmt.Fprintln(os.Stderr, "warning:", warning) },
	}
}

func (s *script) run() {
	ctx := context.Background()
	steps.Run("tools", func() (any, error) { return s.tools(ctx) })
	steps.Run("add", func() (any, error) {
		r, err := s.call(ctx, "add", map[string]int{"a": 2, "b": 3}, nil)
		if err != nil {
			return nil, err
		}
		return r.StructuredContent, nil
	})
	steps.Run("echo", func() (any, error) {
		return client.Call[string](ctx, s.client, "echo", map[string]string{"msg": "hello"}, nil)
	})
	steps.Run("ask", func() (any, error) { return client.Call[string](ctx, s.client, "ask", nil, nil) })
	steps.Run("slow", func() (any, error) { return s.slow(ctx) })
	steps.Run("cancel", func() (any, error) { return s.cancel(ctx) })
	steps.Run("log", func() (any, error) {
		if _, err := s.call(ctx, "log", nil, nil); err != nil {
			return nil, err
		}
		return s.logged.Wait(3), nil
	})
	steps.Run("read-static", func() (any, error) { return s.read(ctx, "test://static") })
	steps.Run("read-template", func() (any, error) { return s.read(ctx, "welcome://ada") })
	steps.Run("prompt", func() (any, error) { return s.prompt(ctx) })
	steps.Run("complete", func() (any, error) {
		r, err := s.client.Complete(ctx, mcp.CompleteParams{
			Ref:      mcp.PromptRef("greet"),
			Argument: mcp.CompletionArgument{Name: "name", Value: "A"},
		})
		if err != nil {
			return nil, err
		}
		return r.Values, nil
	})
	steps.Run("unknown-tool", func() (any, error) { return s.unknown(ctx) })
	steps.Run("grow", func() (any, error) { return s.grow(ctx) })
}

func (s *script) call(ctx context.Context, name string, args any, o *client.CallOptions) (*mcp.CallToolResult, error) {
	r, err := s.client.CallTool(ctx, name, args, o)
	if err != nil {
		return nil, err
	}
	if r.IsError {
		return nil, fmt.Errorf("the tool failed: %s", r.Content.Text())
	}
	return r, nil
}

func (s *script) tools(ctx context.Context) ([]string, error) {
	tools, err := client.All(s.client.Tools(ctx))
	var names []string
	for _, tool := range tools {
		names = append(names, tool.Name)
	}
	slices.Sort(names)
	return names, err
}

func (s *script) slow(ctx context.Context) (any, error) {
	r, err := s.call(ctx, "slow", map[string]int{"ms": 300}, &client.CallOptions{
		Progress: func(p mcp.ProgressParams) { s.progress.Add(p.Progress) },
	})
	if err != nil {
		return nil, err
	}
	return map[string]any{"text": r.Content.Text(), "progress": s.progress.Wait(3)}, nil
}

// cancel gives up a call after its first progress, and makes another one.
func (s *script) cancel(ctx context.Context) (any, error) {
	given, giveUp := context.WithCancel(ctx)
	defer giveUp()
	_, err := s.call(given, "slow", map[string]int{"ms": 600_000}, &client.CallOptions{
		Progress: func(mcp.ProgressParams) { giveUp() },
	})
	if !errors.Is(err, context.Canceled) {
		return nil, fmt.Errorf("the cancelled call ended with %v", err)
	}
	return client.Call[string](ctx, s.client, "echo", map[string]string{"msg": "alive"}, nil)
}

func (s *script) read(ctx context.Context, uri string) (any, error) {
	r, err := s.client.ReadResource(ctx, uri)
	if err != nil {
		return nil, err
	}
	if len(r.Contents) != 1 {
		return nil, fmt.Errorf("%d contents", len(r.Contents))
	}
	return r.Contents[0].Text, nil
}

func (s *script) prompt(ctx context.Context) (any, error) {
	r, err := s.client.GetPrompt(ctx, "greet", map[string]string{"name": "Ada"})
	if err != nil {
		return nil, err
	}
	if len(r.Messages) != 1 {
		return nil, fmt.Errorf("%d messages", len(r.Messages))
	}
	t, ok := r.Messages[0].Content.(*mcp.TextContent)
	if !ok {
		return nil, fmt.Errorf("the message is a %T", r.Messages[0].Content)
	}
	return t.Text, nil
}

// unknown calls a tool that does not exist. Servers answer with an error or
// with a failed result; both are printed.
func (s *script) unknown(ctx context.Context) (any, error) {
	r, err := s.client.CallTool(ctx, "no-such-tool", nil, nil)
	if e, ok := errors.AsType[*mcp.Error](err); ok && !e.Local {
		return map[string]any{"code": e.Code}, nil
	}
	switch {
	case err != nil:
		return nil, err
	case r.IsError:
		return map[string]any{"isError": true}, nil
	}
	return nil, errors.New("the call of an unknown tool succeeded")
}

// grow listens, has the server add a tool, and lists again when it hears of it.
func (s *script) grow(ctx context.Context) (any, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var listening steps.Collection[bool]
	ended := make(chan error, 1)
	go func() {
		ended <- s.client.Listen(ctx, mcp.SubscriptionFilter{ToolsListChanged: true}, func(n mcp.Notification) {
			switch n.Method {
			case mcp.NotificationSubscriptionsAcknowledged:
				listening.Add(true)
			case mcp.NotificationToolsListChanged:
				s.changed.Add(true)
			}
		})
	}()
	if len(listening.Wait(1)) == 0 {
		return nil, errors.New("the subscription was not acknowledged")
	}
	if _, err := s.call(ctx, "grow", nil, nil); err != nil {
		return nil, err
	}
	heard := len(s.changed.Wait(1)) > 0
	names, err := s.tools(ctx)
	if err != nil {
		return nil, err
	}
	stop()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		return nil, fmt.Errorf("listening ended with %v", err)
	}
	return map[string]bool{"heard": heard, "listed": slices.Contains(names, "grown")}, nil
}
