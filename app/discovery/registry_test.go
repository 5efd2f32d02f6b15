package discovery

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/auth/fetch"
)

// listed returns an element of a registry's list.
func listed(name, version, status string) string {
	return fmt.Sprintf(`{"server":{"name":%q,"description":"d","version":%q,"remotes":[{"type":"sse","url":"https://x.example"}]},"_meta":{"io.modelcontextprotocol.registry/official":{"status":%q,"statusMessage":"use another","publishedAt":"2026-01-01T00:00:00Z","isLatest":true}}}`, name, version, status)
}

func TestRegistryServer(t *testing.T) {
	r := registry(t, site{
		"/sub/v0.1/servers/io.example%2Fa/versions/latest":          listed("io.example/a", "2.0.0", "active"),
		"/sub/v0.1/servers/io.example%2Fa/versions/1.0.0+x":         listed("io.example/a", "1.0.0+x", "deprecated"),
		"/sub/v0.1/servers/io.example%2Fa/versions/0.9.0":           listed("io.example/a", "0.9.0", "deleted"),
		"/sub/v0.1/servers/io.example%2Fother/versions/latest":      listed("io.example/a", "2.0.0", "active"),
		"/sub/v0.1/servers/io.example%2Fa/versions/3.0.0":           listed("io.example/a", "2.0.0", "active"),
		"/sub/v0.1/servers/io.example%2Fbroken/versions/latest":     `{"server":{"name":"io.example/broken"}}`,
		"/sub/v0.1/servers/io.example%2Fnull/versions/latest":       `{"server":null}`,
		"/sub/v0.1/servers/io.example%2Fredirected/versions/latest": "redirect:https://evil.example/",
	}, "/sub/v0.1/")
	for _, test := range []struct{ name, version, want string }{
		{"io.example/a", "", "2.0.0"}, {"io.example/a", "latest", "2.0.0"}, {"io.example/a", "1.0.0+x", "1.0.0+x"},
		{"io.example/a", "0.9.0", "!was deleted from the registry: use another"},
		{"io.example/a", "3.0.0", "!returned io.example/a 2.0.0 instead of io.example/a 3.0.0"}, {"io.example/other", "", "!returned io.example/a"},
		{"io.example/none", "", "!has no server io.example/none"}, {"io.example/a", "^1", "!is not a version"},
		{"io.example/broken", "", "!description must have"}, {"io.example/null", "", "!name must have"},
		{"io.example/redirected", "", "!another host"},
		{"a", "", "!form namespace/name"}, {"../x/y", "", "!form namespace/name"}, {"a/b/c", "", "!form namespace/name"}, {"a/b\x00", "", "!form namespace/name"}, {"a/..", "", "!has no server a/.."}, {"a/b?x", "", "!form namespace/name"}, {"a/b", "../../x", "!is not a version"}, {"a/b", "..", "!is not a version"}, {"a/b", "1\r\nX: y", "!is not a version"},
	} {
		l, err := r.Server(t.Context(), test.name, test.version)
		var d *Description
		if err == nil {
			d, err = l.Describe(r)
		}
		if wrong, ok := strings.CutPrefix(test.want, "!"); ok {
			if err == nil || !strings.Contains(err.Error(), wrong) {
				t.Errorf("%s@%s: %v, want %q", test.name, test.version, err, wrong)
			}
			continue
		}
		if err != nil || d.Version != test.want {
			t.Errorf("%s@%s: %+v, %v", test.name, test.version, d, err)
		} else if warned := strings.Join(d.Warnings, ""); (warned != "") != (test.version == "1.0.0+x") {
			t.Errorf("%s@%s: warnings %q", test.name, test.version, warned)
		}
	}
}

func registry(t *testing.T, h http.Handler, path string) *Registry {
	t.Helper()
	r, err := NewRegistry(serve(t, h)+path, 0)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRegistrySearch(t *testing.T) {
	var asked []string
	r := registry(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		asked = append(asked, r.URL.Path+" "+q.Get("search")+" "+q.Get("version")+" "+q.Get("cursor"))
		var servers []string
		next := ""
		switch q.Get("cursor") {
		case "":
			servers, next = []string{listed("io.example/1", "1.0.0", "active"), `{"server":{"name":"no"}}`}, "a&b=c"
		case "a&b=c":
			servers, next = []string{listed("io.example/2", "1.0.0", "deprecated"), listed("io.example/3", "1.0.0", "active")}, ""
		}
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		fmt.Fprintf(w, `{"servers":[%s],"metadata":{"count":%d,"nextCursor":%s}}`, strings.Join(servers, ","), len(servers), quoted(next))
	}), "")
	found, more, invalid, err := r.Search(t.Context(), "we & ther", 30)
	if err != nil || more || invalid != 1 || len(found) != 3 || found[1].Status != "deprecated" || found[2].Server.Name != "io.example/3" {
		t.Errorf("%v %v %d %v", found, more, invalid, err)
	}
	if want := "/v0.1/servers we & ther latest |/v0.1/servers we & ther latest a&b=c"; strings.Join(asked, "|") != want {
		t.Errorf("asked %q", asked)
	}
	if found, more, _, err = r.Search(t.Context(), "x", 2); err != nil || !more || len(found) != 2 {
		t.Errorf("a limit of 2: %d %v %v", len(found), more, err)
	}
}

func quoted(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

func TestHostileRegistries(t *testing.T) {
	for name, test := range map[string]struct {
		h    http.HandlerFunc
		want string
	}{
		"same page again": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"servers":[],"metadata":{"nextCursor":"x"}}`)
		}, "same page twice"},
		"web page": {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") }, "is this the URL of a registry?"},
		"error":    {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "\x1b[31m", 500) }, "status 500"},
		"not a list": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"servers":{}}`)
		}, "servers"},
		"too large": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, strings.Repeat(" ", 5<<20))
		}, "too large"},
	} {
		_, _, _, err := registry(t, test.h, "").Search(t.Context(), "x", 30)
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\x1b") {
			t.Errorf("%s: %v", name, err)
		}
	}
	pages := 0
	endless := registry(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		pages++
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"servers":[],"metadata":{"nextCursor":"%d"}}`, pages)
	}), "")
	if _, more, _, err := endless.Search(t.Context(), "x", 30); err != nil || !more || pages != maxPages {
		t.Errorf("endless pages: %d, %v, %v", pages, more, err)
	}
	for _, base := range []string{"", "x", "ftp://x.example", "https://", "https://u:p@x.example", "http://%zz"} {
		if _, err := NewRegistry(base, 0); err == nil || strings.Contains(err.Error(), "u:p") {
			t.Errorf("%q: %v", base, err)
		}
	}
	r, err := NewRegistry("http://registry.example.com", 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Server(t.Context(), "a/b", ""); !errors.Is(err, fetch.ErrRefused) {
		t.Errorf("without encryption: %v", err)
	}
}
