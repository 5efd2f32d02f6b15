package login

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	authlogin "github.com/tenon-mcp/tenon/auth/login"
	"github.com/tenon-mcp/tenon/auth/protect"
	"github.com/tenon-mcp/tenon/auth/tokens"
	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
	"github.com/tenon-mcp/tenon/transport/streamable"
	"github.com/tenon-mcp/tenon/transport/streamclient"
)

// protected serves an MCP server at a path until the test ends and returns its
// URL. Reading needs the scope read, the tool write also the scope write.
// Change, if it is not nil, may alter how it is protected.
func protected(t *testing.T, p *provider, path string, s *server.Server, change func(*protect.Options)) string {
	t.Helper()
	return recorded(t, p, path, s, change, nil)
}

// recorded is protected, and every byte that the server is sent goes to a wire
// that is not nil.
func recorded(t *testing.T, p *provider, path string, s *server.Server, change func(*protect.Options), to *wire) string {
	t.Helper()
	endpoint, err := streamable.NewHandler(s, &streamable.Options{Principal: protect.Principal})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewUnstartedServer(nil)
	url := "http://" + web.Listener.Addr().String() + path
	o := protect.Options{
		Resource:             url,
		AuthorizationServers: []string{p.issuer},
		Scopes:               []string{"read"},
		ScopesSupported:      []string{"read"},
		Require: func(method, name string) []string {
			if method == mcp.MethodToolsCall && name == "write" {
				return []string{"write"}
			}
			return nil
		},
	}
	if change != nil {
		change(&o)
	}
	guard, err := protect.New(&o)
	if err != nil {
		t.Fatal(err)
	}
	web.Config = streamable.NewHTTPServer(guard.Wrap(endpoint))
	if to != nil {
		web.Listener = wiredListener{web.Listener, to}
	}
	web.Listener = streamable.StrictListener(web.Config, web.Listener) // as Serve does
	web.Start()
	t.Cleanup(func() {
		endpoint.Shutdown()
		web.CloseClientConnections()
		web.Close()
	})
	return url
}

// readAndWrite is a server with a tool for each scope; both say who called.
func readAndWrite() *server.Server {
	s := server.New(mcp.Implementation{Name: "files", Version: "1.0"}, nil)
	for _, name := range []string{"read", "write"} {
		server.AddTool(s, name, "says who may "+name, func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) {
			return name + " by " + c.Caller.Principal.ID, nil
		}, nil)
	}
	return s
}

// dial connects Tenon's client with a login; both end with the test.
func dial(t *testing.T, url string, o *authlogin.Options) *client.Client {
	t.Helper()
	c, err := dialled(t, url, o)
	if err != nil {
		t.Fatalf("dial: %v", err)
	}
	return c
}

func dialled(t *testing.T, url string, o *authlogin.Options) (*client.Client, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	c, err := client.Dial(ctx, endpoint(t, url, o), nil)
	if err == nil {
		t.Cleanup(func() { _ = c.Close() })
	}
	return c, err
}

// connect is dial without a client on top, in a revision. It asks the server at
// once, so that a login happens now.
func connect(t *testing.T, url string, revision mcp.Revision, o *authlogin.Options) *streamclient.Connection {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	e := endpoint(t, url, o)
	e.Era.Known = revision
	c, err := e.Connect(ctx, (&client.Options{}).Profile())
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if _, err := client.New(c, nil).Discover(ctx); err != nil {
		t.Fatalf("discover: %v", err)
	}
	return c
}

func endpoint(t *testing.T, url string, o *authlogin.Options) *streamclient.Endpoint {
	t.Helper()
	if o.Base == nil {
		o.Base = streamclient.NewTransport()
	}
	o.Warn = func(warning string) { t.Logf("warning: %s", warning) }
	transport := authlogin.New(o)
	t.Cleanup(transport.CloseIdleConnections)
	return &streamclient.Endpoint{URL: url, HTTP: &http.Client{Transport: transport}}
}

// says calls a tool and compares what it says.
func says(t *testing.T, c *client.Client, tool, want string) {
	t.Helper()
	got, err := client.Call[string](t.Context(), c, tool, nil, nil)
	if err != nil {
		t.Fatalf("call %s: %v", tool, err)
	}
	if got != want {
		t.Fatalf("%s says %q instead of %q", tool, got, want)
	}
}

// A shelf is a token store that the test can look into.
type shelf struct {
	tokens.Memory
	mu   sync.Mutex
	last kept
}

// kept is the part of a token that tests need.
type kept struct {
	Access   string `json:"access_token"`
	Refresh  string `json:"refresh_token"`
	ClientID string `json:"client_id"`
	DPoP     bool   `json:"dpop"`
}

// Save keeps a secret and remembers it if it is a token.
func (s *shelf) Save(ctx context.Context, key string, secret tokens.Secret) error {
	var k kept
	if json.Unmarshal(secret, &k) == nil && k.Access != "" {
		s.mu.Lock()
		s.last = k
		s.mu.Unlock()
	}
	return s.Memory.Save(ctx, key, secret)
}

func (s *shelf) token() kept {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// post sends one modern tool call by hand, with whatever authorization the
// headers have.
func post(t *testing.T, url, tool string, header http.Header) (int, http.Header, string) {
	t.Helper()
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `","arguments":{},"_meta":{` +
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = header.Clone()
	r.Close = true
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": tool,
	} {
		r.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, res.Header, string(text)
}
