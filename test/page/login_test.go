package page

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/builtin/calc"
	"github.com/tenon-mcp/tenon/transport/streamable"
)

// A gate stands before a server over HTTP and is its authorization server as
// well. Whoever opens its page is logged in without a question.
type gate struct {
	*httptest.Server
	page   string // where to log in; empty means its own
	inside http.Handler
}

func newGate(t *testing.T, page string) *gate {
	t.Helper()
	s, err := calc.New(calc.Config{})
	if err != nil {
		t.Fatal(err)
	}
	inside, err := streamable.NewHandler(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{page: page, inside: inside}
	g.Server = httptest.NewServer(http.HandlerFunc(g.serve))
	if page == "" {
		g.page = g.URL + "/authorize"
	}
	t.Cleanup(func() {
		g.CloseClientConnections()
		g.Close()
	})
	return g
}

func (g *gate) serve(w http.ResponseWriter, r *http.Request) {
	answer := func(status int, v map[string]any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		json.NewEncoder(w).Encode(v)
	}
	switch r.URL.Path {
	case "/.well-known/oauth-protected-resource/mcp":
		answer(http.StatusOK, map[string]any{"resource": g.URL + "/mcp", "authorization_servers": []string{g.URL}})
	case "/.well-known/oauth-authorization-server":
		answer(http.StatusOK, map[string]any{
			"issuer": g.URL, "authorization_endpoint": g.page, "token_endpoint": g.URL + "/token", "registration_endpoint": g.URL + "/register",
			"response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"}, "token_endpoint_auth_methods_supported": []string{"none"},
		})
	case "/register":
		var in map[string]any
		json.NewDecoder(r.Body).Decode(&in)
		in["client_id"] = "client"
		answer(http.StatusCreated, in)
	case "/authorize":
		q := r.URL.Query()
		http.Redirect(w, r, q.Get("redirect_uri")+"?"+url.Values{"code": {"c"}, "state": {q.Get("state")}, "iss": {g.URL}}.Encode(), http.StatusFound)
	case "/token":
		answer(http.StatusOK, map[string]any{"access_token": "good", "token_type": "Bearer", "expires_in": 3600})
	case "/mcp":
		if r.Header.Get("Authorization") == "Bearer good" {
			g.inside.ServeHTTP(w, r)
			return
		}
		w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+g.URL+`/.well-known/oauth-protected-resource/mcp"`)
		w.WriteHeader(http.StatusUnauthorized)
	default:
		http.NotFound(w, r)
	}
}

// A server that wants a login says where, in full; the person logs in there, in
// a tab of its own, and the server is ready. One that names a page which is
// none shows what is wrong, and nothing to open.
func TestNeedsLogin(t *testing.T) {
	t.Parallel()
	even, odd := newGate(t, ""), newGate(t, "javascript:document.title='owned'//")
	h := newFixture(t, setup{servers: []config.Server{
		{Name: "even", Kind: config.HTTP, URL: even.URL + "/mcp"}, {Name: "odd", Kind: config.HTTP, URL: odd.URL + "/mcp"},
	}})
	p := open(t, h.address(), desk)
	p.until(`document.querySelector('[data-part="server/even"]')?.innerText.includes('needs login')`)
	p.click(`[data-part="server/odd"]`)
	p.sees("authorization_endpoint")
	if n := eval[int](p, `document.querySelectorAll('.panel .note, .panel a[target]').length`); n != 0 {
		t.Errorf("%d links lead to a page that is none", n)
	}
	p.click(`[data-part="server/even"]`)
	p.sees("Log in at:")
	p.until(`document.querySelector('.address').innerText.startsWith('` + even.URL + `/authorize?')`)
	p.until(`document.querySelector('.panel a[target=_blank]').href === document.querySelector('.address').innerText`)
	p.until(`document.querySelector('.panel a[target=_blank]').rel === 'noopener noreferrer'`)
	p.clickText("Log in")
	p.until(`document.querySelector('[data-part="server/even"] .state.ok')`)
	p.until(`document.querySelector('.panel .note') === null`)
	if title := eval[string](p, `document.title`); title == "owned" {
		t.Error("the page of the odd server was opened")
	}
}
