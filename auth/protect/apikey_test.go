package protect

import (
	"net/http"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/mcp"
)

func TestAPIKeys(t *testing.T) {
	one, two := "k1-"+strings.Repeat("a", 40), "k2-"+strings.Repeat("b", 40)
	hash := func(key string) string {
		h, err := HashKey(key)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(h, key) {
			t.Error("the hash holds the key")
		}
		return h
	}
	v, err := APIKeys(map[string]mcp.Principal{hash(one): {ID: "build", Scopes: []string{"mcp"}}, hash(two): {ID: "deploy", Issuer: "https://ops.example"}})
	if err != nil {
		t.Fatal(err)
	}
	g, err := New(&Options{Resource: resource, Verifier: v, Scopes: []string{"mcp"}})
	if err != nil {
		t.Fatal(err)
	}
	h := g.Wrap(http.HandlerFunc(echo))
	if w := do(h, post("{}", "Authorization: Bearer "+one)); w.Code != 200 || w.Body.String() != "build" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	expect(t, do(h, post("{}", "Authorization: Bearer "+two)), 403, `scope="mcp"`)
	for _, wrong := range []string{one + "x", one[1:], strings.ToUpper(one), hash(one)[7:], "x"} {
		expect(t, do(h, post("{}", "Authorization: Bearer "+wrong)), 401, `error="invalid_token"`)
	}
	id, _ := v.Verify(t.Context(), one, nil)
	if id.Principal.Issuer != "api-key" {
		t.Errorf("the issuer is %q", id.Principal.Issuer)
	}
	for name, keys := range map[string]map[string]mcp.Principal{
		"none":       nil,
		"not hashed": {one: {ID: "x"}},
		"cut short":  {hash(one)[:40]: {ID: "x"}},
		"no prefix":  {hash(one)[7:]: {ID: "x"}},
		"nobody":     {hash(one): {}},
	} {
		if _, err := APIKeys(keys); err == nil || strings.Contains(err.Error(), one) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, weak := range []string{"", "password", "has spaces in it and is long enough"} {
		if _, err := HashKey(weak); err == nil {
			t.Errorf("%q is taken", weak)
		}
	}
}

// A5: nil verifiers are left out, and nobody gets in by them.
func TestAnyOfNil(t *testing.T) {
	if _, err := AnyOf(nil, nil).Verify(t.Context(), "token", nil); !isInvalid(err) {
		t.Errorf("error %v", err)
	}
}
