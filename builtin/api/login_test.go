package api

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tenon-mcp/tenon/auth/protect"
	"github.com/tenon-mcp/tenon/auth/tokens"
	"github.com/tenon-mcp/tenon/mcp"
)

// A login that a call needs after its write does not repeat the write.
func TestLoginInTheMiddleOfACallDoesNotRepeatTheWrite(t *testing.T) {
	for name, rest := range map[string]string{
		"then":    `then: [{request: GET /rest}]`,
		"confirm": `then: [{request: GET /rest}], confirm: {message: "Sure?"}`,
		"task":    `task: {every: 1ms}`,
		"result":  `then: [{request: GET /ok}], task: {every: 1ms, when: "true", url: "/poll"}`,
	} {
		t.Run(name, func(t *testing.T) {
			var devices, issued, writes atomic.Int32
			w := newWorld(t, `tenon: api/1
name: test
title: Test
api: {base: BASE}
auth: {kind: oauth2, grant: device, token_url: BASE/token, device_url: BASE/device, client_id: me}
tools: {write: {description: d, request: POST /write, `+rest+`}}
`, func(w http.ResponseWriter, r *http.Request) {
				switch r.URL.Path {
				case "/token":
					body, _ := io.ReadAll(r.Body)
					if form, _ := url.ParseQuery(string(body)); form.Get("grant_type") == "refresh_token" {
						reply(w, 400, `{"error":"invalid_grant"}`)
						return
					}
					// Every token is for one request.
					reply(w, 200, fmt.Sprintf(`{"access_token":"marker-tok-%d","token_type":"Bearer","expires_in":1,"refresh_token":"marker-refresh"}`, issued.Add(1)))
				case "/device":
					reply(w, 200, fmt.Sprintf(`{"device_code":"marker-device","user_code":"ABCD-%d","verification_uri":"https://login.example.com/device","expires_in":600,"interval":1}`, devices.Add(1)))
				case "/write":
					writes.Add(1)
					w.Header().Set("Location", "/poll")
					reply(w, 202, `{"id":1}`)
				default:
					reply(w, 200, `{"ok":true}`)
				}
			})
			expect(t, "call", w.says("write", "{}"), "…ERROR the request was done, but the user has to log in again")
			if n := writes.Load(); n != 1 {
				t.Errorf("%d writes", n)
			}
		})
	}
}

// An account of each caller needs a caller: callers without a name never share one.
func TestAccountsOfCallersFailClosed(t *testing.T) {
	a := &authServer{expires: 3600}
	for _, auth := range []string{
		`{kind: oauth2, grant: device, token_url: BASE/token, device_url: BASE/device, client_id: me, account: caller}`,
		`{kind: oauth2, grant: client_credentials, token_url: BASE/token, client_id: me, client_secret: "${env:SECRET}", account: caller}`,
		`{kind: oauth2, grant: exchange, token_url: BASE/token, client_id: me, client_secret: "${env:SECRET}"}`,
	} {
		w := newWorld(t, withAuth(auth), a.ServeHTTP)
		expect(t, auth, said(w.callAs("get", "{}", mcp.ActionAccept, nil)), "…ERROR log in to Test: the file has an account for each caller, and this server does not know who calls")
		if seen := w.requests(); len(seen) != 0 {
			t.Errorf("%s: sent %q", auth, seen)
		}
	}
}

// A response belongs to the login that it was requested with: once the login is removed,
// and after the caller has logged in again, perhaps as somebody else, it is not used.
func TestCachedResponsesEndWithTheLogin(t *testing.T) {
	var users, gets atomic.Int32
	store := &listedTokens{}
	w := newWorld(t, `tenon: api/1
name: test
title: Test
api: {base: BASE}
auth: {kind: oauth2, grant: device, token_url: BASE/token, device_url: BASE/device, client_id: me, account: caller}
tools: {get: {description: d, cache: {ttl: 1h}, request: GET /get}}
`, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/token":
			reply(w, 200, fmt.Sprintf(`{"access_token":"marker-tok-%d","token_type":"Bearer","expires_in":3600}`, users.Add(1)))
		case "/device":
			reply(w, 200, `{"device_code":"marker-device","user_code":"ABCD","verification_uri":"https://login.example.com/device","expires_in":600,"interval":1}`)
		default:
			gets.Add(1)
			reply(w, 200, fmt.Sprintf(`{"user":%d}`, users.Load()))
		}
	}, func(c *Config) { c.Tokens = store })
	ada := &mcp.Principal{ID: "ada"}
	for range 3 {
		expect(t, "logged in", said(w.callAs("get", "{}", mcp.ActionAccept, ada)), `{"user":1}`)
	}
	if n := gets.Load(); n != 1 {
		t.Fatalf("%d requests; the response is not cached", n)
	}
	store.removeAll(t)
	eventually(t, "the cached response is used without a login", func() bool {
		return strings.Contains(said(w.callAs("get", "{}", mcp.ActionDecline, ada)), "declined")
	})
	for range 2 {
		expect(t, "logged in again", said(w.callAs("get", "{}", mcp.ActionAccept, ada)), `{"user":2}`)
	}
	if n := gets.Load(); n != 2 {
		t.Errorf("%d requests", n)
	}
}

// listedTokens is a store that knows its keys.
type listedTokens struct {
	tokens.Memory
	keys sync.Map
}

func (l *listedTokens) Save(ctx context.Context, key string, s tokens.Secret) error {
	l.keys.Store(key, true)
	return l.Memory.Save(ctx, key, s)
}

func (l *listedTokens) removeAll(t *testing.T) {
	l.keys.Range(func(key, _ any) bool {
		if err := l.Delete(t.Context(), key.(string)); err != nil {
			t.Error(err)
		}
		return true
	})
}

type anyToken struct{}

func (anyToken) Verify(context.Context, string, *http.Request) (*protect.Identity, error) {
	return &protect.Identity{Principal: mcp.Principal{ID: "ada"}}, nil
}

// tokenContext returns the context of a request with a token.
func tokenContext(t *testing.T, token string) (ctx context.Context) {
	t.Helper()
	guard, err := protect.New(&protect.Options{Resource: "https://mcp.example.com/mcp", Verifier: anyToken{}, KeepToken: true})
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodPost, "https://mcp.example.com/mcp", nil)
	r.Header.Set("Authorization", "Bearer "+token)
	guard.Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { ctx = context.WithoutCancel(r.Context()) })).ServeHTTP(httptest.NewRecorder(), r)
	if ctx == nil || protect.Token(ctx) != token {
		t.Fatal("the request was refused")
	}
	return ctx
}

// Each token of a caller is exchanged for itself: a caller with a narrower token
// gets neither the token nor the cached answer of a wider one.
func TestExchangedTokensBelongToTheTokenOfTheCaller(t *testing.T) {
	w := newWorld(t, `tenon: api/1
name: test
title: Test
api: {base: BASE}
auth: {kind: oauth2, grant: exchange, token_url: BASE/token, client_id: me, client_secret: "${env:SECRET}"}
tools: {get: {description: d, cache: {ttl: 1h}, request: GET /get}}
`, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/token" {
			body, _ := io.ReadAll(r.Body)
			form, _ := url.ParseQuery(string(body))
			reply(w, 200, fmt.Sprintf(`{"access_token":"for-%s","token_type":"Bearer"}`, form.Get("subject_token")))
			return
		}
		reply(w, 200, fmt.Sprintf(`{"wide":%v}`, strings.HasSuffix(r.Header.Get("Authorization"), "wide-token")))
	})
	for token, want := range map[string]string{"ada-wide-token": `{"wide":true}`, "ada-narrow-tok": `{"wide":false}`} {
		ctx := tokenContext(t, token)
		for range 2 {
			res, err := w.serve.Serve(ctx, toolCall("get", "{}", &mcp.Principal{ID: "ada"}))
			if err != nil {
				t.Fatal(err)
			}
			out, err := mcp.DecodeCallToolResult(res.Body)
			if err != nil {
				t.Fatal(err)
			}
			expect(t, token, said(out), want)
		}
	}
	if n := len(w.requests()); n != 4 {
		t.Errorf("%d requests", n)
	}
}

// The page and the text of a login have no secrets that the authorization server
// repeats.
func TestLoginsDoNotShowSecrets(t *testing.T) {
	w := newWorld(t, withAuth(`{kind: oauth2, grant: device, token_url: BASE/token, device_url: BASE/device, client_id: me, client_secret: "${env:SECRET}"}`), func(w http.ResponseWriter, r *http.Request) {
		reply(w, 200, `{"device_code":"marker-device","user_code":"marker-SECRET","verification_uri":"https://login.example.com/?d=marker-device","expires_in":600,"interval":1}`)
	})
	got := said(w.callAs("get", "{}", mcp.ActionDecline, nil)) + strings.Join(w.asked, " ") + said(decodeResult(t, w.serve, toolCall("get", "{}", nil)))
	if strings.Contains(got, "marker-") || len(w.asked) != 1 {
		t.Errorf("%s", got)
	}
}

// The secrets of the file stay hidden, however many tokens are obtained, also by
// concurrent callers.
func TestSecretsOfTheFileStayHidden(t *testing.T) {
	var n atomic.Int32
	w := newWorld(t, withAuth(`{kind: oauth2, grant: client_credentials, token_url: BASE/token, client_id: me, client_secret: "${env:SECRET}", account: caller}`), func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/token" {
			reply(w, 200, fmt.Sprintf(`{"access_token":"marker-access-%d","token_type":"Bearer","expires_in":1,"refresh_token":"marker-refresh-%d"}`, n.Add(1), n.Load()))
			return
		}
		reply(w, 200, fmt.Sprintf(`["marker-SECRET",%q]`, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")))
	})
	var wg sync.WaitGroup
	for i := range 4 {
		who := &mcp.Principal{ID: fmt.Sprint("caller-", i)}
		wg.Go(func() {
			for range 40 {
				expect(t, "call", said(w.callAs("get", "{}", mcp.ActionAccept, who)), `["[redacted]","[redacted]"]`)
			}
		})
	}
	wg.Wait()
}

// A subscriber is notified of what its own account sees.
func TestSubscribersHearOfTheirOwnAccount(t *testing.T) {
	var ada atomic.Int32
	var polls sync.Map
	w := newWorld(t, `tenon: api/1
name: test
title: Test
api: {base: BASE}
auth: {kind: oauth2, grant: exchange, token_url: BASE/token, client_id: me, client_secret: "${env:SECRET}"}
resources: [{uri: "test://me", name: me, request: GET /me, subscribe: 5ms}]
`, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/token" {
			body, _ := io.ReadAll(r.Body)
			form, _ := url.ParseQuery(string(body))
			reply(w, 200, fmt.Sprintf(`{"access_token":"for-%s","token_type":"Bearer"}`, form.Get("subject_token")))
			return
		}
		n, _ := polls.LoadOrStore(r.Header.Get("Authorization"), new(atomic.Int32))
		n.(*atomic.Int32).Add(1)
		version := int32(0)
		if strings.Contains(r.Header.Get("Authorization"), "ada") {
			version = ada.Load()
		}
		reply(w, 200, fmt.Sprint(version))
	})
	heard := map[string]*atomic.Int32{"ada-0123456789": {}, "bob-0123456789": {}}
	var wg sync.WaitGroup
	defer wg.Wait() // after the subscriptions have ended
	for token, n := range heard {
		ctx, stop := context.WithCancel(tokenContext(t, token))
		defer stop()
		wg.Go(func() {
			w.serve.Serve(ctx, &mcp.Call{Method: mcp.MethodSubscriptionsListen, Caller: mcp.Caller{Principal: &mcp.Principal{ID: token}}, Params: json.RawMessage(`{"notifications":{"resourceSubscriptions":["test://me"]}}`), OnNotification: func(note mcp.Notification) {
				if note.Method == mcp.NotificationResourceUpdated {
					n.Add(1)
				}
			}})
		})
	}
	polled := func(token string, more int32) func() bool {
		n, _ := polls.LoadOrStore("Bearer for-"+token, new(atomic.Int32))
		from := n.(*atomic.Int32).Load()
		return func() bool { return n.(*atomic.Int32).Load() >= from+more }
	}
	for token := range heard {
		eventually(t, "the resource is not requested for "+token, polled(token, 2))
	}
	ada.Add(1)
	eventually(t, "ada is not notified", func() bool { return heard["ada-0123456789"].Load() > 0 })
	eventually(t, "bob's resource is not requested", polled("bob-0123456789", 3))
	if n := heard["bob-0123456789"].Load(); n != 0 {
		t.Errorf("bob was notified %d times of what ada sees", n)
	}
}

// A login outlives the call that began it, also one that is cancelled: the next call
// goes on with it. A code or a token that arrives while the call is cancelled is used.
func TestACancelledCallKeepsItsLogin(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		auth    string
		pending bool // the user has not logged in when the call is cancelled
	}{
		"device, waiting":  {"grant: device, token_url: BASE/token, device_url: BASE/device", true},
		"device, received": {"grant: device, token_url: BASE/token, device_url: BASE/device", false},
		"code, received":   {"grant: code, token_url: BASE/token, authorize_url: BASE/authorize", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
			defer cancel()
			var requests atomic.Int32
			w := newWorld(t, withAuth(`{kind: oauth2, client_id: me, `+test.auth+`}`), func(w http.ResponseWriter, r *http.Request) {
				switch r.URL.Path {
				case "/device":
					reply(w, 200, `{"device_code":"marker-device","user_code":"ABCD","verification_uri":"https://login.example.com/device","expires_in":600,"interval":1}`)
				case "/token":
					first := requests.Add(1) == 1
					if first {
						cancel()
					}
					switch {
					case first && test.pending:
						reply(w, 400, `{"error":"authorization_pending"}`)
					case first || test.pending:
						reply(w, 200, `{"access_token":"marker-tok","token_type":"Bearer","expires_in":3600}`)
					default: // codes are for one use
						reply(w, 400, `{"error":"invalid_grant"}`)
					}
				default:
					reply(w, 200, `{"ok":true}`)
				}
			})
			pages := map[string]bool{}
			h := mcp.HandleInput(w.serve, func(_ context.Context, _ *mcp.Call, _ string, q mcp.InputRequest) (json.RawMessage, error) {
				var p mcp.ElicitParams
				if err := mcp.Unmarshal(q.Params, &p); err != nil {
					return nil, err
				}
				pages[p.URL] = true
				page, err := url.Parse(p.URL)
				if back := page.Query().Get("redirect_uri"); err == nil && back != "" {
					visit(t, back+"?code=the-code&state="+url.QueryEscape(page.Query().Get("state")))
					http.DefaultClient.CloseIdleConnections()
				}
				return json.RawMessage(`{"action":"accept"}`), nil
			}, 0)
			call := func(ctx context.Context) string {
				c := toolCall("get", "{}", nil)
				c.Caller.Capabilities = &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapability{URL: mcp.Settings{}}}
				return said(decodeIn(t, ctx, h, c))
			}
			call(ctx)
			expect(t, "the next call", call(context.WithoutCancel(t.Context())), `{"ok":true}`)
			if n := strings.Count(strings.Join(w.requests(), "\n"), "POST /device"); n > 1 || len(pages) != 1 {
				t.Errorf("%d logins at %v", n, pages)
			}
		})
	}
}
