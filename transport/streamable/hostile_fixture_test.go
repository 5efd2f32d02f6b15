package streamable_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// canary stands in everything that no client may ever see.
const canary = "canary-77d0"

// A fixture is the server that hostile clients meet: a tool for each way in
// which a call can go, and more of them than fit on a page.
type fixture struct {
	*server.Server
	began     chan string // has the name of a gated call when it runs
	gate      chan bool   // each lets a gated call take one step
	cancelled chan string // has the name of a gated call when it was cancelled
	ran       atomic.Int32
	added     atomic.Int32
	held, max atomic.Int32 // calls that are held now, and at most so far
}

func newFixture(t testing.TB) *fixture {
	f := &fixture{began: make(chan string, 1000), gate: make(chan bool), cancelled: make(chan string, 1000)}
	f.Server = server.New(mcp.Implementation{Name: "fixture", Version: "1"}, &server.Options{
		PageSize: 4,
		Log:      slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	f.addTools()
	f.addFaults()
	f.addRest(t)
	return f
}

type empty struct{}

type said1 struct {
	Msg string `json:"msg" schema:"default=''"`
}

// routedArgs stand in headers, one of them deep inside.
type routedArgs struct {
	Region string `json:"region,omitempty" schema:"header=Region"`
	Shard  *int   `json:"shard,omitempty" schema:"header=Shard"`
	Live   *bool  `json:"live,omitempty" schema:"header=Live"`
	Where  *struct {
		Zone string `json:"zone,omitempty" schema:"header=Zone"`
	} `json:"where,omitempty"`
}

func (f *fixture) addTools() {
	server.AddTool(f.Server, "echo", "Say it again", func(_ context.Context, _ *mcp.Call, in said1) (string, error) {
		return in.Msg, nil
	}, nil)
	// gated tells of each step that the test allows, and ends after steps.
	server.AddTool(f.Server, "gated", "Go step by step", func(ctx context.Context, c *mcp.Call, in struct {
		Name  string `json:"name"`
		Steps int    `json:"steps"`
	}) (string, error) {
		f.began <- in.Name
		for i := range in.Steps {
			select {
			case <-f.gate:
				server.Progress(c, float64(i+1), float64(in.Steps), in.Name)
			case <-ctx.Done():
				f.cancelled <- in.Name
				server.Progress(c, float64(in.Steps), 0, "too late")
				return "too late", nil
			}
		}
		return "DONE " + in.Name, nil
	}, nil)
	server.AddTool(f.Server, "held", "Stay until cancelled", func(ctx context.Context, _ *mcp.Call, _ empty) (string, error) {
		for now, most := f.held.Add(1), f.max.Load(); now > most && !f.max.CompareAndSwap(most, now); most = f.max.Load() {
		}
		defer f.held.Add(-1)
		<-ctx.Done()
		return "", ctx.Err()
	}, nil)
	server.AddTool(f.Server, "count", "Tell many things at once", func(_ context.Context, c *mcp.Call, in struct {
		N   int    `json:"n" schema:"minimum=0,maximum=1000"`
		Who string `json:"who"`
	}) (string, error) {
		for i := range in.N {
			server.Progress(c, float64(i+1), float64(in.N), in.Who)
		}
		return "counted by " + in.Who, nil
	}, nil)
	server.AddTool(f.Server, "big", "Say much", func(_ context.Context, _ *mcp.Call, in struct {
		N int `json:"n" schema:"minimum=0,maximum=100000000"`
	}) (string, error) {
		return strings.Repeat("x", in.N), nil
	}, nil)
	server.AddTool(f.Server, "log", "Log lines", func(_ context.Context, c *mcp.Call, _ empty) (string, error) {
		server.Logger(c, "log").Debug("quiet")
		server.Logger(c, "log").Warn("loud")
		return "logged", nil
	}, nil)
	server.AddTool(f.Server, "ask", "Ask for a name", func(_ context.Context, c *mcp.Call, _ said1) (string, error) {
		who, err := server.Elicit[struct {
			Name string `json:"name"`
		}](c, "first", "First name?")
		return "You are " + who.Name, err
	}, nil)
	server.AddTool(f.Server, "twice", "Ask for two names", func(_ context.Context, c *mcp.Call, _ said1) (string, error) {
		type name struct {
			Name string `json:"name"`
		}
		first, err := server.Elicit[name](c, "first", "First name?")
		if err != nil {
			return "", err
		}
		last, err := server.Elicit[name](c, "last", "Last name?")
		return "You are " + first.Name + " " + last.Name, err
	}, nil)
	server.AddTool(f.Server, "routed", "Is routed by headers", func(_ context.Context, _ *mcp.Call, in routedArgs) (routedArgs, error) {
		return in, nil
	}, nil)
	server.AddTool(f.Server, "strict", "Checks its arguments", func(_ context.Context, _ *mcp.Call, in struct {
		N int `json:"n" schema:"minimum=1,maximum=9"`
	}) (string, error) {
		f.ran.Add(1)
		return fmt.Sprint(in.N), nil
	}, nil)
	server.AddTool(f.Server, "admin", "Must never run", func(context.Context, *mcp.Call, said1) (string, error) {
		f.ran.Add(1)
		return "ADMIN", nil
	}, nil)
}

func (f *fixture) addFaults() {
	server.AddTool(f.Server, "panic", "Panic", func(context.Context, *mcp.Call, empty) (string, error) { panic(canary) }, nil)
	server.AddTool(f.Server, "none", "Come to nothing", func(context.Context, *mcp.Call, empty) (*mcp.CallToolResult, error) {
		return nil, nil
	}, nil)
	server.AddTool(f.Server, "nan", "Come to no number", func(context.Context, *mcp.Call, empty) (struct {
		Value float64 `json:"value"`
	}, error) {
		return struct {
			Value float64 `json:"value"`
		}{math.NaN()}, nil
	}, nil)
}

func (f *fixture) addRest(t testing.TB) {
	text := func(_ context.Context, _ *mcp.Call, uri string, vars map[string]string) ([]mcp.ResourceContents, error) {
		return server.TextResource("text/plain", fmt.Sprint(len(uri), " ", len(vars))), nil
	}
	broken := func(context.Context, *mcp.Call, string, map[string]string) ([]mcp.ResourceContents, error) {
		return nil, errors.New(canary)
	}
	server.AddPrompt(f.Server, "greet", "Greet somebody", func(_ context.Context, _ *mcp.Call, in struct {
		Who string `json:"who"`
	}) (string, error) {
		return "Greet " + in.Who, nil
	}, nil)
	if err := errors.Join(
		f.AddResource(mcp.Resource{URI: "test://one", Name: "one"}, text, nil),
		f.AddResource(mcp.Resource{URI: "test://broken", Name: "broken"}, broken, nil),
		f.AddTemplate(mcp.ResourceTemplate{URITemplate: "file:///x{/id*}", Name: "paths"}, text, nil),
		f.AddTemplate(mcp.ResourceTemplate{URITemplate: "test://tagged{?tags*}", Name: "tags"}, text, nil),
		f.CompletePrompt("greet", "who", func(context.Context, *mcp.Call, string, map[string]string) (many []string, err error) {
			for i := range 1000 {
				many = append(many, fmt.Sprint("n", i))
			}
			return many, nil
		}),
	); err != nil {
		t.Fatal(err)
	}
}

// addOne makes a change that is news.
func addOne(f *fixture) {
	server.AddTool(f.Server, fmt.Sprint("new", f.added.Add(1)), "", func(context.Context, *mcp.Call, empty) (string, error) { return "", nil }, nil)
}
