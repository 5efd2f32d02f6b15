// A gateway of several servers in one page: it is a Handler over Handlers. Tools
// are shown as server__tool, in the order of the servers; input requests,
// progress, change notifications and cancellation pass through, whichever
// revisions are spoken on either side.
//
//	gateway "node server-a.js" "python server-b.py"
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"strings"
	"sync"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/transport/stdio"
)

// A gateway shows many servers as one.
type gateway []upstream

// An upstream is a server and the name that its tools are shown under.
type upstream struct {
	name string
	mcp.Handler
}

func (g gateway) Serve(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	switch c.Method {
	case mcp.MethodDiscover:
		offers := mcp.ServerCapabilities{Tools: &mcp.ListCapability{ListChanged: true}}
		body, err := mcp.Marshal(mcp.Discovery{Capabilities: offers})
		return mcp.Result{Body: body, Server: &mcp.Implementation{Name: "gateway", Version: "1.0"}}, err
	case mcp.MethodToolsList:
		return g.list(ctx)
	case mcp.MethodToolsCall:
		return g.call(ctx, c)
	case mcp.MethodSubscriptionsListen:
		return g.listen(ctx, c)
	}
	return mcp.Result{}, mcp.MethodNotFound(c.Method)
}

// list gathers the tools of all servers under names that say whose they are.
func (g gateway) list(ctx context.Context) (mcp.Result, error) {
	all := mcp.ListToolsResult{Tools: []mcp.Tool{}}
	for _, up := range g {
		for tool, err := range client.New(up, nil).Tools(ctx) {
			if err != nil {
				return mcp.Result{}, err
			}
			t := *tool
			t.Name = up.name + "__" + t.Name
			all.Tools = append(all.Tools, t)
		}
	}
	body, err := mcp.Marshal(all)
	return mcp.Result{Body: body}, err
}

// call passes a call on: the same call, with another name in it.
func (g gateway) call(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	name, args, err := mcp.DecodeCallToolParams(c.Params)
	if err != nil {
		return mcp.Result{}, err
	}
	where, tool, _ := strings.Cut(name, "__")
	for _, up := range g {
		if up.name != where {
			continue
		}
		onward := *c
		if onward.Params, err = mcp.Marshal(mcp.CallToolParams{Name: tool, Arguments: args}); err != nil {
			return mcp.Result{}, err
		}
		return up.Serve(ctx, &onward)
	}
	return mcp.Result{}, mcp.InvalidParams("unknown tool %q", name)
}

// listen passes on that the tools of a server have changed, until ctx ends. A
// server that cannot be listened to says nothing; one that ends is listened to
// again.
func (g gateway) listen(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	var in mcp.ListenParams
	if err := c.Decode(&in); err != nil {
		return mcp.Result{}, err
	}
	filter := mcp.SubscriptionFilter{ToolsListChanged: in.Notifications.ToolsListChanged}
	ack, err := mcp.Marshal(mcp.SubscriptionsAcknowledgedParams{Notifications: filter})
	if err != nil || ctx.Err() != nil {
		return mcp.Result{}, errors.Join(err, ctx.Err())
	}
	changes := make(chan mcp.Notification, 1) // one that waits stands for all that follow
	var listening sync.WaitGroup
	defer listening.Wait()
	for _, up := range g {
		listening.Go(func() {
			client.New(up, nil).Listen(ctx, filter, func(n mcp.Notification) {
				if n.Method == mcp.NotificationToolsListChanged {
					select {
					case changes <- n:
					default:
					}
				}
			})
		})
	}
	c.Notify(mcp.Notification{Method: mcp.NotificationSubscriptionsAcknowledged, Params: ack})
	for {
		select {
		case n := <-changes:
			c.Notify(n)
		case <-ctx.Done():
			return mcp.Result{}, nil
		}
	}
}

func main() {
	ctx := context.Background()
	// What the gateway can pass on, it says it can do.
	persona := &mcp.ClientProfile{
		Client:       mcp.Implementation{Name: "gateway", Version: "1.0"},
		Capabilities: mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapability{Form: mcp.Settings{}, URL: mcp.Settings{}}},
	}
	var g gateway
	for i, command := range os.Args[1:] {
		words := strings.Fields(command)
		conn, err := (&stdio.Command{Path: words[0], Args: words[1:]}).Dial(ctx, persona)
		if err != nil {
			log.Fatal(err)
		}
		defer conn.Close()
		g = append(g, upstream{fmt.Sprintf("s%d", i+1), conn})
	}
	if err := stdio.Serve(ctx, g, nil); err != nil {
		log.Print(err)
	}
}
