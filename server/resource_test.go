package server_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// vars reads a resource that is the name of its template and its variables.
func vars(name string) server.ReadFunc {
	return func(_ context.Context, _ *mcp.Call, _ string, vars map[string]string) ([]mcp.ResourceContents, error) {
		text := name
		for _, k := range slices.Sorted(maps.Keys(vars)) {
			text += fmt.Sprintf(" %s=%s", k, vars[k])
		}
		return server.TextResource("", text), nil
	}
}

func TestReadResource(t *testing.T) {
	s, log := newServer(server.Options{})
	fails := func(err error) server.ReadFunc {
		return func(context.Context, *mcp.Call, string, map[string]string) ([]mcp.ResourceContents, error) {
			return nil, err
		}
	}
	shared := []mcp.ResourceContents{{Text: "same"}, {URI: "a:other", MIMEType: "x/y", Blob: []byte{}}}
	for uri, read := range map[string]server.ReadFunc{
		"a:exact":    say("the exact one"),
		"a:none":     fails(nil),
		"a:broken":   fails(errors.New("disk 7 is on fire")),
		"a:coded":    fails(mcp.ResourceNotFound("a:coded")),
		"a:asks":     fails(&mcp.InputRequired{}),
		"a:declined": fails(&server.Declined{Action: mcp.ActionCancel, Message: "Which?"}),
		"a:nobody":   fails(fmt.Errorf("%w", context.DeadlineExceeded)),
	} {
		resource(mcp.Resource{URI: uri, Name: "r", MIMEType: "text/plain"}, read)(s)
	}
	template(mcp.ResourceTemplate{URITemplate: "a:{name}", Name: "first"}, vars("first"))(s)
	template(mcp.ResourceTemplate{URITemplate: "a:{+rest}", Name: "second"}, vars("second"))(s)
	template(mcp.ResourceTemplate{URITemplate: "b://x{/id*}{?q}", Name: "third", MIMEType: "text/markdown"}, vars("third"))(s)
	template(mcp.ResourceTemplate{URITemplate: "s:{x}", Name: "shared"}, func(context.Context, *mcp.Call, string, map[string]string) ([]mcp.ResourceContents, error) {
		return shared, nil
	})(s)

	rows := []struct{ uri, want string }{
		{"a:exact", `{"contents":[{"uri":"a:exact","mimeType":"text/plain","text":"the exact one"}]}`},
		{"a:b%20c", `{"contents":[{"uri":"a:b%20c","text":"first name=b c"}]}`},
		{"a:b/c", `{"contents":[{"uri":"a:b/c","text":"second rest=b/c"}]}`},
		{"b://x/1/2?q=%C3%A4", `{"contents":[{"uri":"b://x/1/2?q=%C3%A4","mimeType":"text/markdown","text":"third id=1/2 q=ä"}]}`},
		{"s:1", `{"contents":[{"uri":"s:1","text":"same"},{"uri":"a:other","mimeType":"x/y","blob":""}]}`},
		{"s:2", `{"contents":[{"uri":"s:2","text":"same"},{"uri":"a:other","mimeType":"x/y","blob":""}]}`}, // not s:1
		{"c:d", `-32602 no resource has the URI "c:d" {"uri":"c:d"}`},
		{"", `-32602 no resource has the URI "" {"uri":""}`},
		{"a:none", `-32603 reading "a:none" returned no contents`},
		{"a:broken", `-32603 resource "a:broken" failed`},
		{"a:coded", `-32602 no resource has the URI "a:coded" {"uri":"a:coded"}`},
		{"a:asks", `…no code: input required`},
		{"a:declined", `-32602 resource "a:declined" needs input: The user dismissed the request: "Which?"`},
		{"a:nobody", `-32603 resource "a:nobody" failed`},
	}
	for _, row := range rows {
		expect(t, row.uri, ask(t, s, mcp.MethodResourcesRead, fmt.Sprintf(`{"uri":%q}`, row.uri)), row.want)
	}
	if !strings.Contains(log.String(), "disk 7 is on fire") || strings.Contains(log.String(), "coded") {
		t.Errorf("the operator reads %s", log)
	}
	for _, params := range []string{``, `{}`, `{"uri":1}`, `{"uri":null}`} {
		expect(t, params, ask(t, s, mcp.MethodResourcesRead, params), `…-32602 uri: missing or not a string`)
	}
	// M38: a matcher that goes back and forth would take hours here.
	expect(t, "many commas", ask(t, s, mcp.MethodResourcesRead, `{"uri":"b://x`+strings.Repeat(",", 50_000)+`!"}`), `…-32602 no resource`)
}

func TestResourceCache(t *testing.T) {
	hint := mcp.Cache{TTL: time.Minute, Scope: mcp.ScopePublic}
	for _, row := range []struct {
		allow func(*mcp.Caller, server.Feature) bool
		want  mcp.CacheScope
	}{
		{nil, mcp.ScopePublic},
		// What some may not see must not reach them through a shared cache.
		{func(*mcp.Caller, server.Feature) bool { return true }, mcp.ScopePrivate},
	} {
		s, _ := newServer(server.Options{Allow: row.allow, ListCache: hint})
		if err := s.AddResource(mcp.Resource{URI: "a:b", Name: "r"}, say("x"), &server.ResourceOptions{Cache: hint}); err != nil {
			t.Fatal(err)
		}
		if err := s.AddTemplate(mcp.ResourceTemplate{URITemplate: "t:{x}", Name: "t"}, say("x"), &server.ResourceOptions{Cache: hint}); err != nil {
			t.Fatal(err)
		}
		for _, c := range []*mcp.Call{
			{Method: mcp.MethodResourcesRead, Params: []byte(`{"uri":"a:b"}`)},
			{Method: mcp.MethodResourcesRead, Params: []byte(`{"uri":"t:b"}`)},
			{Method: mcp.MethodResourcesList},
			{Method: mcp.MethodResourceTemplatesList},
		} {
			res, err := s.Serve(t.Context(), c)
			if err != nil || res.Cache.TTL != time.Minute || res.Cache.Scope != row.want {
				t.Errorf("%s %s: %+v, %v; want %s", c.Method, c.Params, res.Cache, err, row.want)
			}
		}
	}
}

func TestJSONResource(t *testing.T) {
	got, err := server.JSONResource(sum{1})
	if err != nil || len(got) != 1 || got[0].Text != `{"sum":1}` || got[0].MIMEType != "application/json" {
		t.Errorf("got %v, %v", got, err)
	}
	if got, err := server.JSONResource(func() {}); err == nil || got != nil {
		t.Errorf("got %v, %v", got, err)
	}
}

// An unlisted resource can be read, subscribed to and removed, and is not listed.
func TestUnlistedResource(t *testing.T) {
	s, _ := newServer(server.Options{Allow: func(c *mcp.Caller, f server.Feature) bool { return f.Name != "a:secret" }})
	for _, uri := range []string{"a:b", "a:secret"} {
		if err := s.AddResource(mcp.Resource{URI: uri, Name: "r"}, say("x"), &server.ResourceOptions{Unlisted: true}); err != nil {
			t.Fatal(err)
		}
	}
	expect(t, "capability", ask(t, s, mcp.MethodDiscover, ``), `…"resources":{`)
	expect(t, "list", ask(t, s, mcp.MethodResourcesList, ``), `{"resources":[]}`)
	expect(t, "read", ask(t, s, mcp.MethodResourcesRead, `{"uri":"a:b"}`), `…"text":"x"`)
	expect(t, "read what is not allowed", ask(t, s, mcp.MethodResourcesRead, `{"uri":"a:secret"}`), `…-32602 no resource`)
	if s.Allows(&mcp.Caller{}, server.Feature{Kind: server.KindResource, Name: "a:secret"}) || !s.Allows(&mcp.Caller{}, server.Feature{Kind: server.KindResource, Name: "a:b"}) {
		t.Error("Allows does not ask Options.Allow")
	}
	if err := s.AddResource(mcp.Resource{URI: "a:b", Name: "r"}, say("y"), nil); err != nil {
		t.Fatal(err)
	}
	expect(t, "listed", ask(t, s, mcp.MethodResourcesList, ``), `…"a:b"`)
	expect(t, "replaced", ask(t, s, mcp.MethodResourcesRead, `{"uri":"a:b"}`), `…"text":"y"`)
	if n := s.RemoveResources("a:b", "a:secret", "a:none"); n != 2 {
		t.Errorf("removed %d", n)
	}
	expect(t, "removed", ask(t, s, mcp.MethodResourcesRead, `{"uri":"a:b"}`), `…-32602 no resource`)
}
