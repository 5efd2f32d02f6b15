// Command mcpgoclient starts an MCP server, or reaches one over HTTP, runs the
// script of this folder against it with mcp-go, and prints one JSON line for
// each step.
//
//	mcpgoclient [-revision R] command [argument ...]
//	mcpgoclient [-revision R] -http URL [-sse]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/tenon-mcp/tenon/test/peers/internal/steps"
)

type script struct {
	client   *client.Client
	progress steps.Collection[any]
	logged   steps.Collection[any]
	changed  steps.Collection[bool]
	listens  steps.Collection[bool] // subscriptions that the server has acknowledged
}

func main() {
	revision := flag.String("revision", "", "the protocol revision to ask for; empty means mcp-go's newest")
	url := flag.String("http", "", "reach the server at this URL instead of starting it")
	older := flag.Bool("sse", false, "with -http: over HTTP+SSE, the transport of 2024-11-05")
	flag.Parse()
	if flag.NArg() == 0 && *url == "" {
		fmt.Fprintln(os.Stderr, "usage: mcpgoclient [-revision R] command [argument ...], or -http URL [-sse]")
		os.Exit(2)
	}
	to, err := reach(*url, *older, *revision, flag.Args())
	if err != nil {
		steps.Fail("connect", err)
	}
	s := &script{}
	if err := s.connect(*revision, to); err != nil {
		steps.Fail("connect", err)
	}
	s.run()
	steps.Run("close", func() (any, error) { return nil, s.client.Close() })
}

// person answers what the server asks.
type person struct{}

func (person) Elicit(context.Context, mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	return &mcp.ElicitationResult{ElicitationResponse: mcp.ElicitationResponse{
		Action:  mcp.ElicitationResponseActionAccept,
		Content: map[string]any{"name": "Ada"},
	}}, nil
}

// reach returns the way to the server. mcp-go hears news of a legacy server
// only if it is told to listen, and then it speaks no modern revision.
func reach(url string, older bool, revision string, command []string) (transport.Interface, error) {
	switch {
	case older:
		return transport.NewSSE(url)
	case url != "" && revision != "" && !mcp.IsModernProtocol(revision):
		return transport.NewStreamableHTTP(url, transport.WithContinuousListening())
	case url != "":
		return transport.NewStreamableHTTP(url)
	}
	return transport.NewStdio(command[0], nil, command[1:]...), nil
}

func (s *script) connect(revision string, to transport.Interface) error {
	// On a busy machine, a program needs longer to start than the 5 s that mcp-go has for
	// its first request, after which it takes the server for a legacy one.
	opts := []client.ClientOption{client.WithElicitationHandler(person{}), client.WithDiscoverTimeout(time.Minute)}
	if revision != "" {
		opts = append(opts, client.WithProtocolVersion(revision))
	}
	s.client = client.NewClient(to, opts...)
	s.client.OnNotification(s.hear)
	ctx := context.Background()
	if err := s.client.Start(ctx); err != nil {
		return err
	}
	if stderr, ok := client.GetStderr(s.client); ok {
		go func() { _, _ = io.Copy(os.Stderr, stderr) }() // ends with the program
	}
	limited, cancel := context.WithTimeout(ctx, 3*steps.Patience)
	defer cancel()
	var req mcp.InitializeRequest
	req.Params.ClientInfo = mcp.Implementation{Name: "mcpgoclient", Version: "1.0.0"}
	r, err := s.client.Initialize(limited, req)
	if err != nil {
		return err
	}
	steps.Run("connect", func() (any, error) {
		return map[string]string{"revision": r.ProtocolVersion, "server": r.ServerInfo.Name}, nil
	})
	return nil
}

func (s *script) hear(n mcp.JSONRPCNotification) {
	switch n.Method {
	case "notifications/progress":
		s.progress.Add(n.Params.AdditionalFields["progress"])
	case "notifications/message":
		s.logged.Add(n.Params.AdditionalFields["data"])
	case "notifications/tools/list_changed":
		s.changed.Add(true)
	case "notifications/subscriptions/acknowledged":
		s.listens.Add(true)
	}
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
	steps.Run("complete", func() (any, error) { return s.complete(ctx) })
	steps.Run("unknown-tool", func() (any, error) { return s.unknown(ctx) })
	steps.Run("grow", func() (any, error) { return s.grow(ctx) })
}

func (s *script) call(ctx context.Context, name string, args map[string]any, meta *mcp.Meta) (*mcp.CallToolResult, error) {
	var req mcp.CallToolRequest
	req.Params.Name, req.Params.Arguments, req.Params.Meta = name, args, meta
	r, err := s.client.CallTool(ctx, req)
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
		if t, ok := c.(mcp.TextContent); ok {
			return t.Text
		}
	}
	return ""
}

func (s *script) tools(ctx context.Context) ([]string, error) {
	r, err := s.client.ListTools(ctx, mcp.ListToolsRequest{})
	if err != nil {
		return nil, err
	}
	var names []string
	for _, tool := range r.Tools {
		names = append(names, tool.Name)
	}
	slices.Sort(names)
	return names, nil
}

func (s *script) slow(ctx context.Context) (any, error) {
	s.progress.Reset()
	r, err := s.call(ctx, "slow", map[string]any{"ms": 300}, &mcp.Meta{ProgressToken: "slow-1"})
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
	_, err := s.call(given, "slow", map[string]any{"ms": 600_000}, &mcp.Meta{ProgressToken: "slow-2"})
	// Which error it is depends on what mcp-go notices first: the end of the context
	// or that of the stream.
	if err == nil || given.Err() == nil {
		return nil, fmt.Errorf("the cancelled call ended with %v", err)
	}
	return s.text(ctx, "echo", map[string]any{"msg": "alive"})
}

func (s *script) log(ctx context.Context) (any, error) {
	var level mcp.SetLevelRequest
	level.Params.Level = mcp.LoggingLevelInfo
	if err := s.client.SetLevel(ctx, level); err != nil {
		return nil, err
	}
	if _, err := s.call(ctx, "log", map[string]any{}, nil); err != nil {
		return nil, err
	}
	return s.logged.Wait(3), nil
}

func (s *script) read(ctx context.Context, uri string) (any, error) {
	var req mcp.ReadResourceRequest
	req.Params.URI = uri
	r, err := s.client.ReadResource(ctx, req)
	if err != nil {
		return nil, err
	}
	if len(r.Contents) != 1 {
		return nil, fmt.Errorf("%d contents", len(r.Contents))
	}
	t, ok := r.Contents[0].(mcp.TextResourceContents)
	if !ok {
		return nil, fmt.Errorf("the contents are a %T", r.Contents[0])
	}
	return t.Text, nil
}

func (s *script) prompt(ctx context.Context) (any, error) {
	var req mcp.GetPromptRequest
	req.Params.Name, req.Params.Arguments = "greet", map[string]string{"name": "Ada"}
	r, err := s.client.GetPrompt(ctx, req)
	if err != nil {
		return nil, err
	}
	if len(r.Messages) != 1 {
		return nil, fmt.Errorf("%d messages", len(r.Messages))
	}
	t, ok := r.Messages[0].Content.(mcp.TextContent)
	if !ok {
		return nil, fmt.Errorf("the message is a %T", r.Messages[0].Content)
	}
	return t.Text, nil
}

func (s *script) complete(ctx context.Context) (any, error) {
	var req mcp.CompleteRequest
	req.Params.Ref = mcp.PromptReference{Type: "ref/prompt", Name: "greet"}
	req.Params.Argument = mcp.CompleteArgument{Name: "name", Value: "A"}
	r, err := s.client.Complete(ctx, req)
	if err != nil {
		return nil, err
	}
	return r.Completion.Values, nil
}

// unknown calls a tool that does not exist. mcp-go turns the codes it knows
// into errors of its own and keeps the others as text.
func (s *script) unknown(ctx context.Context) (any, error) {
	var req mcp.CallToolRequest
	req.Params.Name, req.Params.Arguments = "no-such-tool", map[string]any{}
	r, err := s.client.CallTool(ctx, req)
	switch {
	case errors.Is(err, mcp.ErrInvalidParams):
		return map[string]any{"code": mcp.INVALID_PARAMS}, nil
	case errors.Is(err, mcp.ErrMethodNotFound):
		return map[string]any{"code": mcp.METHOD_NOT_FOUND}, nil
	case err != nil:
		return nil, err
	case r.IsError:
		return map[string]any{"isError": true}, nil
	}
	return nil, errors.New("the call of an unknown tool succeeded")
}

func (s *script) grow(ctx context.Context) (any, error) {
	if mcp.IsModernProtocol(s.client.ProtocolVersion()) {
		stop, err := s.client.ListenAsync(ctx, mcp.SubscriptionFilter{ToolsListChanged: true}, nil)
		if err != nil {
			return nil, err
		}
		defer stop()
		if len(s.listens.Wait(1)) == 0 {
			return nil, errors.New("the server did not acknowledge the subscription")
		}
	}
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
