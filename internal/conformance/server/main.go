// Command server is the server under test of the official conformance suite:
// it has every tool, resource and prompt of the server scenarios, at one
// endpoint for all revisions. See internal/conformance/run.sh.
package main

import (
	"context"
	"encoding/base64"
	"flag"
	"fmt"
	"log"
	"net"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
	"github.com/tenon-mcp/tenon/transport/streamable"
)

func main() {
	log.SetFlags(0)
	addr := flag.String("http", "127.0.0.1:0", "the address to listen on; port 0 means any that is free")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	s, err := newServer()
	if err != nil {
		log.Fatal(err)
	}
	err = streamable.ListenAndServe(ctx, *addr, s, nil, func(at net.Addr) { fmt.Printf("http://%s%s\n", at, streamable.Path) })
	if err != nil {
		log.Fatal(err)
	}
}

// newServer returns a server with all fixtures.
func newServer() (*server.Server, error) {
	s := server.New(mcp.Implementation{Name: "tenon-conformance", Version: "1.0.0"}, &server.Options{
		ListCache: mcp.Cache{TTL: time.Minute, Scope: mcp.ScopePublic},
	})
	addContentTools(s)
	addNotificationTools(s)
	addInputTools(s)
	addRoundTools(s)
	addChangeTools(s)
	addPrompts(s)
	if err := addSchemaTool(s); err != nil {
		return nil, err
	}
	if err := addTaskTools(s); err != nil {
		return nil, err
	}
	if err := addSkills(s); err != nil {
		return nil, err
	}
	return s, addResources(s)
}

// nothing is the arguments of a tool that takes none.
type nothing struct{}

// addChangeTools adds the tools that change the lists of the server: each call
// adds or removes a feature in turn.
func addChangeTools(s *server.Server) {
	var mu sync.Mutex
	const extra = "test_extra"
	server.AddTool(s, "test_trigger_tool_change", "Adds a tool, or removes it again.", func(context.Context, *mcp.Call, nothing) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		if s.RemoveTools(extra) == 0 {
			server.AddTool(s, extra, "Added and removed by a test tool.", func(context.Context, *mcp.Call, nothing) (string, error) { return "here", nil }, nil)
		}
		return "The tools have changed.", nil
	}, nil)
	server.AddTool(s, "test_trigger_prompt_change", "Adds a prompt, or removes it again.", func(context.Context, *mcp.Call, nothing) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		if s.RemovePrompts(extra) == 0 {
			server.AddPrompt(s, extra, "Added and removed by a test tool.", func(context.Context, *mcp.Call, nothing) (string, error) { return "here", nil }, nil)
		}
		return "The prompts have changed.", nil
	}, nil)
}

// addNotificationTools adds the tools that send notifications.
func addNotificationTools(s *server.Server) {
	server.AddTool(s, "test_tool_with_logging", "Logs three lines while it runs.", func(ctx context.Context, c *mcp.Call, _ nothing) (string, error) {
		log := server.Logger(c, "test_tool_with_logging")
		log.Info("Tool execution started")
		pause(ctx, 50*time.Millisecond)
		log.Info("Tool processing data")
		pause(ctx, 50*time.Millisecond)
		log.Info("Tool execution completed")
		return "Three lines were logged.", nil
	}, nil)
	server.AddTool(s, "test_logging_tool", "Logs one line, for callers that want log lines.", func(_ context.Context, c *mcp.Call, _ nothing) (string, error) {
		server.Logger(c, "test_logging_tool").Info("This line is for those who asked for it.")
		return "One line was logged.", nil
	}, nil)
	server.AddTool(s, "test_tool_with_progress", "Reports progress three times.", func(ctx context.Context, c *mcp.Call, _ nothing) (string, error) {
		server.Progress(c, 0, 100, "begun")
		pause(ctx, 50*time.Millisecond)
		server.Progress(c, 50, 100, "half done")
		pause(ctx, 50*time.Millisecond)
		server.Progress(c, 100, 100, "done")
		return "Progress was reported.", nil
	}, nil)
	server.AddTool(s, "test_reconnection", "Closes the stream while it runs; the client reconnects for the result.", func(ctx context.Context, c *mcp.Call, _ nothing) (string, error) {
		c.Release()
		pause(ctx, 100*time.Millisecond)
		return "Reconnection test completed successfully", nil
	}, nil)
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

var (
	// pixel is a PNG of one red point.
	pixel = decoded("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC")
	// silence is a WAV of one millisecond.
	silence = decoded("UklGRiwAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQgAAACAgICAgICAgA==")
)

func decoded(text string) []byte {
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		panic(err)
	}
	return data
}
