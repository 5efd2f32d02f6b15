// Command gosdkclient starts an MCP server, or reaches one over HTTP, runs the
// script of this folder against it with the official Go SDK, and prints one
// JSON line for each step.
//
//	gosdkclient [-revision R] command [argument ...]
//	gosdkclient [-revision R] -http URL [-sse]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/test/peers/internal/steps"
)

type script struct {
	session  *mcp.ClientSession
	progress steps.Collection[float64]
	logged   steps.Collection[any]
	changed  steps.Collection[bool]
}

func main() {
	revision := flag.String("revision", "", "the protocol revision to ask for; empty means the SDK's newest")
	url := flag.String("http", "", "reach the server at this URL instead of starting it")
	older := flag.Bool("sse", false, "with -http: over HTTP+SSE, the transport of 2024-11-05")
	flag.Parse()
	if flag.NArg() == 0 && *url == "" {
		fmt.Fprintln(os.Stderr, "usage: gosdkclient [-revision R] command [argument ...], or -http URL [-sse]")
		os.Exit(2)
	}
	s := &script{}
	if err := s.connect(*revision, transport(*url, *older, flag.Args())); err != nil {
		steps.Fail("connect", err)
	}
	s.run()
	steps.Run("close", func() (any, error) { return nil, s.session.Close() })
}

func transport(url string, older bool, command []string) mcp.Transport {
	switch {
	case older:
		return &mcp.SSEClientTransport{Endpoint: url}
	case url != "":
		return &mcp.StreamableClientTransport{Endpoint: url}
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stderr = os.Stderr
	return &mcp.CommandTransport{Command: cmd}
}

func (s *script) connect(revision string, to mcp.Transport) error {
	client := mcp.NewClient(&mcp.Implementation{Name: "gosdkclient", Version: "1.0.0"}, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ada"}}, nil
		},
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			s.progress.Add(r.Params.Progress)
		},
		//lint:ignore SA1019 the test is about this deprecated feature
		LoggingMessageHandler: func(_ context.Context, r *mcp.LoggingMessageRequest) { s.logged.Add(r.Params.Data) },
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {
			s.changed.Add(true)
		},
	})
	// Over HTTP+SSE the session ends with this context.
	ctx, cancel := context.WithCancel(context.Background())
	late := time.AfterFunc(3*steps.Patience, cancel)
	defer late.Stop()
	session, err := client.Connect(ctx, to, &mcp.ClientSessionOptions{ProtocolVersion: revision})
	if err != nil {
		return err
	}
	s.session = session
	steps.Run("connect", func() (any, error) {
		r := session.InitializeResult()
		name := ""
		if r.ServerInfo != nil {
			name = r.ServerInfo.Name
		}
		return map[string]string{"revision": r.ProtocolVersion, "server": name}, nil
	})
	return nil
}

func (s *script) run() {
	ctx := context.Background()
	steps.Run("tools", func() (any, error) { return s.tools(ctx) })
	steps.Run("add", func() (any, error) {
		r, err := s.call(ctx, "add", map[string]any{"a": 2, "b": 3}, nil)
		if err != nil {
			return nil, err
		}
		return r.StructuredContent, nil
	})
	steps.Run("echo", func() (any, error) { return s.text(ctx, "echo", map[string]any{"msg": "hello"}) })
	steps.Run("ask", func() (any, error) { return s.text(ctx, "ask", map[string]any{}) })
	steps.Run("slow", func() (any, error) { return s.slow(ctx) })
	steps.Run("cancel", func() (any, error) { return s.cancel(ctx) })
	steps.Run("log", func() (any, error) { return s.log(ctx) })
	steps.Run("read-static", func() (any, error) { return s.read(ctx, "test://static") })
	steps.Run("read-template", func() (any, error) { return s.read(ctx, "welcome://ada") })
	steps.Run("prompt", func() (any, error) { return s.prompt(ctx) })
	steps.Run("complete", func() (any, error) {
		r, err := s.session.Complete(ctx, &mcp.CompleteParams{
			Ref:      &mcp.CompleteReference{Type: "ref/prompt", Name: "greet"},
			Argument: mcp.CompleteParamsArgument{Name: "name", Value: "A"},
		})
		if err != nil {
			return nil, err
		}
		return r.Completion.Values, nil
	})
	steps.Run("unknown-tool", func() (any, error) { return s.unknown(ctx) })
	steps.Run("grow", func() (any, error) { return s.grow(ctx) })
}

func (s *script) call(ctx context.Context, name string, args map[string]any, meta mcp.Meta) (*mcp.CallToolResult, error) {
	r, err := s.session.CallTool(ctx, &mcp.CallToolParams{Meta: meta, Name: name, Arguments: args})
	if err != nil {
		return nil, err
	}
	if r.IsError {
		return nil, fmt.Errorf("the tool failed: %s", firstText(r))
	}
	return r, nil
}

func (s *script) text(ctx context.Context, name string, args map[string]any) (any, error) {
	r, err := s.call(ctx, name, args, nil)
	if err != nil {
		return nil, err
	}
	return firstText(r), nil
}

func firstText(r *mcp.CallToolResult) string {
	for _, c := range r.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			return t.Text
		}
	}
	return ""
}

func (s *script) tools(ctx context.Context) ([]string, error) {
	var names []string
	for tool, err := range s.session.Tools(ctx, nil) {
		if err != nil {
			return nil, err
		}
		names = append(names, tool.Name)
	}
	slices.Sort(names)
	return names, nil
}

func (s *script) slow(ctx context.Context) (any, error) {
	s.progress.Reset()
	r, err := s.call(ctx, "slow", map[string]any{"ms": 300}, mcp.Meta{"progressToken": "slow-1"})
	if err != nil {
		return nil, err
	}
	return map[string]any{"text": firstText(r), "progress": s.progress.Wait(3)}, nil
}

// cancel gives up a call after its first progress, and makes another one.
func (s *script) cancel(ctx context.Context) (any, error) {
	s.progress.Reset()
	given, giveUp := context.WithCancel(ctx)
	go func() {
		s.progress.Wait(1)
		giveUp()
	}()
	_, err := s.call(given, "slow", map[string]any{"ms": 600_000}, mcp.Meta{"progressToken": "slow-2"})
	if err == nil || given.Err() == nil { // the SDK chooses the error
		return nil, fmt.Errorf("the cancelled call ended with %v", err)
	}
	return s.text(ctx, "echo", map[string]any{"msg": "alive"})
}

func (s *script) log(ctx context.Context) (any, error) {
	//lint:ignore SA1019 the test is about this deprecated feature
	meta := mcp.Meta{mcp.MetaKeyLogLevel: "info"}
	if s.session.InitializeResult().ProtocolVersion < "2026-07-28" {
		meta = nil
		//lint:ignore SA1019 the test is about this deprecated feature
		if err := s.session.SetLoggingLevel(ctx, &mcp.SetLoggingLevelParams{Level: "info"}); err != nil {
			return nil, err
		}
	}
	if _, err := s.call(ctx, "log", map[string]any{}, meta); err != nil {
		return nil, err
	}
	return s.logged.Wait(3), nil
}

func (s *script) read(ctx context.Context, uri string) (any, error) {
	r, err := s.session.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
	if err != nil {
		return nil, err
	}
	if len(r.Contents) != 1 {
		return nil, fmt.Errorf("%d contents", len(r.Contents))
	}
	return r.Contents[0].Text, nil
}

func (s *script) prompt(ctx context.Context) (any, error) {
	r, err := s.session.GetPrompt(ctx, &mcp.GetPromptParams{Name: "greet", Arguments: map[string]string{"name": "Ada"}})
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
	r, err := s.session.CallTool(ctx, &mcp.CallToolParams{Name: "no-such-tool", Arguments: map[string]any{}})
	var wire *jsonrpc.Error
	switch {
	case errors.As(err, &wire):
		return map[string]any{"code": wire.Code}, nil
	case err != nil:
		return nil, err
	case r.IsError:
		return map[string]any{"isError": true}, nil
	}
	return nil, errors.New("the call of an unknown tool succeeded")
}

func (s *script) grow(ctx context.Context) (any, error) {
	s.changed.Reset()
	if _, err := s.call(ctx, "grow", map[string]any{}, nil); err != nil {
		return nil, err
	}
	heard := len(s.changed.Wait(1)) > 0
	names, err := s.tools(ctx)
	if err != nil {
		return nil, err
	}
	return map[string]bool{"heard": heard, "listed": slices.Contains(names, "grown")}, nil
}
