package config

import (
	"reflect"
	"slices"
	"testing"
)

// What an entry says about OAuth is read, expanded, written and hidden.
func TestOAuthMembers(t *testing.T) {
	w := newWorld(t)
	w.env["S"] = "the-client-secret-1"
	w.env["I"] = "the-idp-secret-2"
	w.user(`{"mcpServers": {"a": {"url": "https://h/mcp", "oauth": {"clientId": "me", "clientSecret": "${S}", "issuer": "https://i", "scopes": "a b", "resource": "r",
		"redirectUri": "u", "clientIdMetadataUrl": "m", "proxy": "p", "grant": "enterprise", "audience": "au", "authMethod": "client_secret_post",
		"privateKeyFile": "/key", "keyId": "k", "idpIssuer": "https://idp", "idpClientId": "there", "idpClientSecret": "${I}"}}}}`)
	s := w.server("a")
	want := &OAuth{ClientID: "me", ClientSecret: "the-client-secret-1", Issuer: "https://i", Scopes: []string{"a", "b"}, Resource: "r", RedirectURI: "u", ClientIDMetadataURL: "m", Proxy: "p",
		Grant: GrantEnterprise, Audience: "au", AuthMethod: "client_secret_post", PrivateKeyFile: "/key", KeyID: "k", IDPIssuer: "https://idp", IDPClientID: "there", IDPClientSecret: "the-idp-secret-2"}
	if !reflect.DeepEqual(s.OAuth, want) {
		t.Errorf("%+v", s.OAuth)
	}
	for _, secret := range []string{"the-client-secret-1", "the-idp-secret-2"} {
		if !slices.Contains(s.Secrets, secret) {
			t.Errorf("%s is not a secret", secret)
		}
	}
	if !s.OAuth.OnBehalf() || !s.OAuth.NeedsCallerToken() || (&OAuth{}).OnBehalf() || (*OAuth)(nil).OnBehalf() || !(&OAuth{Login: LoginUser}).OnBehalf() {
		t.Error("who the gateway acts for is wrong")
	}
	// Written and read again it is the same.
	e := Entry{Name: "a", Kind: HTTP, URL: "https://h/mcp", OAuth: s.OAuth}
	w.user(`{"mcpServers": {"a": ` + e.json() + `}}`)
	if again := w.server("a"); !reflect.DeepEqual(again.OAuth, want) {
		t.Errorf("%s: %+v", e.json(), again.OAuth)
	}
}

func TestOAuthMistakes(t *testing.T) {
	for oauth, want := range map[string]string{
		`{"grant": "other"}`:                                          "unknown grant",
		`{"login": "me"}`:                                             "unknown login",
		`{"grant": "token_exchange"}`:                                 "needs issuer",
		`{"grant": "client_credentials", "clientId": "me"}`:           "needs clientId, and clientSecret or privateKeyFile",
		`{"grant": "enterprise", "clientId": "me"}`:                   "needs idpIssuer",
		`{"grant": "token_exchange", "issuer": "i", "login": "user"}`: "not both",
	} {
		w := newWorld(t).user(`{"mcpServers": {"a": {"url": "https://h/mcp", "oauth": ` + oauth + `}}}`)
		_, err := w.load().Server("a")
		wantError(t, err, want)
	}
	// G06: a file that came with a project cannot have tokens of callers sent anywhere.
	for _, oauth := range []string{`{"grant": "token_exchange", "issuer": "https://evil.example"}`, `{"grant": "enterprise", "clientId": "me", "idpIssuer": "https://evil.example"}`} {
		w := newWorld(t).project(`{"mcpServers": {"a": {"url": "https://h/mcp", "oauth": ` + oauth + `}}}`)
		_, err := w.load().Server("a")
		wantError(t, err, "only your own file may have")
	}
}

func TestGatewayLogins(t *testing.T) {
	w := newWorld(t).user(`{"gateway": {"logins": {"dir": "/d", "key": "env:KEY", "clientId": "gw", "clientSecret": "keyring:gw"}}}`)
	if got := w.load().Settings().Gateway.Logins; got != (GatewayLogins{"/d", "env:KEY", "gw", "keyring:gw"}) {
		t.Errorf("%+v", got)
	}
	for text, want := range map[string]string{`{"key": "c2VjcmV0"}`: "file:PATH", `{"key": "env:"}`: "file:PATH", `{"clientSecret": "hunter2"}`: "file:PATH", `{"keys": ""}`: "did you mean"} {
		w := newWorld(t).user(`{"gateway": {"logins": ` + text + `}}`)
		_, err := Load(&w.o)
		wantError(t, err, want)
	}
}
