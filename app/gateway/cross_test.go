package gateway_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tenon-mcp/tenon/app/gateway"
	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
	"github.com/tenon-mcp/tenon/transport/streamable"
)

// A userServer is the server of one user, over a stream of an older revision.
type userServer struct {
	mcp.Conn
	s      *server.Server
	served chan error
}

func dialUserServer(ctx context.Context, user string, calls *atomic.Int64) (*userServer, error) {
	s := server.New(mcp.Implementation{Name: "s", Version: "1"}, nil)
	server.AddTool(s, "who", "", func(_ context.Context, c *mcp.Call, in struct {
		N int `json:"n"`
	}) (string, error) {
		c.Notify(mcp.Notification{Method: mcp.NotificationProgress, Params: []byte(fmt.Sprintf(`{"progress":1,"message":"%s-%d"}`, user, in.N))})
		if calls.Add(1)%50 == 0 { // the list changes under its readers
			server.AddTool(s, "of_"+user, fmt.Sprint(calls.Load()), func(context.Context, *mcp.Call, struct{}) (string, error) { return "", nil }, nil)
		}
		return fmt.Sprintf("%s-%d", user, in.N), nil
	}, nil)
	server.AddTool(s, "of_"+user, "", func(context.Context, *mcp.Call, struct{}) (string, error) { return "", nil }, nil)
	es, err := era.NewServer(s, nil)
	if err != nil {
		return nil, err
	}
	near, far := jsonrpc.Pipe()
	u := &userServer{s: s, served: make(chan error, 1)}
	go func() { u.served <- es.ServeStream(context.Background(), far) }()
	if u.Conn, err = era.Dial(ctx, near, nil, &era.DialOptions{Known: mcp.Rev20250618}); err != nil {
		near.Close()
		return nil, err
	}
	return u, nil
}

func (u *userServer) Close() error {
	err := u.Conn.Close()
	<-u.served
	u.s.Close()
	return err
}

// TestUsersDoNotCross has two users make calls at once, with the same ids and
// parameters, over HTTP: no result, progress or list reaches the other one, also
// while lists change. It makes TENON_CALLS calls. This is hostile case G10.
func TestUsersDoNotCross(t *testing.T) {
	calls, err := strconv.Atoi(os.Getenv("TENON_CALLS"))
	if err != nil {
		calls = 2000
	}
	var served atomic.Int64
	var dials atomic.Int32
	r, err := gateway.NewRouter([]gateway.Upstream{{Name: "s", Connections: &gateway.Connections{Scope: gateway.PerUser,
		Dial: func(ctx context.Context, c mcp.Caller) (mcp.Conn, error) {
			dials.Add(1)
			return dialUserServer(ctx, c.Principal.ID, &served)
		}}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	h, err := streamable.NewHandler(r, &streamable.Options{Principal: func(r *http.Request) *mcp.Principal {
		return &mcp.Principal{ID: r.Header.Get("X-User"), Issuer: "test"}
	}})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(h)
	defer web.Close()
	defer h.Shutdown()
	const workers = 50
	transport := &http.Transport{MaxIdleConnsPerHost: 2 * workers}
	defer transport.CloseIdleConnections()
	post := func(user, method, name, params string) string {
		body := `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{` + params + `"_meta":{"progressToken":"p","io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
		req, err := http.NewRequestWithContext(t.Context(), "POST", web.URL, bytes.NewReader([]byte(body)))
		if err != nil {
			t.Error(err)
			return ""
		}
		for k, v := range map[string]string{"X-User": user, "Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": method} {
			req.Header.Set(k, v)
		}
		if name != "" {
			req.Header.Set("Mcp-Name", name)
		}
		resp, err := transport.RoundTrip(req)
		if err != nil {
			t.Error(err)
			return ""
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Errorf("%s: %d %s %v", method, resp.StatusCode, text, err)
		}
		return string(text)
	}
	users := []string{"ann", "bob"}
	var all sync.WaitGroup
	for i, user := range users {
		other := users[1-i]
		for range workers {
			all.Go(func() {
				for n := range calls / workers / len(users) {
					got := post(user, "tools/call", "s__who", fmt.Sprintf(`"name":"s__who","arguments":{"n":%d},`, n))
					want := fmt.Sprintf("%s-%d", user, n)
					if strings.Count(got, `"`+want+`"`) != 2 || strings.Contains(got, other) {
						t.Errorf("%s got %s", user, got)
					}
					if n%10 == 0 {
						if got := post(user, "tools/list", "", ""); !strings.Contains(got, "s__of_"+user) || strings.Contains(got, other) {
							t.Errorf("%s got the list %s", user, got)
						}
					}
				}
			})
		}
	}
	all.Wait()
	if got := dials.Load(); got != 2 {
		t.Errorf("%d connections were opened", got)
	}
}
