package login

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// A6: a server that wants an API key is not reported as a failed registration.
func TestServerThatWantsAnAPIKey(t *testing.T) {
	plain := func(status int, kind, body string) http.HandlerFunc {
		return func(rw http.ResponseWriter, r *http.Request) {
			rw.Header().Set("Content-Type", kind)
			rw.WriteHeader(status)
			_, _ = rw.Write([]byte(body))
		}
	}
	for _, test := range []struct {
		name      string
		challenge string
		others    http.HandlerFunc // all paths but the server's
		schemes   string
	}{
		{"nothing else there", "", http.NotFound, ""},
		{"Bearer without metadata", `Bearer realm="x"`, http.NotFound, "Bearer"},
		{"401 everywhere", "", plain(401, "application/json", `{"error":"unauthorized"}`), ""},
		{"403 everywhere", "", plain(403, "text/plain", "no"), ""},
		{"a page everywhere", "", plain(200, "text/html", "<html>"), ""},
		{"JSON everywhere", "", plain(200, "application/json", `{"message":"send a key"}`), ""},
		{"405", "", plain(405, "text/plain", ""), ""},
		{"another scheme", `Basic realm="x", ApiKey`, http.NotFound, "Basic, ApiKey"},
	} {
		for _, unattended := range []bool{false, true} {
			server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/mcp" {
					test.others(rw, r)
					return
				}
				if test.challenge != "" {
					rw.Header().Set("WWW-Authenticate", test.challenge)
				}
				rw.WriteHeader(401)
			}))
			o := &Options{Base: &http.Transport{}, RedirectURI: redirectForTests, Authorize: nobody(t)}
			if unattended {
				o.NoLogin = errors.New("log in with a command")
			}
			c := &http.Client{Transport: New(o)}
			_, err := c.Post(server.URL+"/mcp", "application/json", strings.NewReader("{}"))
			wants, ok := errors.AsType[*CredentialError](err)
			if !ok || wants.Server != server.URL+"/mcp" || strings.Join(wants.Schemes, ", ") != test.schemes || strings.Contains(err.Error(), "register") {
				t.Errorf("%s, unattended %v: %v", test.name, unattended, err)
			}
			c.CloseIdleConnections()
			server.Close()
		}
	}
}

// A registration that an older server refuses for a reason of RFC 7591, and a
// server with metadata, are told as what they are.
func TestRefusedRegistrationIsNoMissingCredential(t *testing.T) {
	w := newWorld(t)
	w.metadata["registration_endpoint"] = w.issuer.URL + "/nowhere"
	_, err := w.post(w.client(nil))
	if _, ok := errors.AsType[*CredentialError](err); ok || err == nil || !strings.Contains(err.Error(), "register as a native application") {
		t.Errorf("with metadata: %v", err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/mcp":
			rw.WriteHeader(401)
		case "/register":
			writeJSON(rw, 400, map[string]any{"error": "invalid_redirect_uri"})
		default:
			http.NotFound(rw, r)
		}
	}))
	defer server.Close()
	c := &http.Client{Transport: New(&Options{Base: &http.Transport{}, RedirectURI: redirectForTests, Authorize: nobody(t)})}
	defer c.CloseIdleConnections()
	_, err = c.Get(server.URL + "/mcp")
	if refused, ok := errors.AsType[*ServerError](err); !ok || refused.Code != "invalid_redirect_uri" {
		t.Errorf("refused: %v", err)
	}
	if _, ok := errors.AsType[*url.Error](err); !ok {
		t.Errorf("error %T", err)
	}
}
