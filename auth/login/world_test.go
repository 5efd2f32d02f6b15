package login

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/tenon-mcp/tenon/auth/fetch"
	"github.com/tenon-mcp/tenon/internal/edittest"
	"github.com/tenon-mcp/tenon/internal/leaktest"
)

func TestMain(m *testing.M) {
	edittest.Main(map[string]edittest.Job{"refresh": refreshJob})
	leaktest.Main(m)
}

// A world is a protected server and its authorization server, both on this
// machine, with knobs for doing wrong.
type world struct {
	t      *testing.T
	server *httptest.Server // the protected one, at /mcp
	issuer *httptest.Server

	resource map[string]any // what the metadata of the resource says beside the usual
	metadata map[string]any // and that of the authorization server; nil deletes

	challenge func() string                                               // WWW-Authenticate of a 401
	judge     func(r *http.Request) int                                   // 0 means: by the token
	answer    func(callback url.Values)                                   // changes the callback
	tokens    func(form url.Values, h http.Header) (status int, body any) // nil body means the usual

	mu         sync.Mutex
	seen       []string
	pages      []url.Values
	forms      []url.Values
	headers    []http.Header // of token requests
	register   []map[string]any
	taken      []string // Authorization of requests to the server
	valid      map[string]bool
	challenges map[string]string // by code
	issued     int
}

const redirectForTests = "http://localhost:3000/callback"

func newWorld(t *testing.T) *world {
	w := &world{t: t, resource: map[string]any{}, metadata: map[string]any{}, valid: map[string]bool{}, challenges: map[string]string{}}
	w.server = httptest.NewServer(http.HandlerFunc(w.serveResource))
	w.issuer = httptest.NewServer(http.HandlerFunc(w.serveIssuer))
	t.Cleanup(w.server.Close)
	t.Cleanup(w.issuer.Close)
	return w
}

func (w *world) note(who string, r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = append(w.seen, who+" "+r.Method+" "+r.URL.Path)
}

// count is how often a request was seen, as in "issuer POST /token".
func (w *world) count(what string) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.seen {
		if s == what {
			n++
		}
	}
	return n
}

func (w *world) url() string { return w.server.URL + "/mcp" }

func (w *world) serveResource(rw http.ResponseWriter, r *http.Request) {
	w.note("server", r)
	switch {
	case r.URL.Path == "/.well-known/oauth-protected-resource/mcp":
		writeJSON(rw, 200, with(map[string]any{"resource": w.url(), "authorization_servers": []string{w.issuer.URL}}, w.resource))
	case r.URL.Path != "/mcp":
		http.NotFound(rw, r)
	default:
		w.serveMCP(rw, r)
	}
}

func (w *world) serveMCP(rw http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	auth := r.Header.Get("Authorization")
	w.mu.Lock()
	w.taken = append(w.taken, auth)
	_, tok, _ := strings.Cut(auth, " ")
	status := 200
	if !w.valid[tok] {
		status = 401
	}
	w.mu.Unlock()
	if w.judge != nil {
		if s := w.judge(r); s != 0 {
			status = s
		}
	}
	if status == 401 || status == 403 {
		text := fmt.Sprintf(`Bearer resource_metadata="%s/.well-known/oauth-protected-resource/mcp"`, w.server.URL)
		if w.challenge != nil {
			text = w.challenge()
		}
		if text != "" {
			rw.Header().Set("WWW-Authenticate", text)
		}
	}
	rw.WriteHeader(status)
	_, _ = rw.Write(body)
}

func (w *world) serveIssuer(rw http.ResponseWriter, r *http.Request) {
	w.note("issuer", r)
	base := w.issuer.URL
	switch r.URL.Path {
	case "/.well-known/oauth-authorization-server":
		writeJSON(rw, 200, with(map[string]any{
			"issuer": base, "authorization_endpoint": base + "/authorize", "token_endpoint": base + "/token",
			"registration_endpoint": base + "/register", "code_challenge_methods_supported": []string{"S256"},
			"token_endpoint_auth_methods_supported": []string{"none"}, "authorization_response_iss_parameter_supported": true,
		}, w.metadata))
	case "/register":
		var ask map[string]any
		_ = json.NewDecoder(r.Body).Decode(&ask)
		w.mu.Lock()
		w.register = append(w.register, ask)
		id := fmt.Sprintf("client-%d-of-%s", len(w.register), r.Host)
		w.mu.Unlock()
		writeJSON(rw, 201, map[string]any{"client_id": id, "client_secret": "registered-secret", "token_endpoint_auth_method": ask["token_endpoint_auth_method"]})
	case "/authorize":
		w.serveAuthorize(rw, r)
	case "/token":
		w.serveToken(rw, r)
	default:
		http.NotFound(rw, r)
	}
}

func (w *world) serveAuthorize(rw http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	w.mu.Lock()
	w.pages = append(w.pages, q)
	code := fmt.Sprintf("code-%d", len(w.pages))
	w.challenges[code] = q.Get("code_challenge")
	w.mu.Unlock()
	back := url.Values{"code": {code}, "state": {q.Get("state")}, "iss": {w.issuer.URL}}
	if w.answer != nil {
		w.answer(back)
	}
	http.Redirect(rw, r, q.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
}

func (w *world) serveToken(rw http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm()
	w.mu.Lock()
	w.forms = append(w.forms, r.PostForm)
	w.headers = append(w.headers, r.Header.Clone())
	tokens := w.tokens
	w.mu.Unlock()
	if tokens != nil {
		if status, body := tokens(r.PostForm, r.Header); body != nil {
			writeJSON(rw, status, body)
			return
		}
	}
	sum := sha256.Sum256([]byte(r.PostForm.Get("code_verifier")))
	w.mu.Lock()
	good := r.PostForm.Get("grant_type") != "authorization_code" || w.challenges[r.PostForm.Get("code")] == base64.RawURLEncoding.EncodeToString(sum[:])
	w.mu.Unlock()
	if !good {
		writeJSON(rw, 400, map[string]any{"error": "invalid_grant"})
		return
	}
	writeJSON(rw, 200, w.issue(3600))
}

// issue makes a token that the server takes.
func (w *world) issue(seconds int) map[string]any {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.issued++
	tok := fmt.Sprintf("access-%d", w.issued)
	w.valid[tok] = true
	return map[string]any{"access_token": tok, "token_type": "Bearer", "expires_in": seconds, "refresh_token": fmt.Sprintf("refresh-%d", w.issued)}
}

// revoke makes every token worthless.
func (w *world) revoke() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.valid = map[string]bool{}
}

func (w *world) lastForm() url.Values {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.forms) == 0 {
		w.t.Fatal("no token request was made")
	}
	return w.forms[len(w.forms)-1]
}

func (w *world) lastPage() url.Values {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.pages) == 0 {
		w.t.Fatal("no authorization request was made")
	}
	return w.pages[len(w.pages)-1]
}

// client logs in without a person.
func (w *world) client(change func(*Options)) *http.Client {
	w.t.Helper()
	documents := fetch.New(&fetch.Options{AllowLoopback: true})
	o := &Options{
		Base: &http.Transport{}, RedirectURI: redirectForTests, Authorize: Follow(documents, redirectForTests),
		Warn: func(text string) { w.t.Errorf("warning: %s", text) },
	}
	if change != nil {
		change(o)
	}
	c := &http.Client{Transport: New(o)}
	w.t.Cleanup(c.CloseIdleConnections)
	w.t.Cleanup(documents.Close)
	return c
}

// post sends one request and returns its status.
func (w *world) post(c *http.Client) (int, error) {
	resp, err := c.Post(w.url(), "application/json", strings.NewReader(`{"hello":"there"}`))
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && string(body) != `{"hello":"there"}` {
		err = fmt.Errorf("the server saw %q", body)
	}
	return resp.StatusCode, err
}

func (w *world) wantOK(c *http.Client) {
	w.t.Helper()
	if status, err := w.post(c); status != 200 || err != nil {
		w.t.Fatalf("status %d, error %v", status, err)
	}
}

// wantError wants an error that says something, and none that shows a secret.
func (w *world) wantError(c *http.Client, says string) {
	w.t.Helper()
	status, err := w.post(c)
	if err == nil {
		w.t.Fatalf("status %d and no error, want one that says %q", status, says)
	}
	if !strings.Contains(err.Error(), says) {
		w.t.Errorf("error %q, want it to say %q", err, says)
	}
	w.noSecrets(err.Error())
}

func (w *world) noSecrets(text string) {
	w.t.Helper()
	for _, secret := range []string{"access-", "refresh-", "code-1", "registered-secret", "given-secret", "state="} {
		if strings.Contains(text, secret) {
			w.t.Errorf("a secret (%s…) is in %q", secret, text)
		}
	}
}

func (w *world) wantCount(n int, what string) {
	w.t.Helper()
	if got := w.count(what); got != n {
		w.t.Errorf("%s: seen %d times, want %d; all: %q", what, got, n, w.seen)
	}
}

func with(base, more map[string]any) map[string]any {
	for name, value := range more {
		if value == nil {
			delete(base, name)
		} else {
			base[name] = value
		}
	}
	return base
}

func writeJSON(rw http.ResponseWriter, status int, v any) {
	rw.Header().Set("Content-Type", "application/json")
	rw.WriteHeader(status)
	_ = json.NewEncoder(rw).Encode(v)
}
