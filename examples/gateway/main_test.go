package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/mcptest"
	"github.com/tenon-mcp/tenon/server"
)

type nothing struct{}

type answer struct {
	Name string `json:"name"`
}

// add adds a tool that says its name, asks who is there and reports progress.
func add(s *server.Server, name string) {
	server.AddTool(s, name, "", func(_ context.Context, c *mcp.Call, _ nothing) (string, error) {
		a, err := server.Elicit[answer](c, "who", "Who is there?")
		if err != nil {
			return "", err
		}
		server.Progress(c, 1, 1, "")
		return name + " " + a.Name, nil
	}, nil)
}

// everyRevision runs a test against a gateway of many servers, whose connections
// and clients speak each revision in turn.
func everyRevision(t *testing.T, test func(t *testing.T, c *client.Client, servers []*server.Server)) {
	for _, rev := range mcp.Revisions() {
		t.Run(string(rev), func(t *testing.T) {
			o := &client.Options{Elicit: func(_ context.Context, e *client.Elicitation) (*mcp.ElicitResult, error) {
				return e.Accept(answer{"Ada"})
			}}
			var g gateway
			var servers []*server.Server
			for i := range 12 {
				s := server.New(mcp.Implementation{Name: "s", Version: "1"}, nil)
				add(s, "b")
				add(s, "a")
				servers = append(servers, s)
				g = append(g, upstream{fmt.Sprintf("s%d", i+1), mcptest.Connect(t, s, rev)})
			}
			test(t, client.New(mcptest.Connect(t, g, rev), o), servers)
		})
	}
}

func TestListIsInTheOrderOfTheServers(t *testing.T) {
	everyRevision(t, func(t *testing.T, c *client.Client, _ []*server.Server) {
		var names []string
		for tool, err := range c.Tools(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, tool.Name)
		}
		if got := strings.Join(names[:6], " "); len(names) != 24 || got != "s1__a s1__b s2__a s2__b s3__a s3__b" && got != "s1__b s1__a s2__b s2__a s3__b s3__a" {
			t.Errorf("%d tools: %s", len(names), names)
		}
	})
}

func TestInputRequestsAndProgressPassThrough(t *testing.T) {
	everyRevision(t, func(t *testing.T, c *client.Client, _ []*server.Server) {
		if d, err := c.Discover(t.Context()); err != nil || d.Capabilities.Tools == nil {
			t.Fatal(err)
		}
		heard := 0
		res, err := c.CallTool(t.Context(), "s3__a", nil, &client.CallOptions{Progress: func(mcp.ProgressParams) { heard++ }})
		if e, ok := errors.AsType[*mcp.Error](err); ok && strings.Contains(e.Message, "no elicitation") {
			return // of this revision
		}
		if err != nil || res.Content.Text() != "a Ada" || heard != 1 {
			t.Errorf("%+v, %v; heard %d reports", res, err, heard)
		}
	})
}

func TestChangesPassThrough(t *testing.T) {
	everyRevision(t, func(t *testing.T, c *client.Client, servers []*server.Server) {
		ctx, cancel := context.WithCancel(t.Context())
		heard, ended := make(chan string, 100), make(chan error, 1)
		go func() {
			ended <- c.Listen(ctx, mcp.SubscriptionFilter{ToolsListChanged: true}, func(n mcp.Notification) { heard <- n.Method })
		}()
		hang := time.After(time.Minute)
		change := time.NewTicker(50 * time.Millisecond) // until the gateway is subscribed itself
		defer change.Stop()
		for n := 0; ; n++ {
			select {
			case got := <-heard:
				if got != mcp.NotificationToolsListChanged {
					continue
				}
			case <-change.C:
				add(servers[7], fmt.Sprint("new", n))
				continue
			case <-hang:
				t.Fatal("nothing was heard")
			}
			break
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("ended with %v", err)
		}
	})
}
