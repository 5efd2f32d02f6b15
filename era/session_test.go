package era_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// TestCallsOfAStreamShareASession has clients of both eras make calls on streams of
// their own: the Handler sees one session for each stream, and its end.
func TestCallsOfAStreamShareASession(t *testing.T) {
	var mu sync.Mutex
	var all []*mcp.Session // guarded by mu: the notification is handled beside the calls
	h := mcp.HandlerFunc(func(_ context.Context, c *mcp.Call) (mcp.Result, error) {
		if c.Method == mcp.MethodDiscover {
			return mcp.Result{Body: []byte(`{"capabilities":{"tools":{}}}`)}, nil
		}
		if c.Method == mcp.MethodToolsList || c.Method == "notifications/x" {
			mu.Lock()
			defer mu.Unlock()
			all = append(all, c.Caller.Session)
		}
		return mcp.Result{Body: []byte(`{"tools":[]}`)}, nil
	})
	s, err := era.NewServer(h, nil)
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{}
	for _, revision := range []mcp.Revision{mcp.Rev20250618, mcp.Rev20260728} {
		near, far := jsonrpc.Pipe()
		served := make(chan error, 1)
		go func() { served <- s.ServeStream(t.Context(), far) }()
		conn, err := era.Dial(t.Context(), near, nil, &era.DialOptions{Known: revision})
		if err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		all = nil
		mu.Unlock()
		for range 2 {
			if _, err := conn.Serve(t.Context(), &mcp.Call{Method: mcp.MethodToolsList}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := conn.Serve(t.Context(), &mcp.Call{Method: "notifications/x", IsNotification: true}); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Serve(t.Context(), &mcp.Call{Method: mcp.MethodToolsList}); err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		seen := slices.Clone(all)
		mu.Unlock()
		if len(seen) < 3 || seen[0] == nil {
			t.Fatalf("%s: sessions %v", revision, seen)
		}
		ended := make(chan struct{})
		seen[0].AfterEnd(func() { close(ended) })
		for _, other := range seen {
			if other != seen[0] {
				t.Errorf("%s: sessions %v", revision, seen)
			}
		}
		select {
		case <-ended:
			t.Errorf("%s: the session has ended before its stream", revision)
		default:
		}
		conn.Close()
		<-served
		<-ended
		if ids[seen[0].ID()] {
			t.Errorf("%s: the session has the ID of another one", revision)
		}
		ids[seen[0].ID()] = true
	}
}
