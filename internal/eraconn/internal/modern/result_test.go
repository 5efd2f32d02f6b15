package modern

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/protocol"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/mcp"
)

// What a server stamps on a result, its client lifts again.
func TestResultsRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	methods := []string{mcp.MethodToolsCall, mcp.MethodToolsList, mcp.MethodResourcesRead, mcp.MethodDiscover, mcp.MethodComplete, mcp.MethodSubscriptionsListen, "x/y"}
	s := newServer(t, nil)
	p, err := NewPeer(nil, &mcp.ClientProfile{Capabilities: mcp.ClientCapabilities{Extensions: map[string]json.RawMessage{"x/y": raw(`{}`)}}}, true)
	if err != nil {
		t.Fatal(err)
	}
	server := &mcp.Implementation{Name: "s", Version: "1"}
	for range 1000 {
		method := methods[r.IntN(len(methods))]
		var res mcp.Result
		if body := object(r, pick(r, map[string]string{"content": `[]`, "nextCursor": `"c"`, "other": `{"_meta":{},"resultType":"mine"}`})); body != "{}" {
			res.Body = raw(body)
		}
		for k, v := range pick(r, someMeta) {
			if res.Meta == nil {
				res.Meta = mcp.Meta{}
			}
			res.Meta[k] = raw(v)
		}
		stamped := res
		if r.IntN(2) == 0 {
			stamped.Meta = maps.Clone(res.Meta)
			if stamped.Meta == nil {
				stamped.Meta = mcp.Meta{}
			}
			for _, key := range reservedMeta { // strays that must not leave
				stamped.Meta[key] = raw(`"stray"`)
			}
		}
		if r.IntN(2) == 0 {
			res.Server, stamped.Server = server, server
		}
		if r.IntN(4) == 0 {
			res.Type, stamped.Type = "task", "task"
		} else if protocol.MayCache(method) {
			res.Cache = mcp.Cache{TTL: time.Duration(r.IntN(1000)) * time.Millisecond, Scope: mcp.ScopePrivate}
			stamped.Cache = res.Cache
		}
		if protocol.Cacheable(method) && res.Cache.Scope == "" {
			res.Cache.Scope = mcp.ScopePrivate
		}
		out := s.appendResult(nil, &request{id: []byte("5"), call: mcp.Call{Method: method}, res: stamped})
		m := message(t, string(out))
		got, err := p.liftResult(&mcp.Call{Method: method}, m.Result)
		if err != nil {
			t.Fatalf("%s: %v", out, err)
		}
		if res.Body != nil {
			res.Body, got.Body = rawjson.AppendCanonical(nil, res.Body), rawjson.AppendCanonical(nil, got.Body)
		}
		if !reflect.DeepEqual(got, res) {
			t.Fatalf("%s %s\nwas %+v\nis  %+v", method, out, res, got)
		}
	}
}

func TestForeignReservedKeysInResultsAreDropped(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWire(t)
		meta := map[string]string{"mine": `1`}
		for _, key := range reservedMeta {
			meta[key] = `{"name":"s","version":"1"}`
		}
		res, err := w.answered(&mcp.Call{Method: mcp.MethodToolsCall}, `{"_meta":`+object(rand.New(rand.NewPCG(1, 1)), meta)+`,"content":[]}`)
		if err != nil || len(res.Meta) != 1 || string(res.Meta["mine"]) != "1" || res.Server.Name != "s" {
			t.Errorf("got %+v, %v", res, err)
		}
		w.end()
	})
}

// C52 and the rest of what a server may say of keeping a result.
func TestCacheHints(t *testing.T) {
	for _, c := range []struct {
		hints string
		want  mcp.Cache
	}{
		{``, mcp.Cache{Scope: mcp.ScopePrivate}},
		{`"ttlMs":1500,"cacheScope":"public",`, mcp.Cache{TTL: 1500 * time.Millisecond, Scope: mcp.ScopePublic}},
		{`"ttlMs":1.5e3,"cacheScope":"Public",`, mcp.Cache{TTL: 1500 * time.Millisecond, Scope: mcp.ScopePrivate}},
		{`"ttlMs":-5,`, mcp.Cache{Scope: mcp.ScopePrivate}},
		{`"ttlMs":-0,`, mcp.Cache{Scope: mcp.ScopePrivate}},
		{`"ttlMs":0.4,`, mcp.Cache{Scope: mcp.ScopePrivate}},
		{`"ttlMs":1e30,"cacheScope":"public",`, mcp.Cache{TTL: 24 * time.Hour, Scope: mcp.ScopePublic}},
		{`"ttlMs":1e999,`, mcp.Cache{Scope: mcp.ScopePrivate}},
		{`"ttlMs":9223372036854775808,`, mcp.Cache{TTL: 24 * time.Hour, Scope: mcp.ScopePrivate}},
		{`"ttlMs":86400001,`, mcp.Cache{TTL: 24 * time.Hour, Scope: mcp.ScopePrivate}},
		{`"ttlMs":"x",`, mcp.Cache{Scope: mcp.ScopePrivate}},
		{`"ttlMs":"1500",`, mcp.Cache{Scope: mcp.ScopePrivate}},
		{`"ttlMs":null,"cacheScope":null,`, mcp.Cache{Scope: mcp.ScopePrivate}},
		{`"ttlMs":{},"cacheScope":5,`, mcp.Cache{Scope: mcp.ScopePrivate}},
	} {
		t.Run(c.hints, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWire(t)
				res, err := w.answered(&mcp.Call{Method: mcp.MethodToolsList}, `{`+c.hints+`"tools":[]}`)
				if err != nil || res.Cache != c.want || string(res.Body) != `{"tools":[]}` {
					t.Errorf("got %+v %s, %v", res.Cache, res.Body, err)
				}
				w.end()
			})
		})
	}
}

// The hints of a method of an extension count only together: an extension may
// use one of the names for something else, as tasks do.
func TestCacheHintsOfExtensions(t *testing.T) {
	for _, c := range []struct {
		result, body string
		want         mcp.Cache
	}{
		{`{"x":1}`, `{"x":1}`, mcp.Cache{}},
		{`{"ttlMs":1500,"x":1}`, `{"ttlMs":1500,"x":1}`, mcp.Cache{}},
		{`{"cacheScope":"public","x":1}`, `{"cacheScope":"public","x":1}`, mcp.Cache{}},
		{`{"ttlMs":1500,"x":1,"cacheScope":"public"}`, `{"x":1}`, mcp.Cache{TTL: 1500 * time.Millisecond, Scope: mcp.ScopePublic}},
		{`{"cacheScope":"private","ttlMs":0,"x":1}`, `{"x":1}`, mcp.Cache{Scope: mcp.ScopePrivate}},
	} {
		bubble(t, func(t *testing.T) {
			w := newWire(t)
			res, err := w.answered(&mcp.Call{Method: "x/list"}, c.result)
			if err != nil || res.Cache != c.want || string(res.Body) != c.body {
				t.Errorf("%s: got %+v %s, %v", c.result, res.Cache, res.Body, err)
			}
			w.end()
		})
	}
}

// C12, C14, C16 and other results that a client must or must not take.
func TestResultsOfTheWrongKind(t *testing.T) {
	elicit := `{"method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{}}}}`
	sample := `{"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}`
	for _, c := range []struct {
		name, method, result string
		want                 string // "" is a result, "need" is a round, anything else a part of the error
	}{
		{"no resultType", mcp.MethodToolsCall, `{"content":[]}`, ""},
		{"complete", mcp.MethodToolsCall, `{"resultType":"complete","content":[]}`, ""},
		{"empty resultType", mcp.MethodToolsCall, `{"resultType":""}`, "resultType"},
		{"unknown resultType", mcp.MethodToolsCall, `{"resultType":"task"}`, "belongs to no extension"},
		{"resultType a number", mcp.MethodToolsCall, `{"resultType":5}`, "not a string"},
		{"resultType null", mcp.MethodToolsCall, `{"resultType":null}`, "not a string"},
		{"a round", mcp.MethodToolsCall, `{"resultType":"input_required","inputRequests":{"k":` + elicit + `}}`, "need"},
		{"a round with a state only", mcp.MethodPromptsGet, `{"resultType":"input_required","requestState":"s"}`, "need"},
		{"C14", mcp.MethodToolsCall, `{"resultType":"input_required"}`, "without inputRequests or requestState"},
		{"C16", mcp.MethodToolsCall, `{"resultType":"input_required","inputRequests":{"k":` + sample + `}}`, "not declared"},
		{"C16, one of two", mcp.MethodToolsCall, `{"resultType":"input_required","inputRequests":{"a":` + elicit + `,"k":` + sample + `}}`, "not declared"},
		{"a method that may not ask", mcp.MethodToolsList, `{"resultType":"input_required","inputRequests":{"k":` + elicit + `}}`, "may not return input_required"},
		{"discover asks", mcp.MethodDiscover, `{"resultType":"input_required","requestState":"s"}`, "may not return input_required"},
		{"state a number", mcp.MethodToolsCall, `{"resultType":"input_required","requestState":5}`, "requestState"},
		{"questions an array", mcp.MethodToolsCall, `{"resultType":"input_required","inputRequests":[]}`, "inputRequests"},
		{"question null", mcp.MethodToolsCall, `{"resultType":"input_required","inputRequests":{"k":null}}`, "not"},
		{"question of no kind", mcp.MethodToolsCall, `{"resultType":"input_required","inputRequests":{"k":{"method":"tools/call"}}}`, "not"},
		{"question without a method", mcp.MethodToolsCall, `{"resultType":"input_required","inputRequests":{"k":{}}}`, "not"},
		{"serverInfo is garbage", mcp.MethodToolsCall, `{"content":[],"_meta":{"` + mcp.MetaServerInfo + `":"x"}}`, ""},
		{"_meta is garbage", mcp.MethodToolsCall, `{"content":[],"_meta":[1]}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWire(t)
				res, err := w.answered(&mcp.Call{Method: c.method}, c.result)
				need, isNeed := errors.AsType[*mcp.InputRequired](err)
				switch {
				case c.want == "":
					if err != nil || string(res.Body) != `{"content":[]}` || res.Server != nil {
						t.Errorf("got %+v, %v", res, err)
					}
				case c.want == "need":
					if !isNeed {
						t.Errorf("got %+v, %v", res, err)
					}
				default:
					e, ok := errors.AsType[*mcp.Error](err)
					if isNeed || !ok || !e.Local || !strings.Contains(err.Error(), c.want) {
						t.Errorf("got %v %v; want a local error with %q", err, need, c.want)
					}
				}
				w.end()
			})
		})
	}
}

// C10 through the door.
func TestMalformedAnswer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWire(t)
		for _, bad := range []string{`"result":null`, `"result":[]`, `"result":{},"error":{"code":1,"message":"x"}`, `"x":1`} {
			done, _ := w.start(t.Context(), &mcp.Call{Method: mcp.MethodToolsCall})
			id := message(t, w.take()[0]).ID
			w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%s}`, id, bad))
			o := <-done
			if e, ok := errors.AsType[*mcp.Error](o.err); !ok || !e.Local {
				t.Errorf("%s: %+v, %v", bad, o.res, o.err)
			}
		}
		w.end()
	})
}

// A Handler that asks where it may not, or for what the caller cannot do, or
// returns what is no result, fails that call and says nothing else.
func TestWhatHandlersMayNotReturn(t *testing.T) {
	elicit := mcp.InputRequest{Method: mcp.MethodElicit, Params: raw(`{"message":"?","requestedSchema":{"type":"object","properties":{}}}`)}
	for _, c := range []struct {
		name, method string
		res          mcp.Result
		err          error
		code         int
	}{
		{"asks in a list", mcp.MethodToolsList, mcp.Result{}, &mcp.InputRequired{State: "s"}, mcp.CodeInternal},
		{"asks for sampling", mcp.MethodToolsCall, mcp.Result{}, &mcp.InputRequired{Requests: map[string]mcp.InputRequest{"k": {Method: mcp.MethodCreateMessage, Params: raw(`{}`)}}}, mcp.CodeMissingCapability},
		{"asks too much", mcp.MethodToolsCall, mcp.Result{}, &mcp.InputRequired{Requests: map[string]mcp.InputRequest{"k": elicit}, State: strings.Repeat("x", maxState+1)}, mcp.CodeInternal},
		{"an array", mcp.MethodToolsCall, mcp.Result{Body: raw(`[]`)}, nil, mcp.CodeInternal},
		{"a secret", mcp.MethodToolsCall, mcp.Result{}, errors.New("CANARY"), mcp.CodeInternal},
		{"an old code", mcp.MethodResourcesRead, mcp.Result{}, mcp.Errorf(mcp.CodeLegacyResourceNotFound, "x"), mcp.CodeInvalidParams},
		{"another old code", mcp.MethodToolsCall, mcp.Result{}, mcp.Errorf(mcp.CodeLegacyURLElicitation, "x"), mcp.CodeInternal},
		{"no code", mcp.MethodToolsCall, mcp.Result{}, &mcp.Error{Message: "x"}, mcp.CodeInternal},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newServer(t, func(context.Context, *mcp.Call) (mcp.Result, error) { return c.res, c.err })
			m := message(t, `{"jsonrpc":"2.0","id":1,"method":"`+c.method+`","params":{"_meta":{`+goodMeta+`}}}`)
			out := s.Serve(t.Context(), m, nil, ReplyWriter{})(nil)
			answer := message(t, string(out))
			if answer.Error == nil || answer.Error.Code != c.code || strings.Contains(string(out), "CANARY") {
				t.Errorf("got %s, want code %d", out, c.code)
			}
		})
	}
}
