package discovery

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/auth/fetch"
	"github.com/tenon-mcp/tenon/ext/servercard"
)

// site serves fixed documents by their path.
type site map[string]string

func (s site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text, ok := s[r.URL.EscapedPath()]
	if !ok {
		http.NotFound(w, r)
		return
	}
	if to, ok := strings.CutPrefix(text, "redirect:"); ok {
		http.Redirect(w, r, to, http.StatusFound)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprint(w, text)
}

func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// cardJSON returns a card for a URL.
func cardJSON(name, remote string) string {
	return `{"$schema":"` + servercard.Schema + `","name":"com.example/` + name + `","version":"1.0.0","description":"d","remotes":[{"type":"streamable-http","url":"` + remote + `"}]}`
}

func TestSources(t *testing.T) {
	for word, want := range map[string]bool{
		"server.json": true, "./x/Server.JSON": true, "a.mcpb": true, "a.dxt": true, "https://x.example/server.json?v=1": true, "https://x.example/mcp/server-card": true,
		"https://x.example/a.mcpb": true, "https://x.example/mcp": false, "files": false, "a/b": false, "sse+https://x.example/a.json": false, "file:///server.json": false, "builtin:fs": false, "": false,
	} {
		if IsSource(word) != want {
			t.Errorf("%q: %v", word, !want)
		}
	}
}

func TestCardsAreFound(t *testing.T) {
	pages := site{}
	base := serve(t, pages)
	pages["/a/mcp/server-card"] = cardJSON("a", base+"/a/mcp")
	pages["/.well-known/ai-catalog.json"] = `{"specVersion":"1.0","entries":[{"identifier":"urn:b","type":"application/mcp-server-card+json","url":"/b-card"},{"identifier":"urn:c","type":"application/mcp-server-card+json","data":` + cardJSON("c", "https://c.example/mcp") + `},{"identifier":"urn:skill","type":"text/markdown","url":"/s"}]}`
	pages["/b-card"] = cardJSON("b", base+"/b")
	for _, test := range []struct {
		source string
		card   bool
		want   string
	}{
		{base + "/a/mcp", true, "com.example/a"}, {base + "/a/mcp/", true, "com.example/a"}, {base + "/a/mcp/server-card", false, "com.example/a"}, {base + "/a/mcp/server-card", true, "com.example/a"},
		{base + "/b#urn:b", true, "com.example/b"}, {base + "/.well-known/ai-catalog.json#urn:c", false, "com.example/c"},
		{base, true, "!several servers: choose one with #IDENTIFIER at the end of the catalog's URL: urn:b, urn:c"}, {base + "#urn:x", true, `!lists no server "urn:x"; it lists urn:b, urn:c`},
		{"https://user:password@x.example/", true, "!must not contain a user name"}, {"ftp://x.example/server.json", true, "!must start with https://"},
	} {
		d, err := Load(t.Context(), test.source, &Options{Card: test.card})
		if wrong, ok := strings.CutPrefix(test.want, "!"); ok {
			if err == nil || !strings.Contains(err.Error(), wrong) {
				t.Errorf("%s: %v, want %q", test.source, err, wrong)
			}
		} else if err != nil || d.Name != test.want {
			t.Errorf("%s: %+v, %v", test.source, d, err)
		} else if warned := len(d.Options[0].Warnings) > 0; warned != (test.want == "com.example/c") {
			t.Errorf("%s: warnings %q", test.source, d.Options[0].Warnings)
		}
	}
	delete(pages, "/.well-known/ai-catalog.json")
	if _, err := Load(t.Context(), base, &Options{Card: true}); err == nil || !strings.Contains(err.Error(), "publishes no server card") {
		t.Errorf("no card: %v", err)
	}
}

func TestFilesAreToldApart(t *testing.T) {
	dir := t.TempDir()
	for name, test := range map[string]struct{ text, want string }{
		"server.json":   {string(serverJSON(`"remotes":[]`)), "io.example/weather"},
		"card.json":     {cardJSON("a", "https://a.example/mcp"), "com.example/a"},
		"catalog.json":  {`{"specVersion":"1.0","entries":[{"identifier":"urn:c","type":"application/mcp-server-card+json","data":` + cardJSON("c", "https://c.example/mcp") + `}]}`, "com.example/c"},
		"manifest.json": {manifest, "!add the .mcpb file"},
		"empty.json":    {"", "!read the description"},
		"none.json":     {`{"specVersion":"1.0","entries":[]}`, "!lists no MCP servers"},
		"huge.json":     {strings.Repeat(" ", 2<<20), "!larger than 1 MiB"},
		"bad.mcpb":      {"x", "!read the bundle"},
		// a URL in a file does not reach this machine
		"local.json":    {`{"specVersion":"1.0","entries":[{"identifier":"a","type":"application/mcp-server-card+json","url":"` + serve(t, site{}) + `/x"}]}`, "!refused"},
		"relative.json": {`{"specVersion":"1.0","entries":[{"identifier":"a","type":"application/mcp-server-card+json","url":"/x"}]}`, "!must start with https://"},
	} {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(test.text), 0o600); err != nil {
			t.Fatal(err)
		}
		d, err := Load(t.Context(), file, &Options{})
		if wrong, ok := strings.CutPrefix(test.want, "!"); ok {
			if err == nil || !strings.Contains(err.Error(), wrong) || !strings.Contains(err.Error(), file) {
				t.Errorf("%s: %v, want %q and the name of the file", name, err, wrong)
			}
		} else if err != nil || d.Name != test.want || d.Source != file {
			t.Errorf("%s: %+v, %v", name, d, err)
		}
	}
	for _, name := range []string{"missing.json", "."} {
		if _, err := Load(t.Context(), filepath.Join(dir, name), &Options{}); err == nil {
			t.Errorf("%s was read", name)
		}
	}
}

// A document may not lead to another host, however it tries.
func TestRedirectsToOtherHostsAreRefused(t *testing.T) {
	var visited atomic.Int32
	other := serve(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { visited.Add(1) }))
	pages := site{"/here.json": "redirect:/there.json", "/there.json": string(serverJSON(`"remotes":[]`)), "/loop.json": "redirect:/loop.json"}
	for i, to := range []string{other, strings.Replace(other, "127.0.0.1", "localhost", 1), "https://169.254.169.254/", "//evil.example/", "file:///etc/passwd", "http://[::1]:1/"} {
		pages[fmt.Sprintf("/away%d.json", i)] = "redirect:" + to
	}
	base := serve(t, pages)
	if d, err := Load(t.Context(), base+"/here.json", &Options{}); err != nil || d.Name == "" {
		t.Errorf("a redirect within the site: %v", err)
	}
	for path := range pages {
		if path == "/here.json" || path == "/there.json" {
			continue
		}
		if _, err := Load(t.Context(), base+path, &Options{}); !errors.Is(err, fetch.ErrRefused) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if visited.Load() > 0 {
		t.Error("the other host was visited")
	}
}

// A URL in a document reaches this machine only if the user named one there.
func TestDocumentsDoNotReachThisMachine(t *testing.T) {
	var visited atomic.Int32
	here := serve(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { visited.Add(1) }))
	for _, given := range []string{"https://registry.example.com", "https://localhost.example.com", "https://127.0.0.1.example.com", ""} {
		f := &fetcher{}
		if given != "" {
			var err error
			if f, err = newFetcher(given, 0); err != nil {
				t.Fatal(err)
			}
		}
		for _, at := range []string{here, strings.Replace(here, "127.0.0.1", "localhost", 1), "https://10.0.0.1/", "https://169.254.169.254/"} {
			if _, _, err := f.get(t.Context(), request{url: at, anywhere: true}); !errors.Is(err, fetch.ErrRefused) {
				t.Errorf("%s from %q: %v", at, given, err)
			}
		}
	}
	if visited.Load() > 0 {
		t.Error("this machine was visited")
	}
}

// A bundle whose digest is known may come from another host, as that of a release
// on a code host does. Without a digest it may not.
func TestBundlesMayBeRedirectedIfTheirDigestIsKnown(t *testing.T) {
	data := pack(t, good()...)
	b, err := OpenBundle(data, "")
	if err != nil {
		t.Fatal(err)
	}
	store := serve(t, site{"/real.mcpb": string(data)})
	base := serve(t, site{"/a.mcpb": "redirect:" + store + "/real.mcpb"})
	if _, err := Load(t.Context(), base+"/a.mcpb", &Options{}); !errors.Is(err, fetch.ErrRefused) {
		t.Errorf("without a digest: %v", err)
	}
	if _, err := Load(t.Context(), base+"/a.mcpb", &Options{SHA256: strings.Repeat("0", 64)}); err == nil || !strings.Contains(err.Error(), "digest is") {
		t.Errorf("with another digest: %v", err)
	}
	d, err := Load(t.Context(), base+"/a.mcpb", &Options{SHA256: b.SHA256})
	if err != nil || d.Name != "hello" {
		t.Errorf("with its digest: %v", err)
	}
	s, err := ParseServer(serverJSON(`"packages":[{"registryType":"mcpb","identifier":"` + base + `/a.mcpb","fileSha256":"` + b.SHA256 + `","transport":{"type":"stdio"}}]`))
	if err != nil {
		t.Fatal(err)
	}
	d = s.Describe("")
	if _, err := d.Fetch(t.Context(), d.Options[0], &Options{}); !errors.Is(err, fetch.ErrRefused) {
		t.Errorf("a file that names a bundle on this machine: %v", err)
	}
	if d.given, err = url.Parse(base); err != nil {
		t.Fatal(err)
	}
	if o, err := d.Fetch(t.Context(), d.Options[0], &Options{}); err != nil || o.Bundle == nil {
		t.Errorf("a URL on this machine that names a bundle there: %v", err)
	}
	if _, err := d.Fetch(t.Context(), d.Options[0], &Options{SHA256: strings.Repeat("0", 64)}); err == nil {
		t.Error("another digest on the command line was accepted")
	}
}

func TestSlowAndEndlessDocumentsEnd(t *testing.T) {
	base := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/slow.json":
			<-r.Context().Done()
		case "/drip.json":
			for r.Context().Err() == nil {
				fmt.Fprint(w, " ")
				w.(http.Flusher).Flush()
				time.Sleep(time.Millisecond)
			}
		case "/endless.json":
			for r.Context().Err() == nil {
				fmt.Fprint(w, strings.Repeat(" ", 1<<16))
			}
		}
	}))
	for path, want := range map[string]error{"/slow.json": os.ErrDeadlineExceeded, "/drip.json": os.ErrDeadlineExceeded, "/endless.json": fetch.ErrTooLarge} {
		o := &Options{}
		if want == os.ErrDeadlineExceeded {
			o.Timeout = 50 * time.Millisecond
		}
		_, err := Load(t.Context(), base+path, o)
		if failed, ok := errors.AsType[*FetchError](err); !ok || want == fetch.ErrTooLarge && !errors.Is(failed, want) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
