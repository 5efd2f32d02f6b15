package wrapping

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/internal/leaktest"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
	"github.com/tenon-mcp/tenon/transport/stdio"
)

// eraVar makes the test binary serve the fixture on its standard input and
// output, in the era that it names.
const eraVar = "TENON_WRAPPING_TEST_ERA"

func TestMain(m *testing.M) {
	if name := os.Getenv(eraVar); name != "" {
		if err := stdio.Serve(context.Background(), forward(newFixture()), eras[name]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	leaktest.Main(m)
}

// eras are what a server may speak.
var eras = map[string]*era.ServerOptions{
	"modern": {ModernOnly: true},
	"legacy": {LegacyOnly: true},
}

// forward is middleware that knows Serve and nothing else.
func forward(h mcp.Handler) mcp.Handler {
	return mcp.HandlerFunc(func(ctx context.Context, c *mcp.Call) (mcp.Result, error) { return h.Serve(ctx, c) })
}

type nothing struct{}

type answer struct {
	Name string `json:"name"`
}

const watched = "test:watched"

// newFixture is a server, behind middleware, with a tool for each thing that
// may be lost.
func newFixture() *server.Server {
	s := server.New(mcp.Implementation{Name: "fixture", Version: "1"}, &server.Options{
		Middleware:  []mcp.Middleware{forward},
		ChangeDelay: 1,
		Log:         slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	var cancelled atomic.Int32
	tool := func(name string, run func(ctx context.Context, c *mcp.Call) (string, error)) {
		server.AddTool(s, name, "", func(ctx context.Context, c *mcp.Call, _ nothing) (string, error) { return run(ctx, c) }, nil)
	}
	tool("ask", func(_ context.Context, c *mcp.Call) (string, error) { return askEverything(c) })
	tool("fallback", func(_ context.Context, c *mcp.Call) (string, error) {
		_, err := server.Sample(c, "s", &mcp.CreateMessageParams{Messages: []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: mcp.NewSamplingContent(mcp.Text("hi"))}}, MaxTokens: 5})
		refused, ok := errors.AsType[*server.InputError](err)
		if err != nil && !ok {
			return "", err
		}
		who, err := server.Elicit[answer](c, "e", "Who?")
		if err != nil || !ok {
			return "with a model", err
		}
		return fmt.Sprintf("%s without a model: %v", who.Name, refused.Err), nil
	})
	tool("hold", func(_ context.Context, c *mcp.Call) (string, error) {
		_, err := server.Elicit[answer](c, "q", "Who?")
		return "", err
	})
	tool("wait", func(ctx context.Context, c *mcp.Call) (string, error) {
		server.Progress(c, 1, 0, "entered")
		<-ctx.Done()
		cancelled.Add(1)
		return "", ctx.Err()
	})
	tool("cancelled", func(context.Context, *mcp.Call) (string, error) { return fmt.Sprint(cancelled.Load()), nil })
	tool("step", func(_ context.Context, c *mcp.Call) (string, error) {
		for i := range 4 {
			if i == 2 {
				if _, err := server.Elicit[answer](c, "q", "Go on?"); err != nil {
					return "", err
				}
			}
			server.Progress(c, float64(i+1), 4, "")
		}
		return "done", nil
	})
	var charged atomic.Int32
	tool("once", func(_ context.Context, c *mcp.Call) (string, error) {
		n, err := server.Once(c, "charge", func() (int32, error) { return charged.Add(1), nil })
		if err != nil {
			return "", err
		}
		for _, key := range []string{"a", "b"} {
			if _, err := server.Elicit[answer](c, key, "Go on?"); err != nil {
				return "", err
			}
		}
		return fmt.Sprint(n, " of ", charged.Load()), nil
	})
	heard := make(chan string, 100)
	s.OnNotification("notifications/x.test/hello", func(_ context.Context, c *mcp.Call) {
		heard <- fmt.Sprintf("%s from %s", c.Params, c.Caller.Client.Name)
	})
	s.OnNotification("notifications/x.test/panic", func(context.Context, *mcp.Call) { panic("as it must") })
	tool("heard", func(ctx context.Context, _ *mcp.Call) (string, error) {
		select {
		case got := <-heard:
			return got, nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	})
	tool("touch", func(context.Context, *mcp.Call) (string, error) {
		tool("touched", func(context.Context, *mcp.Call) (string, error) { return "", nil })
		s.ResourceUpdated(watched)
		return "touched", nil
	})
	tool("die", func(context.Context, *mcp.Call) (string, error) { os.Exit(3); return "", nil })
	read := func(context.Context, *mcp.Call, string, map[string]string) ([]mcp.ResourceContents, error) {
		return server.TextResource("", "x"), nil
	}
	if err := s.AddResource(mcp.Resource{URI: watched, Name: "watched"}, read, nil); err != nil {
		panic(err)
	}
	return s
}

// askEverything asks for what a caller can be asked, in a round each.
func askEverything(c *mcp.Call) (string, error) {
	first, err := server.Elicit[answer](c, "e", "Who?")
	if err != nil {
		return "", err
	}
	said, err := server.Sample(c, "s", &mcp.CreateMessageParams{
		Messages:  []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: mcp.SamplingContent{Blocks: mcp.Contents{&mcp.TextContent{Text: "hi"}}}}},
		MaxTokens: 5,
	})
	if err != nil {
		return "", err
	}
	roots, err := server.Roots(c, "r")
	if err != nil {
		return "", err
	}
	var uris []string
	for _, r := range roots {
		uris = append(uris, r.URI)
	}
	return fmt.Sprintf("%s %s %s", first.Name, said.Model, strings.Join(uris, " ")), nil
}
