package login

import (
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	authlogin "github.com/tenon-mcp/tenon/auth/login"
)

// A person logs in with a real browser; the client had to introduce itself by
// dynamic registration. Then one tool needs more than was granted: the person
// is asked again, for both scopes, and the call goes on.
func TestLoginAndStepUp(t *testing.T) {
	t.Parallel()
	p := startProvider(t, told{})
	ada := newPerson(t, "ada")
	url := protected(t, p, "/mcp", readAndWrite(), nil)
	c := dial(t, url, &authlogin.Options{ClientName: "Weather desk", Loopback: ada.loopback()})

	says(t, c, "read", "read by ada")
	first := ada.seen(t, 1)[0]
	if !first.askedWho || !strings.Contains(first.consent, "read") || strings.Contains(first.consent, "write") {
		t.Errorf("the first login was about something else: %+v", first)
	}
	if !strings.Contains(first.end, "Login finished") {
		t.Errorf("at the end the browser shows %q", first.end)
	}

	says(t, c, "write", "write by ada")
	second := ada.seen(t, 2)[1]
	if second.askedWho || !strings.Contains(second.consent, "write") {
		t.Errorf("the step up was about something else: %+v", second)
	}
	says(t, c, "read", "read by ada")
	says(t, c, "write", "write by ada")
	ada.seen(t, 2)

	grants := p.granted("authorization_code", 2)
	if len(grants) != 2 || !hasScopes(grants[0], "read") || hasScopes(grants[0], "write") || !hasScopes(grants[1], "read", "write") {
		t.Errorf("granted: %+v", grants)
	}
	if grants[0].Client != grants[1].Client {
		t.Errorf("the client has registered twice: %+v", grants)
	}
	for _, g := range grants {
		if g.Resource != url {
			t.Errorf("a token was asked for resource %v instead of %s", g.Resource, url)
		}
	}
}

// A person who says no is not asked again and again: the call fails and says
// why.
func TestPersonSaysNo(t *testing.T) {
	t.Parallel()
	p := startProvider(t, told{})
	bob := newPerson(t, "bob")
	bob.declines = true
	url := protected(t, p, "/mcp", readAndWrite(), nil)
	_, err := dialled(t, url, &authlogin.Options{Loopback: bob.loopback()})
	refusal, ok := errors.AsType[*authlogin.ServerError](err)
	if !ok || refusal.Code != "access_denied" {
		t.Fatalf("dial: %v", err)
	}
	if v := bob.seen(t, 1)[0]; !strings.Contains(v.end, "Login failed") {
		t.Errorf("at the end the browser shows %q", v.end)
	}
}

// Who the client is can be known beforehand in two ways; then nothing is
// registered.
func TestKnownClients(t *testing.T) {
	t.Parallel()
	var document string
	web := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, document)
	}))
	t.Cleanup(web.Close)
	id := web.URL + "/client.json"
	document = `{"client_id":"` + id + `","client_name":"Weather desk","redirect_uris":["http://127.0.0.1/callback"],` +
		`"application_type":"native","token_endpoint_auth_method":"none","grant_types":["authorization_code","refresh_token"],"response_types":["code"]}`
	root := filepath.Join(t.TempDir(), "root.pem")
	if err := os.WriteFile(root, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: web.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	p := startProvider(t, told{rootCA: root})
	ada := newPerson(t, "ada")
	url := protected(t, p, "/mcp", readAndWrite(), nil)

	for i, way := range []struct {
		name, id string
		o        authlogin.Options
	}{
		{"registered by hand", "known", authlogin.Options{Client: &authlogin.Client{ID: "known", Issuer: p.issuer}}},
		{"client id metadata document", id, authlogin.Options{ClientIDMetadataURL: id}},
	} {
		t.Run(way.name, func(t *testing.T) {
			way.o.Loopback = ada.loopback()
			c := dial(t, url, &way.o)
			says(t, c, "read", "read by ada")
			ada.seen(t, i+1)
			if grants := p.granted("authorization_code", i+1); len(grants) != i+1 || grants[i].Client != way.id {
				t.Errorf("granted: %+v", grants)
			}
		})
	}
}

// hasScopes reports whether a token was granted with all of these scopes.
func hasScopes(e event, want ...string) bool {
	have := strings.Fields(e.Scope)
	for _, w := range want {
		if !slices.Contains(have, w) {
			return false
		}
	}
	return true
}
