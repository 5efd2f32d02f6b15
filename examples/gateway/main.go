// A gateway of two servers in one page: it is a Handler over Handlers. Tools
// are shown as server__tool; questions, progress, news and cancellation pass
// through, whichever revisions are spoken on either side.
//
//	gateway "node server-a.js" "python server-b.py"
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/transport/stdio"
)

// A gateway shows many servers as one.
type gateway map[string]mcp.Handler

func (g gateway) Serve(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	switch c.Method {
	case mcp.MethodDiscover:
		body, err := mcp.Marshal(mcp.Discovery{Capabilities: mcp.ServerCapabilities{Tools: &mcp.ListCapability{}}})
		return mcp.Result{Body: body, Server: &mcp.Implementation{Name: "gateway", Version: "1.0"}}, err
	case mcp.MethodToolsList:
		return g.list(ctx)
	case mcp.MethodToolsCall:
		return g.call(ctx, c)
	}
	return mcp.Result{}, mcp.MethodNotFound(c.Method)
}

// list gathers the tools of all servers under names that say whose they are.
func (g gateway) list(ctx context.Context) (mcp.Result, error) {
	all := mcp.ListToolsResult{Tools: []mcp.Tool{}}
	for name, h := range g {
		for tool, err := range client.New(h, nil).Tools(ctx) {
			if err != nil {
				return mcp.Result{}, err
			}
			t := *tool
			t.Name = name + "__" + t.Name
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
	h, ok := g[where]
	if !ok {
		return mcp.Result{}, mcp.InvalidParams("unknown tool %q", name)
	}
	onward := *c
	if onward.Params, err = mcp.Marshal(mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(args)}); err != nil {
		return mcp.Result{}, err
	}
	return h.Serve(ctx, &onward)
}

func main() {
	ctx := context.Background()
	// What the gateway can pass on, it says it can do.
	persona := &mcp.Persona{
		Client:       mcp.Implementation{Name: "gateway", Version: "1.0"},
		Capabilities: mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapability{Form: mcp.Settings{}, URL: mcp.Settings{}}},
	}
	g := gateway{}
	for i, command := range os.Args[1:] {
		words := strings.Fields(command)
		h, err := (&stdio.Command{Path: words[0], Args: words[1:]}).Dial(ctx, persona)
		if err != nil {
			log.Fatal(err)
		}
		g[fmt.Sprintf("s%d", i+1)] = h
	}
	if err := stdio.Serve(ctx, g, nil); err != nil {
		log.Fatal(err)
	}
}
