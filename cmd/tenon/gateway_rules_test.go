package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/tenon-mcp/tenon/cluster"
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

// TestGatewayTasksAfterARestart creates a task through a gateway and uses it
// through the next one: it is still that of its principal, and of nobody else.
func TestGatewayTasksAfterARestart(t *testing.T) {
	upstream := servingAt(t, "demo", "--http", "127.0.0.1:0")
	g := &ruled{dir: t.TempDir()}
	configured(t, g.dir, fmt.Sprintf(`{"mcpServers":{"demo":{"url":%q}}}`, upstream))
	ada, bob := g.addKey(t, "ada", "dev"), g.addKey(t, "bob", "dev")
	k := newTasker(t)
	serve := func(t *testing.T) {
		g.url, g.errs = servingIn(t, g.dir, "gateway", "--addr", "127.0.0.1:0", "--project", t.TempDir())
	}
	var id string
	t.Run("first", func(t *testing.T) {
		serve(t)
		id = strings.TrimSpace(k.run(exitOK, []string{"call", g.url, "demo__slow_report", "topic=tea", "seconds=0", "--detach", "-H", "Authorization: Bearer " + ada}))
		k.run(exitOK, []string{"tasks", "wait", g.url, id, "-H", "Authorization: Bearer " + ada}, "Report on tea")
	})
	if !strings.HasPrefix(id, "demo__") || !strings.Contains(id, "~") {
		t.Fatalf("id %q", id)
	}
	serve(t)
	k.run(exitOK, []string{"tasks", "get", g.url, id, "-H", "Authorization: Bearer " + ada}, "Report on tea", "err:completed")
	k.run(exitProtocol, []string{"tasks", "get", g.url, id, "-H", "Authorization: Bearer " + bob}, "err:unknown task")
	own, _, _ := strings.Cut(id, "~")
	k.run(exitProtocol, []string{"tasks", "get", g.url, own, "-H", "Authorization: Bearer " + ada}, "err:unknown task")
}

// TestReplicasShareTheKeyOfTasks has two replicas begin with an empty store.
func TestReplicasShareTheKeyOfTasks(t *testing.T) {
	store := cluster.NewMemory()
	var keys [8][]byte
	var all sync.WaitGroup
	for i := range keys {
		all.Go(func() {
			var err error
			if keys[i], err = sharedTaskKey(t.Context(), store); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, key := range keys {
		if len(key) != 32 || !bytes.Equal(key, keys[0]) {
			t.Errorf("keys %x", keys)
		}
	}
}
