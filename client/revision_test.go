package client_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// A client knows its revision, pings and announces its roots in every revision,
// through middleware that forwards Serve alone.
func TestRevisionPingAndRoots(t *testing.T) {
	for _, rev := range mcp.Revisions() {
		t.Run(string(rev), func(t *testing.T) {
			s, err := era.NewServer(server.New(mcp.Implementation{Name: "s", Version: "1"}, nil), nil)
			if err != nil {
				t.Fatal(err)
			}
			near, far := jsonrpc.Pipe()
			served := make(chan error, 1)
			go func() { served <- s.ServeStream(context.Background(), far) }()
			var mu sync.Mutex
			var sent []string
			o := &client.Options{Roots: func(context.Context) ([]mcp.Root, error) { return nil, nil }}
			peer, err := era.Dial(t.Context(), near, o.Profile(), &era.DialOptions{Known: rev, Tap: func(d jsonrpc.Direction, frame []byte) {
				var m struct {
					Method string
					Params json.RawMessage
				}
				if d == jsonrpc.Out && json.Unmarshal(frame, &m) == nil {
					mu.Lock()
					defer mu.Unlock()
					sent = append(sent, m.Method)
					if announces := strings.Contains(string(m.Params), `"roots":{"listChanged":true}`); announces && rev == mcp.Rev20260728 {
						t.Errorf("declared in %s: %s", m.Method, m.Params)
					} else if m.Method == "initialize" && !announces {
						t.Errorf("not declared: %s", m.Params)
					}
				}
			}})
			if err != nil {
				t.Fatal(err)
			}
			forward := mcp.HandlerFunc(func(ctx context.Context, c *mcp.Call) (mcp.Result, error) { return peer.Serve(ctx, c) })
			c := client.New(forward, o)
			if got, err := c.Revision(t.Context()); err != nil || got != rev {
				t.Errorf("Revision says %q, %v", got, err)
			}
			take := func() []string {
				mu.Lock()
				defer mu.Unlock()
				was := sent
				sent = nil
				return was
			}
			take()
			if err := c.Ping(t.Context()); err != nil {
				t.Errorf("Ping: %v", err)
			}
			want := []string{"ping"}
			if rev == mcp.Rev20260728 {
				want = []string{"server/discover"}
			}
			if got := take(); !slices.Equal(got, want) {
				t.Errorf("Ping sent %q", got)
			}
			if err := c.RootsChanged(t.Context()); err != nil {
				t.Errorf("RootsChanged: %v", err)
			}
			want = []string{"notifications/roots/list_changed"}
			if rev == mcp.Rev20260728 {
				want = nil
			}
			if err := c.Ping(t.Context()); err != nil { // so that what was sent is written
				t.Error(err)
			}
			if got := take(); !slices.Equal(got[:len(got)-1], want) {
				t.Errorf("RootsChanged sent %q", got)
			}
			peer.Close()
			if err := c.Ping(t.Context()); err == nil {
				t.Error("a closed connection answers")
			}
			<-served
		})
	}
}

func TestPingOfAServerInThisProcess(t *testing.T) {
	c := client.New(server.New(mcp.Implementation{Name: "s", Version: "1"}, nil), nil)
	if err := c.Ping(t.Context()); err != nil {
		t.Error(err)
	}
	if err := c.RootsChanged(t.Context()); err != nil {
		t.Error(err)
	}
	if got, err := c.Revision(t.Context()); err != nil || got != "" {
		t.Errorf("got %q, %v", got, err)
	}
}
