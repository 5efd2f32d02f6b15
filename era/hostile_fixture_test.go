package era_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// A fixture is the server that hostile clients meet: it has a tool for each
// way in which a call can go, and more tools than fit on a page.
type fixture struct {
	*server.Server
	done, cancelled atomic.Int32 // how sleeps ended
	ran             atomic.Int32 // how often the tool "strict" was entered
}

type nothing struct{}

type message struct {
	Msg string `json:"msg" schema:"default=''"`
}

type routed struct {
	Region string `json:"region" schema:"header=Region"`
	Shard  int    `json:"shard" schema:"header=Shard"`
}

type number struct {
	Value float64 `json:"value"`
}

func newFixture(t *testing.T) *fixture {
	f := &fixture{}
	f.Server = server.New(mcp.Implementation{Name: "fixture", Version: "1"}, &server.Options{
		PageSize: 4,
		Log:      slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	f.addTools()
	f.addFaults(t)
	f.addResources(t)
	server.AddPrompt(f.Server, "greet", "Greet somebody", func(_ context.Context, _ *mcp.Call, in struct {
		Who string `json:"who"`
	}) (string, error) {
		return "Greet " + in.Who, nil
	}, nil)
	err := f.CompletePrompt("greet", "who", func(_ context.Context, _ *mcp.Call, value string, _ map[string]string) ([]string, error) {
		var many []string
		for i := range 1000 {
			many = append(many, fmt.Sprint("n", i))
		}
		return many, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func (f *fixture) addTools() {
	server.AddTool(f.Server, "echo", "Say it again", func(_ context.Context, _ *mcp.Call, in message) (string, error) {
		return in.Msg, nil
	}, nil)
	server.AddTool(f.Server, "sleep", "Sleep", func(ctx context.Context, c *mcp.Call, in struct {
		MS float64 `json:"ms" schema:"minimum=0,maximum=1e6"`
	}) (string, error) {
		server.Progress(c, 1, 2, "asleep")
		select {
		case <-time.After(time.Duration(in.MS) * time.Millisecond):
			f.done.Add(1)
			server.Progress(c, 2, 2, "awake")
			return "DONE", nil
		case <-ctx.Done():
			f.cancelled.Add(1)
			server.Progress(c, 2, 2, "disturbed")
			server.Logger(c, "sleep").Error("disturbed")
			return "too late", nil
		}
	}, nil)
	server.AddTool(f.Server, "big", "Say much", func(_ context.Context, _ *mcp.Call, in struct {
		N int `json:"n" schema:"minimum=0,maximum=10000000"`
	}) (string, error) {
		return strings.Repeat("x", in.N), nil
	}, nil)
	server.AddTool(f.Server, "log", "Log lines", func(_ context.Context, c *mcp.Call, _ nothing) (string, error) {
		server.Logger(c, "log").Debug("quiet")
		server.Logger(c, "log").Warn("loud")
		return "logged", nil
	}, nil)
	server.AddTool(f.Server, "shout", "Tell what nobody asked for", func(_ context.Context, c *mcp.Call, _ nothing) (string, error) {
		c.Notify(mcp.Notification{Method: mcp.NotificationMessage, Params: json.RawMessage(`{"level":"emergency","data":"fire"}`)})
		c.Notify(mcp.Notification{Method: mcp.NotificationProgress, Params: json.RawMessage(`{"progress":1}`)})
		return "shouted", nil
	}, nil)
	server.AddTool(f.Server, "ask", "Ask for a name", func(_ context.Context, c *mcp.Call, in message) (string, error) {
		type name struct {
			Name string `json:"name"`
		}
		first, err := server.Elicit[name](c, "first", "First name?")
		if err != nil {
			return "", err
		}
		last, err := server.Elicit[name](c, "last", "Last name?")
		if err != nil {
			return "", err
		}
		return "You are " + first.Name + " " + last.Name, nil
	}, nil)
	server.AddTool(f.Server, "routed", "Is routed by headers", func(_ context.Context, _ *mcp.Call, in routed) (routed, error) {
		return in, nil
	}, nil)
	server.AddTool(f.Server, "strict", "Checks its arguments", func(_ context.Context, _ *mcp.Call, in struct {
		N int `json:"n" schema:"minimum=1,maximum=9"`
	}) (number, error) {
		f.ran.Add(1)
		return number{float64(in.N)}, nil
	}, nil)
	server.AddTool(f.Server, "admin", "Must never run", func(context.Context, *mcp.Call, message) (string, error) {
		return "ADMIN", nil
	}, nil)
}

// addFaults adds features that fail in every way that a feature can.
func (f *fixture) addFaults(t *testing.T) {
	server.AddTool(f.Server, "panic", "Panic", func(context.Context, *mcp.Call, nothing) (string, error) {
		panic(canary)
	}, nil)
	server.AddTool(f.Server, "none", "Come to nothing", func(context.Context, *mcp.Call, nothing) (*mcp.CallToolResult, error) {
		return nil, nil
	}, nil)
	server.AddTool(f.Server, "nan", "Come to no number", func(context.Context, *mcp.Call, nothing) (number, error) {
		return number{math.NaN()}, nil
	}, nil)
	err := f.AddRawTool(mcp.Tool{Name: "liar", InputSchema: json.RawMessage(`{"type":"object"}`), OutputSchema: json.RawMessage(`{"type":"object","required":["x"]}`)},
		func(context.Context, *mcp.Call, json.RawMessage) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{StructuredContent: json.RawMessage(`{}`)}, nil
		})
	if err != nil {
		t.Fatal(err)
	}
	server.AddPrompt(f.Server, "none", "Come to nothing", func(context.Context, *mcp.Call, nothing) (*mcp.GetPromptResult, error) {
		return nil, nil
	}, nil)
}

func (f *fixture) addResources(t *testing.T) {
	text := func(_ context.Context, _ *mcp.Call, uri string, vars map[string]string) ([]mcp.ResourceContents, error) {
		return server.TextResource("text/plain", fmt.Sprint(len(uri), " ", len(vars))), nil
	}
	none := func(context.Context, *mcp.Call, string, map[string]string) ([]mcp.ResourceContents, error) {
		return nil, nil
	}
	broken := func(context.Context, *mcp.Call, string, map[string]string) ([]mcp.ResourceContents, error) {
		return nil, errors.New(canary)
	}
	errs := []error{
		f.AddResource(mcp.Resource{URI: "test://one", Name: "one"}, text, nil),
		f.AddResource(mcp.Resource{URI: "test://none", Name: "none"}, none, nil),
		f.AddResource(mcp.Resource{URI: "test://broken", Name: "broken"}, broken, nil),
		f.AddTemplate(mcp.ResourceTemplate{URITemplate: "file:///x{/id*}", Name: "paths"}, text, nil),
		f.AddTemplate(mcp.ResourceTemplate{URITemplate: "test://tagged{?tags*}", Name: "tags"}, text, nil),
	}
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}
