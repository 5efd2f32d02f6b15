package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
)

// TestListsContactNoForbiddenServer lists, searches, subscribes and calls as users
// who may use nothing of a server with connections of users: none is opened, and
// none of another user is closed for it.
func TestListsContactNoForbiddenServer(t *testing.T) {
	pooled(t, Connections{Scope: PerUser, Max: 2}, func(t *testing.T, r *Router, d *dialled) {
		policy := Policy([]Rule{{Match: Match{Group: "fin"}}, {Match: Match{Server: "b"}}}, r, nil)
		for _, h := range []mcp.Handler{mcp.Chain(r, policy), mcp.Chain(r, Audit(appendFunc(func(any) error { return nil }), r, nil), policy), mcp.Chain(r, Search(), policy, CheckHeaders())} {
			if _, err := as(user("ada", "fin"), h, mcp.MethodToolsList, ""); err != nil {
				t.Fatal(err)
			}
			before := d.open()
			for _, who := range []string{"m1", "m2", "m3"} {
				for _, method := range []string{mcp.MethodToolsList, mcp.MethodPromptsList, mcp.MethodResourcesList, mcp.MethodResourceTemplatesList, mcp.MethodDiscover, "skills/list"} {
					body, _ := as(user(who), h, method, "")
					if strings.Contains(body, "a__") {
						t.Errorf("%s of %s: %s", method, who, body)
					}
				}
				c := &mcp.Call{Method: mcp.MethodToolsCall, Params: json.RawMessage(`{"name":"a__x_12345678"}`), Caller: mcp.Caller{Principal: user(who)}, Headers: map[string]string{"n": "1"}}
				if _, err := h.Serve(t.Context(), c); err == nil {
					t.Error("a call by a shortened name is served")
				}
				c.Params = json.RawMessage(`{"name":"b__y"}`)
				_, _ = h.Serve(t.Context(), c)
				got, ended := listening(t.Context(), withPrincipal(user(who), h), `{"toolsListChanged":true,"resourceSubscriptions":["a+file:///x"]}`)
				synctest.Wait()
				select {
				case err := <-ended:
					t.Error("the subscription has ended", err)
				default:
				}
				_ = got
			}
			if after := d.open(); !slices.Equal(before, after) {
				t.Errorf("connections of %q became those of %q", before, after)
			}
		}
	})
}

type appendFunc func(any) error

func (f appendFunc) Append(r any) error { return f(r) }

// withPrincipal makes calls for a principal.
func withPrincipal(p *mcp.Principal, h mcp.Handler) mcp.Handler {
	return mcp.HandlerFunc(func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
		onward := *c
		onward.Caller.Principal = p
		return h.Serve(ctx, &onward)
	})
}

// TestListWaitsForNoForbiddenServer lists as a caller who may not use a server that
// does not answer.
func TestListWaitsForNoForbiddenServer(t *testing.T) {
	hangs := &fake{tools: block}
	routed(t, map[string]*fake{"slow": hangs, "b": {tools: toolsOf(`{"name":"y"}`)}}, func(t *testing.T, r *Router) {
		h := mcp.Chain(mcp.Handler(r), Policy([]Rule{{Match: Match{Server: "b"}}}, r, nil))
		began := time.Now()
		body, err := as(user("ada"), h, mcp.MethodToolsList, "")
		if err != nil || !strings.Contains(body, "b__y") || time.Since(began) > 0 || hangs.reads.Load() > 0 {
			t.Errorf("%s, %v after %v; %d reads", body, err, time.Since(began), hangs.reads.Load())
		}
	})
}

// TestShortenedNameAfterTheIdleTime calls tools by shortened names at a server with
// connections of users, at once and after the connection was closed: rules, limits
// and headers apply as to all names.
func TestShortenedNameAfterTheIdleTime(t *testing.T) {
	long := strings.Repeat("long_name_", 8)
	synctest.Test(t, func(t *testing.T) {
		var called []string
		dial := func(_ context.Context, c mcp.Caller) (mcp.Conn, error) {
			tools := `{"name":"` + long + `"},{"name":"deny_` + long + `"},{"name":"limit_` + long + `"}`
			return fakeConn{&fake{tools: toolsOf(tools), other: func(_ context.Context, call *mcp.Call) (mcp.Result, error) {
				if call.Method == mcp.MethodToolsCall {
					called = append(called, c.Principal.ID+" "+string(call.Params))
				}
				return mcp.Result{}, nil
			}}}, nil
		}
		r, err := NewRouter([]Upstream{{Name: "b", Connections: &Connections{Scope: PerUser, Dial: dial, Idle: time.Minute}}}, &Options{Log: quiet})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		h := mcp.Chain(r, Policy([]Rule{{Match: Match{Server: "b"}}, {Match: Match{Tool: "deny_*"}, Deny: true}}, r, nil),
			Limits([]Limit{{Name: "l", Match: Match{Tool: "limit_*"}, Rate: 1, Period: time.Hour}}, r, nil))
		body, _ := as(user("ada"), r, mcp.MethodToolsList, "")
		var names []string
		for part := range strings.SplitSeq(body, `"`) {
			if strings.HasPrefix(part, "b__") {
				names = append(names, part)
			}
		}
		if len(names) != 3 {
			t.Fatal(body)
		}
		use := func(who, name string) error {
			_, err := as(user(who), h, mcp.MethodToolsCall, fmt.Sprintf(`{"name":%q}`, name))
			return err
		}
		for range 2 {
			called = nil
			if err := use("ada", names[0]); err != nil || fmt.Sprint(called) != fmt.Sprintf(`[ada {"name":"%s"}]`, long) {
				t.Errorf("%v, %q", err, called)
			}
			if err := use("ada", names[1]); err == nil || !strings.Contains(err.Error(), "unknown tool") {
				t.Errorf("a denied tool: %v", err)
			}
			time.Sleep(10 * time.Minute) // the idle connection is closed
		}
		if err := use("bob", names[0]); err != nil { // who has never listed
			t.Error(err)
		}
		if err := use("ada", names[2]); err != nil {
			t.Error(err)
		}
		time.Sleep(10 * time.Minute)
		if err := use("ada", names[2]); err == nil || !strings.Contains(err.Error(), "too many calls") {
			t.Errorf("beyond the limit: %v", err)
		}
	})
}

type fakeConn struct{ *fake }

func (fakeConn) Close() error          { return nil }
func (fakeConn) Done() <-chan struct{} { return nil }
func (fakeConn) Err() error            { return nil }

// TestShortenedNamesOfOthersDoNotCount has two users with tools whose names are
// shortened to the same one: each calls its own.
func TestShortenedNamesOfOthersDoNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dial := func(_ context.Context, c mcp.Caller) (mcp.Conn, error) {
			return fakeConn{&fake{tools: toolsOf(`{"name":"` + c.Principal.ID + `"}`), other: echo}}, nil
		}
		r, err := NewRouter([]Upstream{{Name: "b", Connections: &Connections{Scope: PerUser, Dial: dial}}}, &Options{Log: quiet})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		const short = "b__same_00000000"
		for _, who := range []string{"x y", "x z"} {
			as(user(who), r, mcp.MethodToolsList, "")
			one := r.table.Load().upstreams[0].known(&mcp.Caller{Principal: user(who)})
			one.mu.Lock() // as if the digests were equal
			one.lists[mcp.MethodToolsList].short = map[string]string{short: who}
			one.mu.Unlock()
		}
		for _, who := range []string{"x y", "x z"} {
			if body, err := as(user(who), r, mcp.MethodToolsCall, `{"name":"`+short+`"}`); err != nil || !strings.Contains(body, who) {
				t.Errorf("%s: %s, %v", who, body, err)
			}
		}
	})
}

// TestUpdateKeepsTheContextOfDial removes a server while a call at a connection of
// a user is open: the call goes on, and the connection ends after it.
func TestUpdateKeepsTheContextOfDial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var life context.Context
		dial := func(ctx context.Context, _ mcp.Caller) (mcp.Conn, error) {
			life = ctx
			return fakeConn{&fake{other: func(context.Context, *mcp.Call) (mcp.Result, error) {
				select {
				case <-time.After(10 * time.Second):
					return mcp.Result{}, nil
				case <-ctx.Done():
					return mcp.Result{}, errors.New("the connection has ended")
				}
			}}}, nil
		}
		r, err := NewRouter([]Upstream{{Name: "b", Connections: &Connections{Scope: PerUser, Dial: dial}}}, &Options{Log: quiet})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		done := make(chan error, 1)
		go func() {
			_, err := as(user("ada"), r, mcp.MethodToolsCall, `{"name":"b__slow"}`)
			done <- err
		}()
		time.Sleep(time.Second)
		if err := r.Update([]Upstream{{Name: "c", Handler: &fake{}}}); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil {
			t.Errorf("the open call: %v", err)
		}
		synctest.Wait()
		if life.Err() == nil {
			t.Error("the connection has not ended")
		}
	})
}

// TestNewRulesApplyToOpenSubscriptions replaces the rules while a subscription is
// open: it gets nothing that they forbid, and no connection is opened for it.
func TestNewRulesApplyToOpenSubscriptions(t *testing.T) {
	pooled(t, Connections{Scope: PerUser}, func(t *testing.T, r *Router, d *dialled) {
		set := func(rules ...Rule) *RuleSet { return NewRuleSet(rules, r, nil) }
		s := &PolicySwitch{}
		s.Set(set())
		h := withPrincipal(user("ada"), mcp.Chain(r, s.Middleware))
		got, _ := listening(t.Context(), h, `{"toolsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":["a+file:///x","a+file:///y"]}`)
		synctest.Wait()
		notify := func(what string) string {
			*got = nil
			(*d.of("https://id.example\x00ada").update.Load())(mcp.Notification{Method: mcp.NotificationResourceUpdated, Params: json.RawMessage(`{"uri":"file:///` + what + `"}`)})
			synctest.Wait()
			return strings.Join(*got, " ")
		}
		changed := func() string {
			*got = nil
			r.changes.announce(nil, allLists)
			synctest.Wait()
			return strings.Join(*got, " ")
		}
		for _, step := range []struct {
			sets                []*RuleSet
			x, y, tools, others bool
		}{
			{nil, true, true, true, true},
			{[]*RuleSet{set(Rule{Match: Match{Server: "a", Resource: "file:///x"}})}, true, false, false, true},
			{[]*RuleSet{set(Rule{Match: Match{Server: "a", Resource: "file:///x"}}), set(Rule{Match: Match{Server: "b"}})}, false, false, false, true},
			{[]*RuleSet{set(Rule{Match: Match{Principal: "user:bob"}})}, false, false, false, false},
			{[]*RuleSet{set(Rule{Match: Match{Server: "a"}})}, true, true, true, true},
		} {
			s.Set(step.sets...)
			if got := notify("x"); (got != "") != step.x {
				t.Errorf("x: %q, want %v", got, step.x)
			}
			if got := notify("y"); (got != "") != step.y {
				t.Errorf("y: %q, want %v", got, step.y)
			}
			if got := changed(); strings.Contains(got, mcp.NotificationToolsListChanged) != step.tools || strings.Contains(got, mcp.NotificationResourcesListChanged) != step.others {
				t.Errorf("lists: %q, want %v and %v", got, step.tools, step.others)
			}
		}
		s.Set(set(Rule{Match: Match{Server: "b"}}))
		d.of("https://id.example\x00ada").ended() // the server ends the subscription
		time.Sleep(time.Hour)
		if open := d.open(); len(open) > 0 {
			t.Errorf("connections of %q are open", open)
		}
		synctest.Wait()
		*got = nil
		s.Set()
		time.Sleep(time.Minute)
		synctest.Wait()
		if updates := strings.Join(*got, " "); !strings.Contains(updates, "file:///y") {
			t.Errorf("the right is back: %q", updates)
		}
	})
}

// TestRulesAndServersChangeDuringACall replaces rules and then servers while a call
// is between both: the call gets nothing of a new server that the new rules deny.
func TestRulesAndServersChangeDuringACall(t *testing.T) {
	secret := &fake{tools: toolsOf(`{"name":"x"}`), other: echo}
	for _, old := range [][]Rule{nil, {{Match: Match{}}}} {
		for _, method := range []string{mcp.MethodToolsList, mcp.MethodToolsCall} {
			routed(t, map[string]*fake{"a": {tools: toolsOf(`{"name":"x"}`), other: echo}}, func(t *testing.T, r *Router) {
				s := &PolicySwitch{}
				before, after := NewRuleSet(old, r, nil), NewRuleSet([]Rule{{Match: Match{Server: "a"}}}, r, nil)
				s.Set(before)
				update := func(next mcp.Handler) mcp.Handler {
					return mcp.HandlerFunc(func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
						s.Set(before, after)
						if err := r.Update([]Upstream{{Name: "a", Handler: secret}, {Name: "secret", Handler: secret}}); err != nil {
							t.Fatal(err)
						}
						s.Set(after)
						return next.Serve(ctx, c)
					})
				}
				body, err := as(user("ada"), mcp.Chain(r, s.Middleware, update), method, `{"name":"secret__x"}`)
				if strings.Contains(body, "secret") || (err == nil) != (method == mcp.MethodToolsList) {
					t.Errorf("%s: %s, %v", method, body, err)
				}
			})
		}
	}
}

// TestEachURIHasOneSpelling refuses other spellings of names, by which a client
// could pass rules, sets and the audit log.
func TestEachURIHasOneSpelling(t *testing.T) {
	f := &fake{other: echo}
	routed(t, map[string]*fake{"a": f}, func(t *testing.T, r *Router) {
		for uri, ok := range map[string]bool{
			"skill://a/x": true, "ui://a/x": true, "a+file:///x": true, "a+skills://x": true,
			"a+skill://x": false, "a+ui://x": false, "A+file:///x": false, "%61+file:///x": false, "a%2Bfile:///x": false, "a.+file:///x": false,
			"SKILL://a/x": false, "skill://A/x": false, "skill://%61/x": false, "skill://a./x": false, "skill://a": false, "skill:///a/x": false, " skill://a/x": false,
		} {
			body, err := call(t.Context(), r, mcp.MethodResourcesRead, `{"uri":"`+uri+`"}`)
			if (err == nil) != ok {
				t.Errorf("%s: %s, %v", uri, body, err)
			}
			if _, _, resolved := r.Resolve(t.Context(), &mcp.Caller{}, "uri", uri); resolved != ok {
				t.Errorf("%s: resolved %v", uri, resolved)
			}
		}
	})
}
