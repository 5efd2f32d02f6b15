// Arriving holds the code of docs/coming-from-go-sdk.md,
// docs/coming-from-mcp-go.md and docs/write-a-client.md; a test compares them.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
	"github.com/tenon-mcp/tenon/transport/stdio"
	"github.com/tenon-mcp/tenon/transport/streamable"
	"github.com/tenon-mcp/tenon/transport/streamclient"
)

type search struct {
	Query string `json:"query" doc:"words to look for" schema:"minLength=1"`
	Limit int    `json:"limit,omitzero" doc:"how many results" schema:"minimum=1,maximum=50,default=10"`
}

type found struct {
	Titles []string `json:"titles"`
}

// notes is a server with one tool that finds and one that asks.
func notes() *server.Server {
	s := server.New(mcp.Implementation{Name: "notes", Version: "1.0"}, nil)
	server.AddTool(s, "search", "Search the notes", func(ctx context.Context, c *mcp.Call, in search) (found, error) {
		return found{Titles: []string{"About " + in.Query}}, nil
	}, nil)

	type confirmation struct {
		Sure bool `json:"sure" doc:"delete all notes"`
	}
	server.AddTool(s, "clear", "Delete all notes", func(ctx context.Context, c *mcp.Call, _ struct{}) (string, error) {
		ok, err := server.Elicit[confirmation](c, "sure", "Delete all notes?")
		if err != nil {
			return "", err // ends this round; the tool runs again with the answer
		}
		if !ok.Sure {
			return "Nothing was deleted.", nil
		}
		return "All notes are deleted.", nil
	}, nil)
	return s
}

func serve(ctx context.Context, s *server.Server) error {
	if len(os.Args) > 1 {
		return streamable.ListenAndServe(ctx, os.Args[1], s, nil, nil)
	}
	return stdio.Serve(ctx, s, nil)
}

func use(ctx context.Context) error {
	c, err := client.Dial(ctx, &stdio.Command{Path: "notes-server"}, nil)
	if err != nil {
		return err
	}
	defer c.Close()
	out, err := client.Call[found](ctx, c, "search", search{Query: "tenon"}, nil)
	if failed, ok := errors.AsType[*client.ToolError](err); ok {
		fmt.Println("the tool says:", failed)
	}
	fmt.Println(out.Titles)
	return err
}

func useCmd(ctx context.Context) (*client.Client, error) {
	cmd := exec.Command("notes-server", "--vault", "notes")
	cmd.Env = append(os.Environ(), "NOTES_TOKEN=secret")
	return client.Dial(ctx, &stdio.Command{Cmd: cmd}, nil)
}

func withKey(ctx context.Context, key string) (*client.Client, error) {
	return client.Dial(ctx, &streamclient.Endpoint{
		URL:    "https://notes.example.com/mcp",
		Header: http.Header{"Authorization": {"Bearer " + key}},
	}, nil)
}

func withTokens(ctx context.Context, token func() (string, error)) (*client.Client, error) {
	return client.Dial(ctx, &streamclient.Endpoint{
		URL:  "https://notes.example.com/mcp",
		HTTP: &http.Client{Transport: bearer(token)},
	}, nil)
}

// A bearer adds a fresh token to each request.
type bearer func() (string, error)

func (token bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	value, err := token()
	if err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+value)
	return http.DefaultTransport.RoundTrip(r)
}

// asked logs which tools ask for input, and how often.
func asked(next mcp.Handler) mcp.Handler {
	return mcp.HandlerFunc(func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
		res, err := next.Serve(ctx, c)
		if need, ok := errors.AsType[*mcp.InputRequired](err); ok {
			log.Printf("%s asks for %d inputs", c.Method, len(need.Requests))
		}
		return res, err
	})
}

func slow(ctx context.Context, c *client.Client) (*mcp.CallToolResult, error) {
	return c.CallTool(ctx, "import", nil, &client.CallOptions{
		IdleTimeout:  5 * time.Second, // without a report of progress
		TotalTimeout: time.Hour,
		Progress:     func(p mcp.ProgressParams) { fmt.Println(p.Progress, p.Message) },
	})
}

func status(ctx context.Context, c *client.Client) error {
	revision, err := c.Revision(ctx)
	if err != nil {
		return err
	}
	fmt.Println("revision", revision)
	return c.Ping(ctx)
}

func listen(ctx context.Context, c *client.Client, uri string) error {
	return c.Listen(ctx, mcp.SubscriptionFilter{ToolsListChanged: true, ResourceSubscriptions: []string{uri}}, func(n mcp.Notification) {
		fmt.Println("changed:", n.Method)
	})
}

func changed(ctx context.Context, dirs *roots) (*client.Client, error) {
	c, err := client.Dial(ctx, &stdio.Command{Path: "notes-server"}, &client.Options{Roots: dirs.list})
	if err != nil {
		return nil, err
	}
	dirs.add("file:///home/ada/notes")
	return c, c.RootsChanged(ctx)
}

type roots struct {
	mu  sync.Mutex
	all []mcp.Root
}

func (r *roots) list(context.Context) ([]mcp.Root, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.all), nil
}

func (r *roots) add(uri string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, mcp.Root{URI: uri})
}

func main() {
	if err := serve(context.Background(), notes()); err != nil {
		log.Fatal(err)
	}
}
