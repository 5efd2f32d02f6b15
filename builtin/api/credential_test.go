package api

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
)

func accept(context.Context, *client.Elicitation) (*mcp.ElicitResult, error) {
	return &mcp.ElicitResult{Action: mcp.ActionAccept, Content: json.RawMessage(`{"yes":true}`)}, nil
}

const credFile = `tenon: api/1
name: test
title: Test
api: {base: BASE}
auth: AUTH
tools: {get: {description: d, request: GET /get}}
`

func withAuth(auth string) string { return strings.ReplaceAll(credFile, "AUTH", auth) }

func TestStaticCredentials(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte("marker-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for auth, want := range map[string]string{
		`{kind: bearer, token: "${env:A}"}`:                                           "Bearer marker-A||",
		`{kind: basic, user: me, password: "${env:A}"}`:                               "Basic bWU6bWFya2VyLUE=||",
		`{kind: header, name: X-Key, value: "k ${keyring:K}"}`:                        "|k marker-ring-K|",
		`{kind: query, name: key, value: "${file:` + file + `}"}`:                     "||marker-file",
		`[{kind: bearer, token: "${file:/nope}"}, {kind: bearer, token: "${env:B}"}]`: "Bearer marker-B||",
		`[{kind: bearer, token: "${file:/nope}"}, {kind: none}]`:                      "||",
	} {
		w := newWorld(t, withAuth(auth), func(w http.ResponseWriter, r *http.Request) {
			reply(w, 200, fmt.Sprintf("%q", r.Header.Get("Authorization")+"|"+r.Header.Get("X-Key")+"|"+r.URL.Query().Get("key")))
		}, func(c *Config) {
			c.Resolver.Keyring = func(name string) (string, error) { return "marker-ring-" + name, nil }
		})
		w.says("get", "{}")
		h := w.heads
		seen := w.requests()
		u, _ := url.Parse(strings.Fields(seen[0])[1])
		expect(t, auth, h[0].Get("Authorization")+"|"+h[0].Get("X-Key")+"|"+u.Query().Get("key"), want)
	}
	for auth, want := range map[string]string{
		`{kind: bearer, token: "plain-secret"}`:          "must refer to a secret",
		`{kind: bearer, token: "${vault:x}"}`:            "unknown reference",
		`{kind: bearer}`:                                 "token: is required",
		`{kind: oauth2, grant: device}`:                  "device_url: is required",
		`{kind: bearer, token: "${file:/nope/missing}"}`: "no credential for Test: write it to the file /nope/missing",
	} {
		_, err := New(Config{Data: []byte(strings.ReplaceAll(withAuth(auth), "BASE", "https://api.example.com")), Name: "f.yaml"})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "plain-secret") {
			t.Errorf("%s: %v", auth, err)
		}
	}
}

// An authServer issues tokens: tok-1, tok-2 and so on, and accepts the last one.
type authServer struct {
	n        atomic.Int32
	pending  atomic.Int32 // polls of a device login that are answered with pending
	away     atomic.Int32 // requests for a token that are answered with an error of the server, or not at all
	requests []url.Values
	expires  int
}

func (a *authServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	form, _ := url.ParseQuery(string(body))
	switch r.URL.Path {
	case "/token":
		a.requests = append(a.requests, form)
		switch n := a.away.Add(-1); {
		case n >= 0 && n%2 == 0:
			reply(w, 503, `{"error":"temporarily_unavailable"}`)
			return
		case n >= 0:
			panic(http.ErrAbortHandler)
		}
		if form.Get("grant_type") == "urn:ietf:params:oauth:grant-type:device_code" && a.pending.Add(-1) >= 0 {
			reply(w, 400, `{"error":"authorization_pending"}`)
			return
		}
		reply(w, 200, fmt.Sprintf(`{"access_token":"marker-tok-%d","token_type":"Bearer","expires_in":%d,"refresh_token":"marker-refresh"}`, a.n.Add(1), a.expires))
	case "/device":
		reply(w, 200, `{"device_code":"marker-device","user_code":"ABCD-EFGH","verification_uri":"https://login.example.com/device","expires_in":600,"interval":1}`)
	default:
		if r.Header.Get("Authorization") != fmt.Sprintf("Bearer marker-tok-%d", a.n.Load()) {
			reply(w, 401, `{"message":"bad token `+strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")+`"}`)
			return
		}
		reply(w, 200, `{"ok":true}`)
	}
}

func TestClientCredentials(t *testing.T) {
	a := &authServer{expires: 3600}
	w := newWorld(t, withAuth(`{kind: oauth2, grant: client_credentials, token_url: BASE/token, client_id: me, client_secret: "${env:SECRET}", scopes: [a, b], params: {audience: x}}`), a.ServeHTTP)
	for range 3 {
		expect(t, "get", w.says("get", "{}"), `{"ok":true}`)
	}
	if a.n.Load() != 1 || a.requests[0].Get("scope") != "a b" || a.requests[0].Get("audience") != "x" || a.requests[0].Get("client_secret") != "marker-SECRET" {
		t.Errorf("%d tokens, %v", a.n.Load(), a.requests)
	}
	a.expires = 1 // renewed before each call
	a.n.Add(5)    // the API forgets the token
	expect(t, "refused", w.says("get", "{}"), "…ERROR Test answered 401 Unauthorized: bad token [redacted]")
}

func TestDeviceLogin(t *testing.T) {
	a := &authServer{expires: 3600}
	a.pending.Store(1)
	w := newWorld(t, withAuth(`{kind: oauth2, grant: device, token_url: BASE/token, device_url: BASE/device, client_id: me, account: caller}`), a.ServeHTTP)
	ada, bob := &mcp.Principal{ID: "ada"}, &mcp.Principal{ID: "bob"}
	expect(t, "without a user", said(decodeResult(t, w.serve, toolCall("get", "{}", bob))), "…ERROR log in to Test: Log in to Test with the code ABCD-EFGH. Tell the user to open https://login.example.com/device")
	expect(t, "ada", said(w.callAs("get", "{}", mcp.ActionAccept, ada)), `{"ok":true}`)
	expect(t, "question", strings.Join(w.asked, "|"), "Log in to Test with the code ABCD-EFGH.https://login.example.com/device")
	w.asked = nil
	expect(t, "again", said(w.callAs("get", "{}", mcp.ActionAccept, ada)), `{"ok":true}`)
	if len(w.asked) != 0 {
		t.Error("asked again")
	}
	expect(t, "declined", said(w.callAs("get", "{}", mcp.ActionDecline, bob)), "…declined")
	if a.n.Load() != 1 {
		t.Errorf("%d tokens", a.n.Load())
	}
}

// A login outlives a token endpoint that is away: it is asked again, and a token that
// could not be renewed is renewed later, without the user.
func TestTokenEndpointIsAway(t *testing.T) {
	t.Parallel()
	a := &authServer{expires: 1} // renewed before each call
	a.away.Store(1)
	w := newWorld(t, withAuth(`{kind: oauth2, grant: device, token_url: BASE/token, device_url: BASE/device, client_id: me, account: caller}`), a.ServeHTTP)
	ada := &mcp.Principal{ID: "ada"}
	expect(t, "the login", said(w.callAs("get", "{}", mcp.ActionAccept, ada)), `{"ok":true}`)
	a.away.Store(2)
	expect(t, "no answer", said(w.callAs("get", "{}", mcp.ActionAccept, ada)), "…EOF")
	expect(t, "an error", said(w.callAs("get", "{}", mcp.ActionAccept, ada)), "…answered 503 Service Unavailable: temporarily_unavailable")
	expect(t, "later", said(w.callAs("get", "{}", mcp.ActionAccept, ada)), `{"ok":true}`)
	if len(w.asked) != 1 {
		t.Errorf("asked %q", w.asked)
	}
}

// visit opens a page and returns its status.
func visit(t *testing.T, page string) int {
	t.Helper()
	res, err := http.Get(page)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	return res.StatusCode
}

func TestCodeLogin(t *testing.T) {
	a := &authServer{expires: 3600}
	w := newWorld(t, withAuth(`{kind: oauth2, grant: code, token_url: BASE/token, authorize_url: BASE/authorize, client_id: me, scopes: [s]}`), a.ServeHTTP)
	h := mcp.HandleInput(w.serve, func(_ context.Context, _ *mcp.Call, _ string, q mcp.InputRequest) (json.RawMessage, error) {
		var p mcp.ElicitParams
		if err := mcp.Unmarshal(q.Params, &p); err != nil {
			return nil, err
		}
		page, err := url.Parse(p.URL)
		if err != nil || page.Query().Get("code_challenge_method") != "S256" {
			t.Errorf("page %s", p.URL)
		}
		back := page.Query().Get("redirect_uri")
		for _, bad := range []string{"?code=x&state=wrong", "?code=x", ""} {
			if status := visit(t, back+bad); status != 400 {
				t.Errorf("%s: %d", bad, status)
			}
		}
		if status := visit(t, back+"?code=the-code&state="+url.QueryEscape(page.Query().Get("state"))); status != 200 {
			t.Errorf("callback: %d", status)
		}
		http.DefaultClient.CloseIdleConnections()
		return json.RawMessage(`{"action":"accept"}`), nil
	}, 0)
	c := toolCall("get", "{}", nil)
	c.Caller.Capabilities = &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapability{URL: mcp.Settings{}}}
	expect(t, "get", said(decodeResult(t, h, c)), `{"ok":true}`)
	if got := a.requests[0]; got.Get("code") != "the-code" || got.Get("code_verifier") == "" || got.Get("redirect_uri") == "" {
		t.Errorf("%v", got)
	}
}

func TestGitHubApp(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "app.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}), 0o600); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, withAuth(`{kind: github_app, app_id: "7", installation_id: "9", private_key: "${file:`+file+`}"}`), func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/app/installations/9/access_tokens" {
			parsed, err := jwt.ParseSigned(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), []jose.SignatureAlgorithm{jose.RS256})
			var claims jwt.Claims
			if err != nil || parsed.Claims(&key.PublicKey, &claims) != nil || claims.Issuer != "7" {
				t.Errorf("%v %+v", err, claims)
			}
			reply(w, 201, `{"token":"marker-installation","expires_at":"2099-01-01T00:00:00Z"}`)
			return
		}
		reply(w, 200, fmt.Sprintf("%v", r.Header.Get("Authorization") == "Bearer marker-installation"))
	})
	expect(t, "get", w.says("get", "{}"), "true")
}

// Tokens that logins, exchanges and GitHub Apps obtain, and what these need for it,
// are in no result, question, cursor or error, even if the API repeats them.
func TestObtainedSecretsDoNotLeave(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	private := string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}))
	for auth, more := range map[string]string{ // what the API knows beside the access token
		`{kind: oauth2, grant: device, token_url: BASE/token, device_url: BASE/device, client_id: me, client_secret: "${env:SECRET}", account: caller}`: " marker-refresh marker-SECRET marker-device",
		`{kind: oauth2, grant: exchange, token_url: BASE/token, client_id: me, client_secret: "${env:SECRET}"}`:                                         " marker-refresh marker-SECRET",
		`{kind: github_app, app_id: "7", installation_id: "9", private_key: "${env:KEY}"}`:                                                              " " + private,
	} {
		var mu sync.Mutex
		sent := "" // to the endpoints for tokens
		w := newWorld(t, strings.Replace(withAuth(auth), "tools: {", `tools: {list: {description: d, request: GET /list, paginate: {kind: link, items: .items, max_pages: 1, default_items: 2}}, big: {description: d, request: GET /big, output: {budget: 1KiB}}, fail: {description: d, request: GET /fail}, `, 1), func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			mu.Lock()
			defer mu.Unlock()
			switch said := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "); r.URL.Path {
			case "/device":
				reply(w, 200, `{"device_code":"marker-device","user_code":"marker-SECRET","verification_uri":"https://login.example.com/?x=marker-device","expires_in":600,"interval":1}`)
			case "/token", "/app/installations/9/access_tokens":
				form, _ := url.ParseQuery(string(body))
				sent = form.Get("subject_token") + said
				reply(w, 200, `{"access_token":"marker-access","token":"marker-access","refresh_token":"marker-refresh","token_type":"Bearer"}`)
			default:
				said += more + " " + sent
				status := map[bool]int{true: 400, false: 200}[r.URL.Path == "/fail"]
				w.Header().Set("Link", fmt.Sprintf(`<%s?key=%s>; rel="next"`, r.URL.Path, url.QueryEscape(said)))
				if r.URL.Path == "/big" {
					said = strings.Repeat(said+" ", 400)
				}
				text, _ := json.Marshal(map[string]any{"message": said, "items": []string{said, said, said}, "key": url.QueryEscape(said)})
				reply(w, status, string(text))
			}
		}, func(c *Config) {
			c.Resolver.Getenv = func(name string) (string, bool) {
				return map[string]string{"SECRET": "marker-SECRET", "KEY": private}[name], true
			}
		})
		left := ""
		who := &mcp.Principal{ID: "ada"}
		h := mcp.HandleInput(w.serve, func(_ context.Context, _ *mcp.Call, _ string, q mcp.InputRequest) (json.RawMessage, error) {
			left += string(q.Params)
			return json.RawMessage(`{"action":"accept"}`), nil
		}, 0)
		ctx := tokenContext(t, "marker-subject-token")
		for _, tool := range []string{"get", "list", "big", "fail"} {
			c := toolCall(tool, "{}", who)
			c.Caller.Capabilities = &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapability{URL: mcp.Settings{}}}
			res, err := h.Serve(ctx, c)
			if err != nil || !strings.Contains(string(res.Body), "[redacted]") {
				t.Errorf("%s %s: %s %v", auth, tool, res.Body, err)
			}
			left += string(res.Body)
		}
		mu.Lock()
		secrets := []string{"marker-", "marke", "PRIVATE KEY", "-----BEGIN"}
		if sent != "" {
			secrets = append(secrets, sent)
		}
		mu.Unlock()
		for _, secret := range secrets {
			if i := strings.Index(left, secret); i >= 0 {
				t.Errorf("%s: %s left the server: …%s…", auth, secret, left[max(0, i-100):min(len(left), i+60)])
			}
		}
	}
}

// Secrets are in nothing that leaves the server, even if the API repeats them.
func TestSecretsDoNotLeave(t *testing.T) {
	const file = `tenon: api/1
name: test
title: Test
api: {base: BASE, headers: {X-Org: "${env:ORG}"}}
auth: AUTH
tools:
  get: {description: d, params: {p: {type: string, required: true}}, request: "GET /{p}", output: {budget: 1KiB}}
  headers: {description: d, request: GET /headers, output: {jq: "$headers"}}
  file: {description: d, request: GET /echo, output: {as: file}}
  many: {description: d, params: {ids: {type: array}}, batch: {over: ids, as: id}, request: "GET /{id}"}
  ask: {description: d, lookup: GET /echo, confirm: {message: "{{ $lookup }}?"}, request: POST /echo}
  work: {description: d, request: POST /echo, task: {every: 1ms, when: "true", url: /poll, done: "$status == 200", progress: {done: "1", message: "[.. | strings] | join(\" \")"}}}
resources: [{uri: "test://{p}", name: r, request: "GET /{p}"}]
prompts: {p: {lookup: GET /echo, text: "{{ $lookup }}", arguments: {a: {complete: c}}}}
completions: {c: {request: GET /echo, jq: "[.. | strings]"}}
`
	for _, auth := range []string{
		`{kind: bearer, token: "${env:TOKEN}"}`, `{kind: basic, user: me, password: "${env:TOKEN}"}`, `{kind: query, name: key, value: "${env:TOKEN}"}`, `{kind: header, name: X-K, value: "${env:TOKEN}"}`,
		`{kind: oauth2, grant: client_credentials, token_url: BASE/token, client_id: me, client_secret: "${env:SECRET}"}`,
	} {
		var log logBuffer
		var polls atomic.Int32
		w := newWorld(t, strings.ReplaceAll(file, "AUTH", auth), func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/token" {
				reply(w, 200, `{"access_token":"marker-oauth-token","token_type":"Bearer"}`)
				return
			}
			all, _ := json.Marshal(map[string]any{"h": r.Header, "u": r.URL.String(), "q": r.URL.Query(), "pad": strings.Repeat("x", map[bool]int{true: 5000}[r.URL.Path == "/big"])})
			w.Header().Set("X-Echo", strings.Join(r.Header["Authorization"], "")+r.Header.Get("X-K")+r.URL.RawQuery)
			w.Header().Set("Content-Disposition", `attachment; filename="`+strings.ReplaceAll(w.Header().Get("X-Echo"), " ", "-")+`"`)
			status := 200
			if r.URL.Path == "/poll" && polls.Add(1)%2 == 1 {
				status = 202
			}
			if r.URL.Path == "/error" {
				status = 400
				all, _ = json.Marshal(map[string]string{"message": string(all)})
			}
			if r.URL.Path == "/broken" {
				all = append(all, '{')
			}
			reply(w, status, string(all))
		}, func(c *Config) { c.Log = slogTo(&log) })
		var left strings.Builder
		var progress atomic.Int32
		for _, p := range []string{"echo", "big", "error", "broken"} {
			r := w.call("get", `{"p":"`+p+`"}`)
			raw, _ := r.AppendJSON(nil)
			left.Write(raw)
			left.WriteString(w.read(r, nil))
			left.WriteString(w.ask(mcp.MethodResourcesRead, `{"uri":"test://`+p+`"}`))
		}
		for tool, args := range map[string]string{"headers": "{}", "file": "{}", "many": `{"ids":["echo","error"]}`, "ask": "{}"} {
			r := w.call(tool, args)
			raw, _ := r.AppendJSON(nil)
			left.Write(raw)
			left.WriteString(w.read(r, nil))
		}
		working := toolCall("work", "{}", nil)
		working.Progress = true
		working.OnNotification = func(n mcp.Notification) { progress.Add(1); left.Write(n.Params) }
		left.WriteString(said(decodeResult(t, w.serve, working)))
		left.WriteString(said(w.callAs("ask", "{}", mcp.ActionDecline, nil)))
		left.WriteString(said(decodeResult(t, w.serve, toolCall("ask", "{}", nil))))
		left.WriteString(strings.Join(w.asked, " "))
		if len(w.asked) != 2 || progress.Load() == 0 {
			t.Errorf("%s: %d questions, %d notifications", auth, len(w.asked), progress.Load())
		}
		left.WriteString(w.ask(mcp.MethodComplete, `{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":""}}`))
		left.WriteString(w.ask(mcp.MethodPromptsGet, `{"name":"p"}`))
		left.WriteString(w.ask(mcp.MethodToolsList, ""))
		left.WriteString(w.ask(mcp.MethodDiscover, ""))
		left.WriteString(log.String())
		for _, secret := range []string{"marker-TOKEN", "bWU6bWFya2VyLVRPS0VO", "marker-SECRET", "marker-ORG", "marker-oauth", "bWFya2Vy", "marker%2D"} {
			if i := strings.Index(left.String(), secret); i >= 0 {
				t.Errorf("%s: %s left the server: …%s…", auth, secret, left.String()[max(0, i-100):min(left.Len(), i+60)])
			}
		}
		if !strings.Contains(left.String(), "[redacted]") {
			t.Errorf("%s: the API did not repeat the secret, so the test shows nothing", auth)
		}
	}
}
