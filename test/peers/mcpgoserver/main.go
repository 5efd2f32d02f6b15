// Command mcpgoserver is the test server of this folder, written with mcp-go,
// on stdin and stdout or over HTTP.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

func main() {
	log.SetFlags(0)
	addr := flag.String("http", "", "serve over HTTP at this address instead: /mcp, and HTTP+SSE at /sse")
	flag.Parse()
	s := server.NewMCPServer("mcpgoserver", "1.0.0",
		server.WithToolCapabilities(true),
		server.WithResourceCapabilities(false, true),
		server.WithPromptCapabilities(true),
		server.WithLogging(),
		server.WithElicitation(),
		server.WithCompletions(),
		server.WithPromptCompletionProvider(names{}),
	)
	addTools(s)
	addRest(s)
	if *addr != "" {
		log.Fatal(serveHTTP(*addr, s))
	}
	if err := server.ServeStdio(s); err != nil && !errors.Is(err, context.Canceled) {
		log.Fatal(err)
	}
}

// serveHTTP prints its URL and serves until the process is killed.
func serveHTTP(addr string, s *server.MCPServer) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", server.NewStreamableHTTPServer(s, server.WithStateful(true), server.WithEventStore(server.NewInMemoryEventStore())))
	older := server.NewSSEServer(s)
	mux.Handle("/sse", older)
	mux.Handle("/message", older)
	fmt.Printf("http://%s/mcp\n", l.Addr())
	return http.Serve(l, mux)
}

type addIn struct {
	A int `json:"a"`
	B int `json:"b"`
}

type addOut struct {
	Sum int `json:"sum"`
}

func addTools(s *server.MCPServer) {
	s.AddTool(mcp.NewTool("add", mcp.WithDescription("adds two integers"),
		mcp.WithInputSchema[addIn](), mcp.WithOutputSchema[addOut]()),
		mcp.NewStructuredToolHandler(func(_ context.Context, _ mcp.CallToolRequest, in addIn) (addOut, error) {
			return addOut{in.A + in.B}, nil
		}))
	s.AddTool(mcp.NewTool("echo", mcp.WithDescription("says the message again"), mcp.WithString("msg", mcp.Required())),
		func(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			msg, err := req.RequireString("msg")
			if err != nil {
				return mcp.NewToolResultError(err.Error()), nil
			}
			return mcp.NewToolResultText(msg), nil
		})
	s.AddTool(mcp.NewTool("ask", mcp.WithDescription("asks for a name and greets")), ask)
	s.AddTool(mcp.NewTool("slow", mcp.WithDescription("takes ms milliseconds, in three parts"),
		mcp.WithNumber("ms", mcp.Required())), slow(s))
	s.AddTool(mcp.NewTool("log", mcp.WithDescription("logs three lines")),
		func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			for _, line := range []string{"one", "two", "three"} {
				n := mcp.NewLoggingMessageNotification(mcp.LoggingLevelInfo, "peer", line)
				if err := s.SendLogMessageToClient(ctx, n); err != nil {
					return nil, err
				}
			}
			return mcp.NewToolResultText("logged"), nil
		})
	s.AddTool(mcp.NewTool("grow", mcp.WithDescription("adds the tool grown")),
		func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			s.AddTool(mcp.NewTool("grown", mcp.WithDescription("was added at run time")),
				func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
					return mcp.NewToolResultText("grown"), nil
				})
			return mcp.NewToolResultText("added"), nil
		})
}

// ask returns its question. mcp-go hands it to a modern client as it is, and
// puts it to a legacy client as a request.
func ask(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	answer := server.ElicitationResponse(req.Params.InputResponses, "name")
	if answer == nil {
		return server.NewInputRequestBuilder("asked").Elicit("name", mcp.ElicitationParams{
			Mode:    mcp.ElicitationModeForm,
			Message: "What is your name?",
			RequestedSchema: map[string]any{
				"type":       "object",
				"properties": map[string]any{"name": map[string]any{"type": "string"}},
				"required":   []string{"name"},
			},
		}).ToolResult(), nil
	}
	content, ok := answer.Content.(map[string]any)
	if answer.Action != mcp.ElicitationResponseActionAccept || !ok {
		return mcp.NewToolResultText("Hello, whoever you are!"), nil
	}
	return mcp.NewToolResultText(fmt.Sprintf("Hello, %v!", content["name"])), nil
}

func slow(s *server.MCPServer) server.ToolHandlerFunc {
	return func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		part := time.Duration(req.GetInt("ms", 0)) * time.Millisecond / 3
		for i := 1; i <= 3; i++ {
			if m := req.Params.Meta; m != nil && m.ProgressToken != nil {
				err := s.SendNotificationToClient(ctx, "notifications/progress", map[string]any{
					"progressToken": m.ProgressToken, "progress": i, "total": 3,
				})
				if err != nil {
					return nil, err
				}
			}
			select {
			case <-ctx.Done():
				fmt.Fprintln(os.Stderr, "slow: cancelled")
				return nil, ctx.Err()
			case <-time.After(part):
			}
		}
		return mcp.NewToolResultText("done"), nil
	}
}

func addRest(s *server.MCPServer) {
	s.AddResource(mcp.NewResource("test://static", "static", mcp.WithMIMEType("text/plain")),
		func(_ context.Context, req mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
			return contents(req, "static text"), nil
		})
	s.AddResourceTemplate(mcp.NewResourceTemplate("welcome://{userId}", "welcome", mcp.WithTemplateMIMEType("text/plain")),
		func(_ context.Context, req mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
			return contents(req, "Welcome, "+strings.TrimPrefix(req.Params.URI, "welcome://")+"!"), nil
		})
	s.AddPrompt(mcp.NewPrompt("greet", mcp.WithPromptDescription("asks for a greeting"),
		mcp.WithArgument("name", mcp.RequiredArgument())),
		func(_ context.Context, req mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return mcp.NewGetPromptResult("a greeting", []mcp.PromptMessage{
				mcp.NewPromptMessage(mcp.RoleUser, mcp.NewTextContent("Please greet "+req.Params.Arguments["name"]+".")),
			}), nil
		})
}

func contents(req mcp.ReadResourceRequest, s string) []mcp.ResourceContents {
	return []mcp.ResourceContents{mcp.TextResourceContents{URI: req.Params.URI, MIMEType: "text/plain", Text: s}}
}

// names completes the argument of the prompt.
type names struct{}

func (names) CompletePromptArgument(_ context.Context, prompt string, arg mcp.CompleteArgument, _ mcp.CompleteContext) (*mcp.Completion, error) {
	if prompt != "greet" || arg.Name != "name" {
		return nil, errors.New("only the argument name of the prompt greet can be completed")
	}
	values := []string{}
	for _, name := range []string{"Ada", "Alan", "Grace"} {
		if strings.HasPrefix(name, arg.Value) {
			values = append(values, name)
		}
	}
	return &mcp.Completion{Values: values, Total: len(values)}, nil
}
