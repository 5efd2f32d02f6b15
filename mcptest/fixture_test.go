package mcptest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/leaktest"
	"github.com/tenon-mcp/tenon/internal/spectest"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

var checking sync.Once

// checked has every frame held against the published schemas, where they are.
func checked(t *testing.T) {
	checking.Do(func() {
		t.Run("with the published schemas", func(t *testing.T) {
			spec := spectest.Load(t)
			Check = func(f Frame) error {
				if f.Revision == "" {
					return nil
				}
				dir := spectest.FromClient
				if f.FromServer {
					dir = spectest.FromServer
				}
				return spec.Validate(f.Revision, dir, f.Raw, f.Method)
			}
		})
	})
}

type pair struct {
	A int `json:"a"`
	B int `json:"b"`
}

type sum struct {
	Sum int `json:"sum"`
}

type name struct {
	Name string `json:"name"`
}

// fixture is a server with a tool for each thing that a conversation can say.
func fixture(*testing.T) mcp.Handler {
	s := server.New(mcp.Implementation{Name: "fixture", Version: "1"}, nil)
	server.AddTool(s, "add", "Add two numbers", func(_ context.Context, _ *mcp.Call, in pair) (sum, error) {
		return sum{in.A + in.B}, nil
	}, nil)
	server.AddTool(s, "greet", "Greet somebody", func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) {
		first, err := server.Elicit[name](c, "first", "Your first name?")
		if err != nil {
			return "", err
		}
		last, err := server.Elicit[name](c, "last", "Your last name?")
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("Hello, %s %s", first.Name, last.Name), nil
	}, nil)
	server.AddTool(s, "work", "Work for a while", func(ctx context.Context, c *mcp.Call, _ struct{}) (string, error) {
		server.Progress(c, 1, 2, "")
		server.Logger(c, "").Info("half way")
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return "", ctx.Err()
		}
		server.Progress(c, 2, 2, "")
		return "done", nil
	}, nil)
	server.AddTool(s, "fail", "Fail", func(context.Context, *mcp.Call, struct{}) (string, error) {
		return "", errors.New("it does not work")
	}, nil)
	return s
}
