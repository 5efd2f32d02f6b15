package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/mcp"
)

// A shop is a fake with features of every kind, which counts what it is used for.
type shop struct {
	fake
	mu   sync.Mutex
	used []string
}

func newShop(name string) *shop {
	s := &shop{}
	s.declares = `{"tools":{"listChanged":true},"prompts":{},"resources":{"subscribe":true},"completions":{}}`
	s.tools = toolsOf(`{"name":"read"},{"name":"write"},{"name":"delete_all"}`)
	s.listen = func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
		ack(c)
		return block(ctx, c)
	}
	s.other = func(_ context.Context, c *mcp.Call) (mcp.Result, error) {
		switch c.Method {
		case mcp.MethodPromptsList:
			return mcp.Result{Body: json.RawMessage(`{"prompts":[{"name":"hello"},{"name":"secret"}]}`)}, nil
		case mcp.MethodResourcesList:
			return mcp.Result{Body: json.RawMessage(`{"resources":[{"uri":"file:///docs/a","name":"a"},{"uri":"file:///keys/b","name":"b"}]}`)}, nil
		case mcp.MethodResourceTemplatesList:
			return mcp.Result{Body: json.RawMessage(`{"resourceTemplates":[{"uriTemplate":"file:///{path}","name":"f"},{"uriTemplate":"db:///{t}","name":"d"}]}`)}, nil
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.used = append(s.used, name+" "+c.Method+" "+string(c.Params))
		return mcp.Result{Body: json.RawMessage(`{"content":[]}`)}, nil
	}
	return s
}

func (s *shop) uses() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.used)
}

// shops runs a test with a gateway before two shops.
func shops(t *testing.T, links func(*Router) []mcp.Middleware, test func(t *testing.T, h mcp.Handler, a, b *shop)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		a, b := newShop("a"), newShop("b")
		r, err := NewRouter([]Upstream{{Name: "a", Handler: a}, {Name: "b", Handler: b}}, &Options{Log: quiet})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		synctest.Wait()
		test(t, mcp.Chain(r, links(r)...), a, b)
	})
}

func user(id string, groups ...string) *mcp.Principal {
	claim, _ := json.Marshal(groups)
	return &mcp.Principal{ID: id, Issuer: "https://id.example", Claims: map[string]json.RawMessage{"groups": claim}}
}

// as makes a call for a principal.
func as(p *mcp.Principal, h mcp.Handler, method, params string) (string, error) {
	c := &mcp.Call{Method: method, Caller: mcp.Caller{Principal: p}}
	if params != "" {
		c.Params = json.RawMessage(params)
	}
	res, err := h.Serve(context.Background(), c)
	return string(res.Body), err
}

// names returns the names in all lists that a principal gets.
func names(t *testing.T, p *mcp.Principal, h mcp.Handler) (all []string) {
	t.Helper()
	for _, l := range []struct{ method, member, name string }{
		{mcp.MethodToolsList, "tools", "name"}, {mcp.MethodPromptsList, "prompts", "name"},
		{mcp.MethodResourcesList, "resources", "uri"}, {mcp.MethodResourceTemplatesList, "resourceTemplates", "uriTemplate"},
	} {
		body, err := as(p, h, l.method, "")
		if err != nil {
			t.Fatal(err)
		}
		for e := rawjson.Array(rawjson.Lookup([]byte(body), l.member)); e.Next(); {
			name, _ := rawjson.String(rawjson.Lookup(e.Value, l.name))
			all = append(all, name)
		}
	}
	return all
}

// TestPolicyDecidesListsAndCallsAlike looks at everything as different callers:
// what is listed can be used, and what is not listed has the error of a name that
// does not exist, and does not reach a server.
func TestPolicyDecidesListsAndCallsAlike(t *testing.T) {
	everything := []string{"a__read", "a__write", "a__delete_all", "b__read", "b__write", "b__delete_all", "a__hello", "a__secret", "b__hello", "b__secret",
		"a+file:///docs/a", "a+file:///keys/b", "b+file:///docs/a", "b+file:///keys/b", "a+file:///{path}", "a+db:///{t}", "b+file:///{path}", "b+db:///{t}"}
	for name, test := range map[string]struct {
		rules []Rule
		who   *mcp.Principal
		sees  []string
	}{
		"no rules":          {nil, user("u"), everything},
		"no rule for them":  {[]Rule{{Match: Match{Group: "dev"}}}, user("u", "ops"), nil},
		"nobody":            {[]Rule{{Match: Match{Principal: "user:*"}}}, nil, nil},
		"the local person":  {[]Rule{{Match: Match{Principal: "local", Tool: "read"}}}, nil, []string{"a__read", "b__read"}},
		"a group, a server": {[]Rule{{Match: Match{Group: "dev", Server: "a"}}}, user("u", "x", "dev"), []string{"a__read", "a__write", "a__delete_all", "a__hello", "a__secret", "a+file:///docs/a", "a+file:///keys/b", "a+file:///{path}", "a+db:///{t}"}},
		"deny wins":         {[]Rule{{Match: Match{}}, {Match: Match{Tool: "delete_*"}, Deny: true}, {Match: Match{Server: "b"}, Deny: true}}, user("u"), []string{"a__read", "a__write", "a__hello", "a__secret", "a+file:///docs/a", "a+file:///keys/b", "a+file:///{path}", "a+db:///{t}"}},
		"tools only":        {[]Rule{{Match: Match{Server: "a", Tool: "r*"}}}, user("u"), []string{"a__read"}},
		"a prompt":          {[]Rule{{Match: Match{Prompt: "hel?o"}}}, user("u"), []string{"a__hello", "b__hello"}},
		"resources":         {[]Rule{{Match: Match{Server: "a", Resource: "file:///docs/*"}}}, user("u"), []string{"a+file:///docs/a", "a+file:///{path}"}},
		"denied resources":  {[]Rule{{Match: Match{Server: "a"}}, {Match: Match{Resource: "file:///keys/*"}, Deny: true}, {Match: Match{Tool: "*"}, Deny: true}, {Match: Match{Prompt: "*"}, Deny: true}}, user("u"), []string{"a+file:///docs/a", "a+file:///{path}", "a+db:///{t}"}},
		"a scope":           {[]Rule{{Match: Match{Scope: "notes:*", Tool: "read"}}}, &mcp.Principal{ID: "u", Issuer: "i", Scopes: []string{"notes:read"}}, []string{"a__read", "b__read"}},
		"another issuer":    {[]Rule{{Match: Match{Principal: "user:u", Issuer: "https://other.example"}}}, user("u"), nil},
		"a user like a key": {[]Rule{{Match: Match{Principal: "key:u"}}}, user("u"), nil},
		"a key":             {[]Rule{{Match: Match{Principal: "key:u", Tool: "read"}}}, &mcp.Principal{ID: "u", Issuer: "api-key"}, []string{"a__read", "b__read"}},
		"with arguments":    {[]Rule{{Match: Match{Tool: "read", Args: map[string]string{"path": "/ok/*"}}}}, user("u"), []string{"a__read", "b__read"}},
	} {
		t.Run(name, func(t *testing.T) {
			shops(t, func(r *Router) []mcp.Middleware { return []mcp.Middleware{Policy(test.rules, r, nil)} }, func(t *testing.T, h mcp.Handler, a, b *shop) {
				got := names(t, test.who, h)
				if !reflect.DeepEqual(got, test.sees) {
					t.Errorf("lists %q, want %q", got, test.sees)
				}
				if again := names(t, test.who, h); !reflect.DeepEqual(again, got) {
					t.Errorf("second lists %q", again)
				}
				if len(test.rules) > 0 && len(test.rules[0].Args) > 0 {
					return
				}
				for _, name := range everything {
					checkUse(t, h, test.who, name, slices.Contains(test.sees, name), a, b)
				}
			})
		})
	}
}

// checkUse uses a name, and the same with a name that no server has.
func checkUse(t *testing.T, h mcp.Handler, who *mcp.Principal, name string, allowed bool, a, b *shop) {
	t.Helper()
	method, params := mcp.MethodToolsCall, `{"name":%q}`
	switch {
	case strings.Contains(name, "{"):
		method, params = mcp.MethodComplete, `{"ref":{"type":"ref/resource","uri":%q},"argument":{"name":"x","value":""}}`
	case strings.Contains(name, "+"):
		method, params = mcp.MethodResourcesRead, `{"uri":%q}`
	case strings.HasSuffix(name, "hello") || strings.HasSuffix(name, "secret"):
		method, params = mcp.MethodPromptsGet, `{"name":%q}`
	}
	before := len(a.uses()) + len(b.uses())
	_, err := as(who, h, method, fmt.Sprintf(params, name))
	reached := len(a.uses()) + len(b.uses()) - before
	if allowed {
		if err != nil || reached != 1 {
			t.Errorf("%s: %v", name, err)
		}
		return
	}
	none := "zz" + name[2:]
	_, unknown := as(who, h, method, fmt.Sprintf(params, none))
	e, _ := errors.AsType[*mcp.Error](err)
	u, _ := errors.AsType[*mcp.Error](unknown)
	if e == nil || u == nil || reached != 0 {
		t.Fatalf("%s: error %v, unknown %v, %d calls reached a server", name, err, unknown, reached)
	}
	if e.Code != u.Code || strings.ReplaceAll(e.Message, name, none) != u.Message || strings.ReplaceAll(string(e.Data), name, none) != string(u.Data) || e.HTTPStatus != u.HTTPStatus {
		t.Errorf("%s: %v %s; a name that does not exist: %v %s", name, e, e.Data, u, u.Data)
	}
}

// TestPolicyArguments decides by arguments, also when they are written to deceive.
func TestPolicyArguments(t *testing.T) {
	rules := []Rule{
		{Match: Match{Tool: "read", Args: map[string]string{"path": "/ok/*"}}},
		{Match: Match{Tool: "write"}},
		{Match: Match{Tool: "write", Args: map[string]string{"path": "*secret*"}}, Deny: true},
	}
	shops(t, func(r *Router) []mcp.Middleware { return []mcp.Middleware{Policy(rules, r, nil)} }, func(t *testing.T, h mcp.Handler, a, _ *shop) {
		for params, want := range map[string]bool{
			`{"name":"a__read","arguments":{"path":"/ok/x"}}`:              true,
			`{"name":"a__read","arguments":{"path":"/no/x"}}`:              false,
			`{"name":"a__read","arguments":{"path":"/ok/../no"}}`:          false,
			`{"name":"a__read","arguments":{"path":"/ok/%2e%2e/no"}}`:      false,
			`{"name":"a__read","arguments":{"path":"/ok/x","Path":"/no"}}`: false,
			`{"name":"a__read","arguments":{"Path":"/ok/x"}}`:              false,
			`{"name":"a__read"}`:                                                      false,
			`{"name":"a__write"}`:                                                     true,
			`{"name":"a__write","arguments":{"path":"x"}}`:                            true,
			`{"name":"a__write","arguments":{"path":"a secret"}}`:                     false,
			`{"name":"a__write","arguments":{"PATH":"a secret"}}`:                     false,
			`{"name":"a__write","Arguments":{"path":"a secret"}}`:                     false,
			`{"name":"a__write","Name":"delete_all"}`:                                 false,
			`{"name":"a__write","argument\u017f":{"path":"a secret"}}`:                false,
			`{"Name":"a__write"}`:                                                     false,
			`{"name":["a__write"]}`:                                                   false,
			`{"name":"a__write","arguments":{"path":"x"},"n\u0061m\u0045":"a__read"}`: false,
		} {
			before := len(a.uses())
			_, err := as(user("u"), h, mcp.MethodToolsCall, params)
			if reached := len(a.uses()) - before; (err == nil) != want || (reached == 1) != want {
				t.Errorf("%s: %v, %d calls", params, err, reached)
			}
		}
	})
}

// TestPolicyURIs decides by URIs, also when they are written to deceive.
func TestPolicyURIs(t *testing.T) {
	rules := []Rule{{Match: Match{Server: "a", Resource: "file:///docs/*"}}, {Match: Match{Server: "b"}}, {Match: Match{Server: "b", Resource: "file:///keys/*"}, Deny: true}}
	shops(t, func(r *Router) []mcp.Middleware { return []mcp.Middleware{Policy(rules, r, nil)} }, func(t *testing.T, h mcp.Handler, a, b *shop) {
		for uri, want := range map[string]bool{
			"a+file:///docs/x": true, "a+file:///docs/../keys/b": false, "a+file:///docs/%2E%2e/keys/b": false, "a+file:///keys/b": false,
			"b+file:///docs/x": true, "b+file:///keys/b": false, "b+FILE:///keys/b": false, "b+file:///%6beys/b": false, "b+file:///docs/../keys/b": false, "b+file:///%256beys/b": false,
		} {
			before := len(a.uses()) + len(b.uses())
			_, err := as(user("u"), h, mcp.MethodResourcesRead, fmt.Sprintf(`{"uri":%q}`, uri))
			if reached := len(a.uses()) + len(b.uses()) - before; (err == nil) != want || (reached == 1) != want {
				t.Errorf("%s: %v, %d calls", uri, err, reached)
			}
		}
	})
}

// TestPolicyReducesSubscriptions acknowledges and delivers only what the caller
// may use.
func TestPolicyReducesSubscriptions(t *testing.T) {
	rules := []Rule{{Match: Match{Group: "dev"}}, {Match: Match{Group: "docs", Server: "a", Resource: "file:///docs/*"}}}
	shops(t, func(r *Router) []mcp.Middleware { return []mcp.Middleware{Policy(rules, r, nil)} }, func(t *testing.T, h mcp.Handler, a, _ *shop) {
		wants := json.RawMessage(`{"notifications":{"toolsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":["a+file:///docs/a","a+file:///keys/b","b+file:///docs/a"]}}`)
		for group, want := range map[string]string{
			"dev":  `["a+file:///docs/a","a+file:///keys/b","b+file:///docs/a"] true true`,
			"docs": `["a+file:///docs/a"] false true`,
			"none": `[] false false`,
		} {
			ctx, cancel := context.WithCancel(context.Background())
			var got mcp.SubscriptionsAcknowledgedParams
			var updates []string
			done := make(chan struct{})
			go func() {
				defer close(done)
				h.Serve(ctx, &mcp.Call{Method: mcp.MethodSubscriptionsListen, Params: wants, Caller: mcp.Caller{Principal: user("u", group)}, OnNotification: func(n mcp.Notification) {
					if n.Method == mcp.NotificationSubscriptionsAcknowledged {
						mcp.Unmarshal(n.Params, &got)
					} else {
						updates = append(updates, n.Method)
					}
				}})
			}()
			synctest.Wait()
			cancel()
			<-done
			f := got.Notifications
			slices.Sort(f.ResourceSubscriptions)
			uris, _ := json.Marshal(append([]string{}, f.ResourceSubscriptions...))
			if is := fmt.Sprintf("%s %v %v", uris, f.ToolsListChanged, f.ResourcesListChanged); is != want {
				t.Errorf("%s: %s, want %s", group, is, want)
			}
		}
	})
}

// TestPolicyHidesInstructions tells a caller nothing about servers of which it may
// use nothing.
func TestPolicyHidesInstructions(t *testing.T) {
	tell := func(text string) mcp.Handler {
		return mcp.HandlerFunc(func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
			if c.Method == mcp.MethodDiscover {
				return mcp.Result{Body: json.RawMessage(`{"capabilities":{},"instructions":"` + text + `"}`)}, nil
			}
			return block(ctx, c)
		})
	}
	synctest.Test(t, func(t *testing.T) {
		r, err := NewRouter([]Upstream{{Name: "a", Handler: tell("about a")}, {Name: "b", Handler: tell("about b")}}, &Options{Log: quiet})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		synctest.Wait()
		h := mcp.Chain(r, Policy([]Rule{{Match: Match{Server: "a", Tool: "x"}}, {Match: Match{Group: "all"}}}, r, nil))
		if body, _ := as(user("u"), h, mcp.MethodDiscover, ""); !strings.Contains(body, "about a") || strings.Contains(body, "about b") {
			t.Errorf("one server: %s", body)
		}
		if body, _ := as(user("u", "all"), h, mcp.MethodDiscover, ""); !strings.Contains(body, "about a") || !strings.Contains(body, "about b") {
			t.Errorf("both: %s", body)
		}
	})
	h := mcp.Chain(tell("about one"), Policy([]Rule{{Match: Match{Group: "all"}}}, OneServer("one"), nil))
	if body, _ := as(user("u"), h, mcp.MethodDiscover, ""); strings.Contains(body, "about one") {
		t.Errorf("a single server: %s", body)
	}
}

// TestPolicyKeepsFilteredLists filters a list once for callers with the same
// rights.
func TestPolicyKeepsFilteredLists(t *testing.T) {
	shops(t, func(r *Router) []mcp.Middleware {
		return []mcp.Middleware{Policy([]Rule{{Match: Match{Server: "a"}}}, r, nil)}
	}, func(t *testing.T, h mcp.Handler, _, _ *shop) {
		list := func(id string) json.RawMessage {
			res, err := h.Serve(context.Background(), &mcp.Call{Method: mcp.MethodToolsList, Caller: mcp.Caller{Principal: user(id)}})
			if err != nil || strings.Contains(string(res.Body), "b__") {
				t.Fatalf("%s %v", res.Body, err)
			}
			return res.Body
		}
		if !rawjson.Same(list("one"), list("two")) {
			t.Error("the list is filtered again")
		}
	})
}

// TestPolicyBeforeOneServer names the server by configuration, and denies methods
// of extensions whose names are unknown unless the whole server is allowed.
func TestPolicyBeforeOneServer(t *testing.T) {
	calls := 0
	next := mcp.HandlerFunc(func(context.Context, *mcp.Call) (mcp.Result, error) { calls++; return mcp.Result{}, nil })
	h := mcp.Chain(next, Policy([]Rule{{Match: Match{Server: "notes", Tool: "read"}}, {Match: Match{Server: "notes", Group: "all"}}, {Match: Match{Server: "other", Tool: "*"}}}, OneServer("notes"), nil))
	for _, c := range []struct {
		method, params string
		few, all       bool
	}{
		{mcp.MethodToolsCall, `{"name":"read"}`, true, true},
		{mcp.MethodToolsCall, `{"name":"write"}`, false, true},
		{mcp.MethodToolsCall, `{}`, false, false},
		{"com.example/reset", `{}`, false, true},
		{mcp.MethodPing, ``, true, true},
		{mcp.MethodComplete, `{}`, false, false},
		{mcp.MethodComplete, `{"ref":{"type":"ref/prompt","name":"read"}}`, false, true},
		{mcp.MethodComplete, `{"ref":{"type":"ref/prompt","name":"read","Name":"other"}}`, false, false},
		{mcp.MethodComplete, `{"ref":{"type":"ref/prompt","name":"read"},"Ref":{"name":"other"}}`, false, false},
		{mcp.MethodComplete, `{"ref":{"type":"ref/prompt","name":"read"},"context":{"arguments":{"a":"","A":""}}}`, false, true},
	} {
		for group, want := range map[string]bool{"few": c.few, "all": c.all} {
			before := calls
			_, err := as(user("u", group), h, c.method, c.params)
			if (err == nil) != want || (calls > before) != want {
				t.Errorf("%s %s for %s: %v", c.method, c.params, group, err)
			}
		}
	}
}

func TestGroupClaims(t *testing.T) {
	p := &mcp.Principal{ID: "u", Claims: map[string]json.RawMessage{
		"groups": json.RawMessage(`["a","b",3]`), "role": json.RawMessage(`"c"`), "realm": json.RawMessage(`{"roles":["d"]}`), "x.y": json.RawMessage(`["e"]`), "x": json.RawMessage(`{"y":["f"]}`),
	}}
	for claim, want := range map[string][]string{"": {"a", "b"}, "role": {"c"}, "realm.roles": {"d"}, "x.y": {"e"}, "none": nil, "realm": nil, "role.x": nil, "realm.none": nil} {
		if got := textsOf(claimOf(p, claim)); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %q, want %q", claim, got, want)
		}
	}
}
