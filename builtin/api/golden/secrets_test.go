package golden

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/builtin/api"
	"github.com/tenon-mcp/tenon/builtin/api/spec"
)

const secretFile = `tenon: api/1
name: test
title: Test
api: {base: "https://api.example.com", headers: {X-Org: "${env:ORG:-none}"}}
auth: AUTH
tools: {get: {description: d, request: GET /get}}
tests:
  - name: get
    tool: get
    answers: [{request: GET /get?key=other, headers: {authorization: Bearer other, x-key: other}, body: {}}]
    expect: {result: {never: true}}
`

// The problems and recordings of cases have no secrets of the user. Without an API
// the secrets are not even used.
func TestCasesDoNotShowSecrets(t *testing.T) {
	secretPath := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(secretPath, []byte("marker-secret-of-file"), 0o600); err != nil {
		t.Fatal(err)
	}
	live := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/token" {
			fmt.Fprint(w, `{"access_token":"marker-secret-access","refresh_token":"marker-secret-refresh","token_type":"Bearer"}`)
			return
		}
		w.Header().Set("Link", "</next?key="+r.URL.Query().Get("key")+r.Header.Get("X-Org")+">; rel=next")
		w.WriteHeader(http.StatusBadRequest)
		said, _ := json.Marshal(map[string]any{"message": fmt.Sprint(r.Header, r.URL)})
		w.Write(said)
	}))
	defer live.Close()
	for _, auth := range []string{
		`{kind: bearer, token: "${env:TOKEN}"}`, `{kind: query, name: key, value: "${env:TOKEN}"}`, `{kind: header, name: X-Key, value: "${keyring:k}"}`,
		`{kind: bearer, token: "${file:` + secretPath + `}"}`,
		`{kind: oauth2, grant: client_credentials, token_url: "` + live.URL + `/token", client_id: me, client_secret: "${env:TOKEN}"}`,
	} {
		c := api.Config{Data: []byte(strings.ReplaceAll(secretFile, "AUTH", auth)), Name: "f.yaml", Private: true}
		c.Resolver.Getenv = func(name string) (string, bool) { return "marker-secret-" + name, true }
		c.Resolver.Keyring = func(name string) (string, error) { return "marker-secret-" + name, nil }
		var recorded []spec.Answer
		for _, o := range []Options{{}, {Base: live.URL, Private: true, Record: func(_ string, answers []spec.Answer) { recorded = answers }}} {
			outcomes, err := Run(t.Context(), c, o)
			if err != nil {
				t.Fatal(err)
			}
			shown := fmt.Sprint(outcomes)
			if len(outcomes[0].Problems) == 0 || strings.Contains(shown, "marker-secret") {
				t.Errorf("%s: base %q: %s", auth, o.Base, shown)
			}
		}
		written, _ := json.Marshal(recorded)
		if len(recorded) != 1 || recorded[0].Request != "GET /get" || strings.Contains(string(written), "marker-secret") {
			t.Errorf("%s: recorded %s", auth, written)
		}
	}
}
