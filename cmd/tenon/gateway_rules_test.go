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

// TestReplicasShareTheKeysOfTasks has replicas sign the ids of tasks with keys that
// are derived from those of their cluster, and follow a rotation. The store has no
// other key.
func TestReplicasShareTheKeysOfTasks(t *testing.T) {
	store := cluster.NewMemory()
	var replicas []*cluster.Replica
	var keys []func() ([][]byte, error)
	for range 3 {
		r, err := cluster.Join(t.Context(), store, &cluster.Options{Secret: []byte("a secret of sixteen bytes")})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		p := &program{shared: store, flags: flags{userDir: t.TempDir(), project: t.TempDir()}}
		if _, err := p.watchTaskKeys(r); err != nil {
			t.Fatal(err)
		}
		replicas, keys = append(replicas, r), append(keys, p.gatewayTaskKeys())
	}
	read := func(i int) [][]byte {
		t.Helper()
		all, err := keys[i]()
		if err != nil || len(all) == 0 || len(all[0]) != 32 {
			t.Fatalf("keys %x, error %v", all, err)
		}
		return all
	}
	old := read(0)[0]
	for i := range keys {
		if all := read(i); !bytes.Equal(all[0], old) {
			t.Errorf("replica %d signs with another key", i)
		}
	}
	if raw, version, err := store.Get(t.Context(), "gateway task key", 0); err != nil || version != 0 {
		t.Errorf("the store has a key of its own for tasks: %x, error %v", raw, err)
	}
	if err := replicas[0].RotateKeys(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i := range keys {
		eventually(t, func() bool { return !bytes.Equal(read(i)[0], old) })
		if all := read(i); len(all) != 2 || !bytes.Equal(all[1], old) {
			t.Errorf("after a rotation replica %d accepts %d keys", i, len(all))
		}
	}
}
