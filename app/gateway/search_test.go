package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/app/gateway"
	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/ext/tasks"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// seen records the tools that are called through it, as a policy would see them.
type seen struct {
	mu    sync.Mutex
	tools []string
}

func (s *seen) middleware(next mcp.Handler) mcp.Handler {
	return mcp.HandlerFunc(func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
		if c.Method == mcp.MethodToolsCall {
			var in mcp.CallToolParams
			if err := c.Decode(&in); err != nil {
				return mcp.Result{}, err
			}
			s.mu.Lock()
			s.tools = append(s.tools, in.Name)
			s.mu.Unlock()
			if in.Name == "alpha__roots" {
				return mcp.Result{}, mcp.Errorf(403, "denied")
			}
		}
		return next.Serve(ctx, c)
	})
}

// TestInvokeIsTheCallOfTheTool calls tools that use everything a call has through
// invoke, with clients and servers of several revisions.
func TestInvokeIsTheCallOfTheTool(t *testing.T) {
	for _, revs := range [][2]mcp.Revision{{"2026-07-28", "2026-07-28"}, {"2026-07-28", "2025-11-25"}, {"2025-11-25", "2026-07-28"}, {"2025-06-18", "2025-06-18"}} {
		t.Run(fmt.Sprintf("%s to %s", revs[0], revs[1]), func(t *testing.T) {
			t.Parallel()
			alpha := newOrigin(t, "alpha")
			r, err := gateway.NewRouter([]gateway.Upstream{{Name: "alpha", Handler: overPipe(t, alpha.s, revs[1], able)}}, nil)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { r.Close() })
			policy := &seen{}
			var logged []string
			o := &client.Options{
				Elicit: func(_ context.Context, e *client.Elicitation) (*mcp.ElicitResult, error) {
					return e.Accept(map[string]any{"name": strings.TrimSuffix(e.Message, "?")})
				},
				//lint:ignore SA1019 the test is about this deprecated feature
				Logging: &client.Logging{Level: mcp.LogInfo, OnMessage: func(_ context.Context, m mcp.LogMessage) { logged = append(logged, string(m.Data)) }},
			}
			h := mcp.Chain(r, gateway.Search(), policy.middleware)
			c := client.New(tasks.Client(overPipe(t, h, revs[0], o.Profile())), o)
			t.Cleanup(func() { c.Close() })
			checkInvoke(t, c, alpha)
			if len(logged) != 1 || !strings.Contains(logged[0], "loud") {
				t.Errorf("logged %q", logged)
			}
			policy.mu.Lock()
			defer policy.mu.Unlock()
			if slices.Contains(policy.tools, "invoke") || slices.Contains(policy.tools, "search") || !slices.Contains(policy.tools, "alpha__add") {
				t.Errorf("the policy saw %q", policy.tools)
			}
		})
	}
}

func checkInvoke(t *testing.T, c *client.Client, alpha *origin) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var listed []string
	for tool, err := range c.Tools(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		listed = append(listed, tool.Name)
	}
	if !slices.Equal(listed, []string{"invoke", "search"}) {
		t.Errorf("tools %q", listed)
	}
	found, err := c.CallTool(ctx, "search", map[string]any{"query": "asks two things"}, nil)
	if err != nil || !strings.Contains(found.Content.Text(), `"name":"alpha__ask"`) || !strings.Contains(found.Content.Text(), `"inputSchema"`) {
		t.Errorf("search: %v %v", found, err)
	}
	invoke := func(tool string, o *client.CallOptions) (*mcp.CallToolResult, error) {
		return c.CallTool(ctx, "invoke", map[string]any{"name": tool}, o)
	}
	sum, err := c.CallTool(ctx, "invoke", map[string]any{"name": "alpha__add", "arguments": map[string]any{"A": 2, "B": 3}}, nil)
	if err != nil || string(sum.StructuredContent) != `{"sum":5}` {
		t.Errorf("add: %v %v", sum, err)
	}
	for tool, want := range map[string]string{"alpha__ask": "First and Second", "alpha__task": "alpha by Task", "alpha__log": "logged"} {
		if r, err := invoke(tool, nil); err != nil || r.IsError || !strings.Contains(r.Content.Text(), want) {
			t.Errorf("%s: %v %v", tool, r, err)
		}
	}
	var progress []float64
	if _, err := invoke("alpha__progress", &client.CallOptions{Progress: func(p mcp.ProgressParams) { progress = append(progress, p.Progress) }}); err != nil || !slices.Equal(progress, []float64{1, 2, 3}) {
		t.Errorf("progress %v, %v", progress, err)
	}
	if _, err := invoke("alpha__roots", nil); err == nil || !strings.Contains(err.Error(), "denied") {
		t.Errorf("a denied tool: %v", err)
	}
	if _, err := invoke("alpha__none", nil); err == nil {
		t.Error("an unknown tool was called")
	}
	for _, bad := range []map[string]any{{}, {"name": 1}, {"name": "alpha__add", "arguments": 1}} {
		if r, err := c.CallTool(ctx, "invoke", bad, nil); err != nil || !r.IsError || !strings.Contains(r.Content.Text(), "needs the name") {
			t.Errorf("%v: %v %v", bad, r, err)
		}
	}
	if r, err := c.CallTool(ctx, "search", map[string]any{"query": "photosynthesis"}, nil); err != nil || !strings.Contains(r.Content.Text(), "No tool matches") {
		t.Errorf("%v %v", r, err)
	}
	if r, err := c.CallTool(ctx, "search", nil, nil); err != nil || !r.IsError {
		t.Errorf("%v %v", r, err)
	}
	server.AddTool(alpha.s, "grown", "explains photosynthesis", func(context.Context, *mcp.Call, struct{}) (string, error) { return "grown", nil }, nil)
	for {
		r, err := c.CallTool(ctx, "search", map[string]any{"query": "photosynthesis"}, nil)
		if err != nil {
			t.Errorf("the new tool is not found: %v", err)
			break
		}
		if strings.Contains(r.Content.Text(), "alpha__grown") {
			break
		}
		time.Sleep(time.Millisecond) // until the notification of the server has arrived
	}
	stopping, stop := context.WithCancel(ctx)
	_, err = c.CallTool(stopping, "invoke", map[string]any{"name": "alpha__slow"}, &client.CallOptions{Progress: func(mcp.ProgressParams) { stop() }})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the cancelled call ended with %v", err)
	}
	select {
	case <-alpha.cancelled:
	case <-ctx.Done():
		t.Error("the cancellation did not reach the server")
	}
	if d, err := c.Discover(ctx); err != nil || !strings.HasPrefix(d.Instructions, "Not all tools are listed") || !strings.Contains(d.Instructions, "I am alpha") {
		t.Errorf("%v %v", d, err)
	}
}

// Search before other middleware lets it see the tool that is called.
func ExampleSearch() {
	router, err := gateway.NewRouter([]gateway.Upstream{{Name: "sql", Handler: offering("sql", "drop", "query")}}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer router.Close()
	policy := func(next mcp.Handler) mcp.Handler {
		return mcp.HandlerFunc(func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
			if c.Method == mcp.MethodToolsCall && strings.Contains(string(c.Params), "drop") {
				return mcp.Result{}, mcp.Errorf(403, "drop is not allowed")
			}
			return next.Serve(ctx, c)
		})
	}
	h := mcp.Chain(router, gateway.Search(), policy)
	names(h)
	for _, tool := range []string{"sql__query", "sql__drop"} {
		res, err := h.Serve(context.Background(), &mcp.Call{Method: mcp.MethodToolsCall,
			Params: json.RawMessage(`{"name":"invoke","arguments":{"name":"` + tool + `"}}`)})
		fmt.Println(string(res.Body), err)
	}
	// Output:
	// invoke <nil>
	// search <nil>
	// {"content":[{"type":"text","text":"query of sql"}]} <nil>
	//  drop is not allowed (403)
}
