package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/tenon-mcp/tenon/mcp"
)

// TestGatewayReloadChangesRulesAndServersTogether adds a server and rules that deny
// it, and removes both, again and again: no call and no list gets anything of it in
// between.
func TestGatewayReloadChangesRulesAndServersTogether(t *testing.T) {
	dir := t.TempDir()
	p := &program{in: strings.NewReader(""), out: io.Discard, err: io.Discard, flags: flags{userDir: dir, project: t.TempDir()}}
	v := &gatewayFlags{names: "server"}
	g, err := newGatewayRun(p, v, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer g.close()
	apply := func(secret bool) {
		text := `{"gateway":{"audit":{"off":true}},"mcpServers":{"a":{"builtin":"calc"}}}`
		if secret {
			text = `{"gateway":{"audit":{"off":true},"rules":[{"effect":"allow","server":"a"}]},"mcpServers":{"a":{"builtin":"calc"},"secret":{"builtin":"calc"}}}`
		}
		configured(t, dir, text)
		if err := g.apply(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	apply(false)
	ctx, stop := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	for _, c := range []mcp.Call{
		{Method: mcp.MethodToolsCall, Params: json.RawMessage(`{"name":"secret__add","arguments":{"a":1,"b":2}}`)},
		{Method: mcp.MethodToolsList},
		{Method: mcp.MethodToolsCall, Params: json.RawMessage(`{"name":"a__add","arguments":{"a":1,"b":2}}`)},
	} {
		own := strings.Contains(string(c.Params), "a__")
		clients.Go(func() {
			for ctx.Err() == nil {
				onward := c
				res, err := g.head.Serve(ctx, &onward)
				text := fmt.Sprint(string(res.Body), err)
				switch {
				case ctx.Err() != nil:
				case strings.Contains(text, `secret__`) && !strings.Contains(text, `unknown tool "secret__`), c.Method == mcp.MethodToolsCall && !own && err == nil:
					t.Errorf("%s: %s", c.Method, text)
					return
				case own && err != nil:
					t.Errorf("a call was dropped: %v", err)
					return
				}
			}
		})
	}
	for range 40 {
		apply(true)
		apply(false)
	}
	stop()
	clients.Wait()
}
