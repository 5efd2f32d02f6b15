// Command gosdkserver is the test server of this folder, written with the
// official Go SDK, on stdin and stdout or over HTTP.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	log.SetFlags(0)
	revision := flag.String("revision", "", "the only protocol revision to offer; empty means all that the SDK knows")
	addr := flag.String("http", "", "serve over HTTP at this address instead: /mcp, and HTTP+SSE at /sse")
	stateless := flag.Bool("stateless", false, "with -http: keep no sessions, which is how this SDK serves modern clients")
	flag.Parse()
	opts := &mcp.ServerOptions{CompletionHandler: complete}
	if *revision != "" {
		opts.SupportedProtocolVersions = []string{*revision}
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "gosdkserver", Version: "1.0.0"}, opts)
	addTools(s)
	addRest(s)
	if *addr != "" {
		log.Fatal(serveHTTP(*addr, s, *stateless))
	}
	if err := s.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		log.Fatal(err)
	}
}

// serveHTTP prints its URL and serves until the process is killed.
func serveHTTP(addr string, s *mcp.Server, stateless bool) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	every := func(*http.Request) *mcp.Server { return s }
	mux := http.NewServeMux()
	mux.Handle("/mcp", mcp.NewStreamableHTTPHandler(every, &mcp.StreamableHTTPOptions{
		Stateless:                    stateless,
		EventStore:                   mcp.NewMemoryEventStore(nil),
		PropagateRequestCancellation: true,
	}))
	mux.Handle("/sse", mcp.NewSSEHandler(every, nil))
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

type echoIn struct {
	Msg string `json:"msg"`
}

type slowIn struct {
	MS int `json:"ms"`
}

type none struct{}

func addTools(s *mcp.Server) {
	mcp.AddTool(s, &mcp.Tool{Name: "add", Description: "adds two integers"},
		func(_ context.Context, _ *mcp.CallToolRequest, in addIn) (*mcp.CallToolResult, addOut, error) {
			return nil, addOut{in.A + in.B}, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "echo", Description: "says the message again"},
		func(_ context.Context, _ *mcp.CallToolRequest, in echoIn) (*mcp.CallToolResult, any, error) {
			return text(in.Msg), nil, nil
		})
	s.AddTool(&mcp.Tool{Name: "ask", Description: "asks for a name and greets", InputSchema: json.RawMessage(`{"type":"object"}`)}, ask)
	mcp.AddTool(s, &mcp.Tool{Name: "slow", Description: "takes ms milliseconds, in three parts"}, slow)
	mcp.AddTool(s, &mcp.Tool{Name: "log", Description: "logs three lines"}, logThree)
	mcp.AddTool(s, &mcp.Tool{Name: "grow", Description: "adds the tool grown"},
		func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, any, error) {
			mcp.AddTool(s, &mcp.Tool{Name: "grown", Description: "was added at run time"},
				func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, any, error) {
					return text("grown"), nil, nil
				})
			return text("added"), nil, nil
		})
}

// ask returns its question. The SDK hands it to a modern client as it is, and
// puts it to a legacy client as a request.
func ask(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	answer, ok := req.Params.InputResponses["name"].(*mcp.ElicitResult)
	if !ok {
		return &mcp.CallToolResult{
			RequestState: "asked",
			InputRequests: mcp.InputRequestMap{"name": &mcp.ElicitParams{
				Mode:    "form",
				Message: "What is your name?",
				RequestedSchema: json.RawMessage(
					`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`),
			}},
		}, nil
	}
	if answer.Action != "accept" {
		return text("Hello, whoever you are!"), nil
	}
	return text(fmt.Sprintf("Hello, %v!", answer.Content["name"])), nil
}

func slow(ctx context.Context, req *mcp.CallToolRequest, in slowIn) (*mcp.CallToolResult, any, error) {
	token := req.Params.GetProgressToken()
	for i := 1; i <= 3; i++ {
		if token != nil {
			err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: float64(i), Total: 3})
			if err != nil {
				return nil, nil, err
			}
		}
		select {
		case <-ctx.Done():
			fmt.Fprintln(os.Stderr, "slow: cancelled")
			return nil, nil, ctx.Err()
		case <-time.After(time.Duration(in.MS) * time.Millisecond / 3):
		}
	}
	return text("done"), nil, nil
}

func logThree(ctx context.Context, req *mcp.CallToolRequest, _ none) (*mcp.CallToolResult, any, error) {
	for _, line := range []string{"one", "two", "three"} {
		//lint:ignore SA1019 the test is about this deprecated feature
		if err := req.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "info", Logger: "peer", Data: line}); err != nil {
			return nil, nil, err
		}
	}
	return text("logged"), nil, nil
}

func addRest(s *mcp.Server) {
	s.AddResource(&mcp.Resource{URI: "test://static", Name: "static", MIMEType: "text/plain"}, contents("static text"))
	s.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "welcome://{userId}", Name: "welcome", MIMEType: "text/plain"},
		func(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			id := strings.TrimPrefix(req.Params.URI, "welcome://")
			return contents("Welcome, "+id+"!")(ctx, req)
		})
	s.AddPrompt(&mcp.Prompt{
		Name: "greet", Description: "asks for a greeting",
		Arguments: []*mcp.PromptArgument{{Name: "name", Required: true}},
	}, func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{
			Role: "user", Content: &mcp.TextContent{Text: "Please greet " + req.Params.Arguments["name"] + "."},
		}}}, nil
	})
}

func complete(_ context.Context, req *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
	if req.Params.Ref.Name != "greet" || req.Params.Argument.Name != "name" {
		return nil, errors.New("only the argument name of the prompt greet can be completed")
	}
	values := []string{}
	for _, name := range []string{"Ada", "Alan", "Grace"} {
		if strings.HasPrefix(name, req.Params.Argument.Value) {
			values = append(values, name)
		}
	}
	return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: values, Total: len(values)}}, nil
}

func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}

func contents(s string) mcp.ResourceHandler {
	return func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: req.Params.URI, MIMEType: "text/plain", Text: s}}}, nil
	}
}
