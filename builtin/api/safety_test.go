package api

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
)

const safeFile = `tenon: api/1
name: test
title: Test
api: {base: "BASE/v1", response_limit: 64KiB, timeout: 2s, retry: {max: 0}, hosts: ["OTHER"], headers: {X-Org: "${env:ORG}"}}
auth: {kind: bearer, token: "${env:TOKEN}"}
tools:
  get: {description: d, params: {p: {type: string, required: true}}, request: "GET /{p}"}
  post: {description: d, params: {p: {type: string, required: true}}, request: "POST /{p}"}
  to: {description: d, params: {u: string}, request: {url: "{{ .u }}"}}
`

// Requests and redirects stay within the base and the hosts of the file, and the
// credential goes to the base only.
func TestRequestsStayWithinTheBase(t *testing.T) {
	var stolen, other atomic.Int32
	evil := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { stolen.Add(1) }))
	defer evil.Close()
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization")+r.Header.Get("X-Org") != "" {
			t.Error("another host got a secret")
		}
		other.Add(1)
		reply(w, 200, `{"host":"other"}`)
	}))
	defer host.Close()
	w := newWorld(t, strings.ReplaceAll(safeFile, "OTHER", host.URL), func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer marker-TOKEN" || r.Header.Get("X-Org") != "marker-ORG" {
			t.Errorf("%s has no credential", r.URL)
		}
		switch r.URL.Path {
		case "/v1/evil":
			http.Redirect(w, r, evil.URL+"/v1/x", http.StatusFound)
		case "/v1/above":
			http.Redirect(w, r, "/admin", http.StatusFound)
		case "/v1/dots":
			http.Redirect(w, r, "/v1/%2e%2e/admin", http.StatusFound)
		case "/v1/other":
			http.Redirect(w, r, host.URL+"/file", http.StatusFound)
		case "/v1/near":
			http.Redirect(w, r, "/v1/end", http.StatusMovedPermanently)
		case "/v1/loop":
			http.Redirect(w, r, "/v1/loop", http.StatusFound)
		case "/admin":
			t.Error("left the base")
		default:
			reply(w, 200, `{"end":true}`)
		}
	})
	for p, want := range map[string]string{
		"evil": "…ERROR Test: redirect refused", "above": "…ERROR Test: redirect refused", "dots": "…ERROR Test: redirect refused",
		"loop": "…more than 5 redirects", "near": `{"end":true}`, "other": `{"host":"other"}`,
	} {
		expect(t, p, w.says("get", `{"p":"`+p+`"}`), want)
	}
	expect(t, "post", w.says("post", `{"p":"near"}`), "…redirect of a POST refused")
	for _, u := range []string{evil.URL, host.URL + "/a/../b", host.URL + "/a/%2e%2e/b", "http://169.254.169.254/", "file:///etc/passwd", w.api.URL + "/admin", w.api.URL + "/v1/../admin", w.api.URL + "/v1/%2e%2e/admin", "//evil", "", strings.Replace(w.api.URL, "http://", "http://user:pw@", 1) + "/v1/x"} {
		expect(t, u, w.says("to", `{"u":"`+u+`"}`), "…ERROR")
	}
	expect(t, "host", w.says("to", `{"u":"`+host.URL+`/x"}`), `{"host":"other"}`)
	if stolen.Load() != 0 || other.Load() != 2 {
		t.Errorf("another origin was visited %d times, the host %d times", stolen.Load(), other.Load())
	}
}

// Private addresses are refused unless the file or the operator allows them,
// whatever name they have.
func TestPrivateAddressesAreRefused(t *testing.T) {
	var visits atomic.Int32
	s := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { visits.Add(1) }))
	defer s.Close()
	port := s.URL[strings.LastIndexByte(s.URL, ':'):]
	for _, base := range []string{s.URL, "https://localhost" + port, "https://10.0.0.1", "https://169.254.169.254", "https://[::1]" + port, "https://0x7f.1" + port, "https://[::ffff:127.0.0.1]" + port} {
		file := strings.NewReplacer("BASE/v1", base, "OTHER", "https://x.invalid", "timeout: 2s", "timeout: 1s").Replace(safeFile)
		w := newWorld(t, file, nil, func(c *Config) { c.Private = false })
		got := w.says("get", `{"p":"x"}`)
		if odd := strings.Contains(base, "0x7f"); !strings.Contains(got, "address refused") && !(odd && strings.Contains(got, "connection failed")) {
			t.Errorf("%s: %s", base, got)
		}
	}
	if visits.Load() != 0 {
		t.Error("a private address was reached")
	}
	if _, err := New(Config{Data: []byte(strings.NewReplacer("BASE", "http://example.com", "OTHER", "https://x.invalid").Replace(safeFile)), Name: "f"}); err == nil || !strings.Contains(err.Error(), "plain http needs private") {
		t.Errorf("plain http: %v", err)
	}
}

// Large, endless, slow, cut and compressed answers end with a clear error.
func TestAnswersAreBounded(t *testing.T) {
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	z.Write(bytes.Repeat([]byte("x"), 50<<20))
	z.Close()
	block := make(chan struct{})
	w := newWorld(t, strings.ReplaceAll(safeFile, "OTHER", "https://x.invalid"), func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/large":
			w.Header().Set("Content-Length", "1000000000")
			w.Write([]byte("x"))
		case "/v1/endless":
			for range 1000 {
				if _, err := w.Write(bytes.Repeat([]byte("x"), 4096)); err != nil {
					return
				}
			}
		case "/v1/bomb":
			w.Header().Set("Content-Encoding", "gzip")
			w.Write(bomb.Bytes())
		case "/v1/slow":
			select {
			case <-block:
			case <-r.Context().Done():
			}
		case "/v1/cut":
			w.Header().Set("Content-Length", "100")
			w.Write([]byte(`{"a":`))
		case "/v1/deep":
			reply(w, 200, strings.Repeat("[", 30000))
		case "/v1/header":
			w.Header().Set("X", strings.Repeat("x", 200<<10))
		}
	})
	t.Cleanup(func() { close(block) })
	began := time.Now()
	for p, want := range map[string]string{
		"large": "…more than 65536 bytes", "endless": "…more than 65536 bytes", "bomb": "…more than 65536 bytes", "slow": "…no complete answer in time",
		"cut": "…cut off", "deep": "…ERROR Test", "header": "…ERROR Test",
	} {
		expect(t, p, w.says("get", `{"p":"`+p+`"}`), want)
		if p == "slow" || p == "cut" {
			expect(t, p, w.says("post", `{"p":"`+p+`"}`), "…It is not known whether the request had an effect")
		}
	}
	if time.Since(began) > 30*time.Second { // a hang guard
		t.Error("took too long")
	}
}

// A redirect from a host without the credential back to the base does not get the
// credential: that host chose the request.
func TestRedirectsFromOtherHostsGetNoCredential(t *testing.T) {
	var back string
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, back, http.StatusFound) }))
	defer host.Close()
	var mu sync.Mutex
	with := map[string]string{}
	w := newWorld(t, strings.ReplaceAll(safeFile, "OTHER", host.URL), func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		with[r.URL.Path] = r.Header.Get("Authorization") + r.Header.Get("X-Org")
		mu.Unlock()
		if r.URL.Path == "/v1/there" {
			http.Redirect(w, r, host.URL+"/x", http.StatusFound)
			return
		}
		reply(w, 200, `{"end":true}`)
	})
	back = w.api.URL + "/v1/chosen"
	expect(t, "from the host", w.says("to", `{"u":"`+host.URL+`/x"}`), `{"end":true}`)
	if got := with["/v1/chosen"]; got != "" {
		t.Errorf("a request that another host chose has %q", got)
	}
	back = w.api.URL + "/v1/again"
	expect(t, "there and back", w.says("get", `{"p":"there"}`), `{"end":true}`)
	if with["/v1/there"] != "Bearer marker-TOKENmarker-ORG" || with["/v1/again"] != "" {
		t.Errorf("got %q", with)
	}
	back = w.api.URL + "/admin"
	expect(t, "outside of the base", w.says("to", `{"u":"`+host.URL+`/x"}`), "…ERROR Test: redirect refused")
}

// Responses belong to the account that requested them, unless the file says that they
// are the same for everyone. Clients are told how long, and for whom, a resource can be
// cached.
func TestCacheScope(t *testing.T) {
	const file = `tenon: api/1
name: test
title: Test
api: {base: BASE, cache: {ttl: 1h}}
auth: {kind: oauth2, grant: exchange, token_url: BASE/token, client_id: me, client_secret: "${env:SECRET}"}
tools:
  own: {description: d, request: GET /own}
  all: {description: d, cache: {ttl: 1h, scope: public}, request: GET /all}
  said: {description: d, cache: {ttl: 1h, scope: public}, request: GET /said}
  tagged: {description: d, cache: {scope: public}, request: GET /tagged}
resources:
  - {uri: "test://own", name: own, request: GET /own}
  - {uri: "test://all", name: all, cache: {ttl: 30s, scope: public}, request: GET /all}
  - {uri: "test://all/{id}", name: each, cache: {ttl: 30s, scope: public}, request: "GET /{id}"}
  - {uri: "test://fresh", name: fresh, cache: {ttl: 0s}, request: GET /own}
`
	w := newWorld(t, file, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/token":
			reply(w, 200, `{"access_token":"for-`+r.FormValue("subject_token")+`","token_type":"Bearer"}`)
			return
		case "/said":
			w.Header().Set("Cache-Control", "Private, max-age=60")
		case "/tagged":
			w.Header().Set("ETag", `"1"`)
			if r.Header.Get("If-None-Match") != "" {
				w.WriteHeader(http.StatusNotModified)
				return
			}
		}
		reply(w, 200, `{"for":"`+strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer for-")[:3]+`"}`)
	})
	get := func(tool, who string) string {
		t.Helper()
		res, err := w.serve.Serve(tokenContext(t, who+"-token-of-the-caller"), toolCall(tool, "{}", &mcp.Principal{ID: who}))
		if err != nil {
			t.Fatal(err)
		}
		out, err := mcp.DecodeCallToolResult(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return said(out)
	}
	for tool, want := range map[string]string{"own": "bob", "all": "ada", "said": "bob", "tagged": "ada"} {
		expect(t, tool, get(tool, "ada"), `…{"for":"`)
		expect(t, tool, get(tool, "bob"), `…{"for":"`+want)
	}
	for uri, want := range map[string]mcp.Cache{
		"test://own": {TTL: time.Hour}, "test://all": {TTL: 30 * time.Second, Scope: mcp.ScopePublic},
		"test://all/7": {TTL: 30 * time.Second, Scope: mcp.ScopePublic}, "test://fresh": {},
	} {
		res, err := w.serve.Serve(tokenContext(t, "ada-token-of-the-caller"), &mcp.Call{Method: mcp.MethodResourcesRead, Params: []byte(`{"uri":"` + uri + `"}`), Caller: mcp.Caller{Principal: &mcp.Principal{ID: "ada"}}})
		if err != nil || res.Cache.TTL != want.TTL || (res.Cache.Scope == mcp.ScopePublic) != (want.Scope == mcp.ScopePublic) {
			t.Errorf("%s: %+v, %v", uri, res.Cache, err)
		}
	}
}

func TestETagCache(t *testing.T) {
	version := atomic.Int32{}
	full := atomic.Int32{}
	w := newWorld(t, `tenon: api/1
name: test
title: Test
api: {base: BASE}
auth: {kind: bearer, token: "${env:TOKEN}"}
tools:
  etag: {description: d, request: GET /x}
  ttl: {description: d, cache: {ttl: 1h}, request: GET /y}
  none: {description: d, cache: {etag: false}, request: GET /z}
`, func(w http.ResponseWriter, r *http.Request) {
		tag := `"v` + string(rune('0'+version.Load())) + `"`
		w.Header().Set("ETag", tag)
		if r.Header.Get("If-None-Match") == tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		full.Add(1)
		reply(w, 200, `{"v":`+tag+`}`)
	})
	for range 3 {
		expect(t, "etag", w.says("etag", "{}"), `{"v":"v0"}`)
	}
	if full.Load() != 1 || len(w.requests()) != 3 {
		t.Errorf("%d full answers", full.Load())
	}
	version.Add(1)
	expect(t, "changed", w.says("etag", "{}"), `{"v":"v1"}`)
	w.requests()
	for range 3 {
		w.says("ttl", "{}")
	}
	if n := len(w.requests()); n != 1 {
		t.Errorf("ttl: %d requests", n)
	}
	full.Store(0)
	for range 3 {
		w.says("none", "{}")
	}
	if full.Load() != 3 {
		t.Errorf("none: %d full answers", full.Load())
	}
}
