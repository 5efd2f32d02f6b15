package login

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	authlogin "github.com/tenon-mcp/tenon/auth/login"
	"github.com/tenon-mcp/tenon/auth/protect"
	"github.com/tenon-mcp/tenon/auth/tokens"
	"github.com/tenon-mcp/tenon/builtin/api"
	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// protectedAPI serves an API that needs a token until the test ends. It says who
// called.
func protectedAPI(t *testing.T, p *provider) string {
	t.Helper()
	web := httptest.NewUnstartedServer(nil)
	url := "http://" + web.Listener.Addr().String() + "/api"
	guard, err := protect.New(&protect.Options{Resource: url, AuthorizationServers: []string{p.issuer}, Scopes: []string{"read"}, KeepToken: true})
	if err != nil {
		t.Fatal(err)
	}
	web.Config.Handler = guard.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"who":%q,"token":%q}`, protect.Principal(r).ID, protect.Token(r.Context()))
	}))
	web.Start()
	t.Cleanup(web.Close)
	return url
}

// wrapping returns the server of a file for an API with a credential.
func wrapping(t *testing.T, url, auth, secret string) *server.Server {
	t.Helper()
	file := fmt.Sprintf("tenon: api/1\nname: guarded\napi: {base: %q}\nauth: %s\ntools: {who: {description: d, request: GET /who}}\n", url, auth)
	c := api.Config{Data: []byte(file), Name: "guarded.yaml", Private: true, Tokens: &tokens.Memory{}}
	c.Resolver.Getenv = func(string) (string, bool) { return secret, true }
	s, err := api.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// wrap wraps an API with a credential, as a client whose user logs in on pages.
func wrap(t *testing.T, url, auth string, person *typist) *client.Client {
	t.Helper()
	s := wrapping(t, url, auth, "a secret: of 100% chance & more")
	return client.New(s, &client.Options{ElicitURL: func(_ context.Context, e *client.Elicitation) (*mcp.ElicitResult, error) {
		if err := person.open(e.URL); err != nil {
			t.Error(err)
		}
		return &mcp.ElicitResult{Action: mcp.ActionAccept}, nil
	}})
}

// A wrapped API gets tokens of a real authorization server: for itself, and for a
// person who logs in with PKCE. No token is in a result.
func TestWrappedAPI(t *testing.T) {
	t.Parallel()
	p := startProvider(t, told{})
	url := protectedAPI(t, p)
	for _, way := range []struct{ name, auth, want string }{
		{"client credentials", fmt.Sprintf(`{kind: oauth2, grant: client_credentials, client_auth: basic, token_url: %q, client_id: machine, client_secret: "${env:SECRET}", scopes: [read], params: {resource: %q}}`, p.issuer+"/token", url), `"who":"machine"`},
		{"code", fmt.Sprintf(`{kind: oauth2, grant: code, authorize_url: %q, token_url: %q, client_id: known, scopes: [read], params: {resource: %q}}`, p.issuer+"/auth", p.issuer+"/token", url), `"who":"ada"`},
	} {
		c := wrap(t, url, way.auth, newTypist(t, "ada"))
		for range 2 {
			r, err := c.CallTool(t.Context(), "who", map[string]any{}, nil)
			if err != nil {
				t.Errorf("%s: %v", way.name, err)
				continue
			}
			text := r.Content.Text()
			if !strings.Contains(text, way.want) || !strings.Contains(text, `"token":"[redacted]"`) {
				t.Errorf("%s: %s", way.name, text)
			}
		}
	}
}

// Callers of a wrapped API log in with the device flow (RFC 8628), each once: their
// tokens, which live for seconds here, are refreshed. One who refuses gets an error.
func TestWrappedAPIDeviceLogin(t *testing.T) {
	t.Parallel()
	p := startProvider(t, told{TTL: 20})
	url := protectedAPI(t, p)
	auth := fmt.Sprintf(`{kind: oauth2, grant: device, account: caller, device_url: %q, token_url: %q, client_id: device, scopes: [read, offline_access], params: {resource: %q}}`, p.issuer+"/device/auth", p.issuer+"/token", url)
	s := wrapping(t, url, auth, "")
	for _, name := range []string{"ada", "bob", "eve"} {
		person, pages := newTypist(t, name), 0
		person.refuses = name == "eve"
		c := client.New(s, &client.Options{ElicitURL: func(_ context.Context, e *client.Elicitation) (*mcp.ElicitResult, error) {
			pages++
			if !strings.Contains(e.Message, "with the code ") {
				t.Errorf("%s is asked: %s", name, e.Message)
			}
			if err := person.open(e.URL); err != nil {
				t.Error(err)
			}
			return &mcp.ElicitResult{Action: mcp.ActionAccept}, nil
		}}).As(&mcp.Principal{ID: name, Issuer: "test"})
		if person.refuses {
			r, err := c.CallTool(t.Context(), "who", map[string]any{}, nil)
			if err != nil || !r.IsError || !strings.Contains(r.Content.Text(), "access_denied") {
				t.Errorf("%s: %v %v", name, r, err)
			}
			continue
		}
		for range 3 {
			r, err := c.CallTool(t.Context(), "who", map[string]any{}, nil)
			if err != nil || !strings.Contains(r.Content.Text(), fmt.Sprintf(`"who":%q`, name)) || !strings.Contains(r.Content.Text(), `"token":"[redacted]"`) {
				t.Errorf("%s: %v %v", name, r, err)
			}
		}
		if pages != 1 {
			t.Errorf("%s was asked to open %d pages", name, pages)
		}
	}
}

// The server of a wrapped API exchanges the token of its caller for one of the API
// (RFC 8693), so that the API knows who called.
func TestWrappedAPIExchangesTokens(t *testing.T) {
	t.Parallel()
	p := startProvider(t, told{})
	url := protectedAPI(t, p)
	auth := fmt.Sprintf(`{kind: oauth2, grant: exchange, client_auth: basic, token_url: %q, client_id: gateway, client_secret: "${env:SECRET}", scopes: [read], params: {resource: %q}}`, p.issuer+"/token", url)
	at := protected(t, p, "/mcp", wrapping(t, url, auth, "the secret of the gateway"), func(o *protect.Options) { o.KeepToken = true })
	for _, name := range []string{"ada", "bob"} {
		c := dial(t, at, &authlogin.Options{Client: &authlogin.Client{ID: "known", Issuer: p.issuer}, Loopback: newTypist(t, name).loopback(), Store: &tokens.Memory{}})
		r, err := c.CallTool(t.Context(), "who", map[string]any{}, nil)
		if err != nil || !strings.Contains(r.Content.Text(), fmt.Sprintf(`"who":%q`, name)) {
			t.Errorf("%s: %v %v", name, r, err)
		}
	}
}
