package apps

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/mcptest"
	"github.com/tenon-mcp/tenon/server"
)

const page = "<!doctype html><title>t</title>"

func newServer() *server.Server {
	return server.New(mcp.Implementation{Name: "views", Version: "1"}, nil)
}

// A view and its tool reach clients of every revision unchanged.
func TestViewReachesEveryRevision(t *testing.T) {
	s := newServer()
	border := true
	v := View{URI: "ui://stats/chart.html", HTML: page, UI: ViewUI{
		CSP:         &CSP{ConnectDomains: []string{"https://api.example.com"}},
		Permissions: Permissions{ClipboardWrite: true}, PrefersBorder: &border,
	}}
	if err := AddView(s, v); err != nil {
		t.Fatal(err)
	}
	server.AddTool(s, "totals", "Totals", func(context.Context, *mcp.Call, struct{}) (string, error) { return "1", nil }, &server.ToolOptions{Meta: ToolMeta(v.URI, AppView)})
	for _, rev := range mcp.Revisions() {
		c := client.New(mcptest.Connect(t, s, rev), nil)
		for tool, err := range c.Tools(t.Context()) {
			if err != nil {
				t.Fatal(rev, err)
			}
			if flat := string(tool.Meta[flatMetaKey]); flat != `"ui://stats/chart.html"` {
				t.Errorf("%s: deprecated key: %s", rev, flat)
			}
			if ui := ForTool(tool); ui.ResourceURI != v.URI || ui.VisibleTo(Model) || !ui.VisibleTo(AppView) {
				t.Errorf("%s: %+v", rev, ui)
			}
		}
		p, err := Read(t.Context(), c, v.URI)
		if err != nil {
			t.Fatal(rev, err)
		}
		if p.HTML != page || !p.UI.Permissions.ClipboardWrite || p.UI.PrefersBorder == nil || !*p.UI.PrefersBorder || !slices.Equal(p.UI.CSP.Domains(), []string{"https://api.example.com"}) || len(p.Problems) > 0 {
			t.Errorf("%s: %+v", rev, p)
		}
	}
}

// A client's declaration reaches the server in every revision.
func TestSupportedInEveryRevision(t *testing.T) {
	s := newServer()
	var seen bool
	server.AddTool(s, "see", "See", func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) {
		seen = Supported(&c.Caller)
		return "", nil
	}, nil)
	for _, rev := range mcp.Revisions() {
		for settings, want := range map[string]bool{string(ClientSettings()): true, `{}`: false, `{"mimeTypes":["text/html"]}`: false, `{"mimeTypes":"text/html;profile=mcp-app"}`: false} {
			profile := &mcp.ClientProfile{Client: mcp.Implementation{Name: "t", Version: "1"}, Capabilities: mcp.ClientCapabilities{Extensions: map[string]json.RawMessage{ExtensionID: json.RawMessage(settings)}}}
			c := client.New(mcptest.ConnectAs(t, s, rev, profile), &client.Options{Extensions: profile.Capabilities.Extensions})
			if _, err := c.CallTool(t.Context(), "see", nil, nil); err != nil {
				t.Fatal(rev, err)
			}
			if seen != want {
				t.Errorf("%s %s: supported is %v", rev, settings, seen)
			}
		}
	}
}

// Both keys of a tool are read, and what is invalid counts as missing.
func TestForTool(t *testing.T) {
	for meta, want := range map[string]struct {
		uri        string
		model, app bool
	}{
		`{}`:                                {"", true, true},
		`{"ui":{"resourceUri":"ui://a/b"}}`: {"ui://a/b", true, true},
		`{"ui/resourceUri":"ui://a/b"}`:     {"ui://a/b", true, true},
		`{"ui":{"resourceUri":"ui://new"},"ui/resourceUri":"ui://old"}`:      {"ui://new", true, true},
		`{"ui":{"visibility":["app"]},"ui/resourceUri":"ui://old"}`:          {"ui://old", false, true},
		`{"ui":{"visibility":["model"]}}`:                                    {"", true, false},
		`{"ui":{"visibility":[]}}`:                                           {"", false, false},
		`{"ui":{"visibility":["other",1,null]}}`:                             {"", false, false},
		`{"ui":{"visibility":"app"}}`:                                        {"", true, true},
		`{"ui":{"resourceUri":"https://evil.example"}}`:                      {"", true, true},
		`{"ui":{"resourceUri":"javascript:alert(1)"}}`:                       {"", true, true},
		`{"ui":{"resourceUri":7}}`:                                           {"", true, true},
		`{"ui":"x","ui/resourceUri":["ui://a"]}`:                             {"", true, true},
		`{"ui":{"resourceUri":"ui:a"}}`:                                      {"", true, true},
		`{"ui":{"resourceUri":"ui://a/b"},"ui/resourceUri":"https://x.com"}`: {"ui://a/b", true, true},
	} {
		var tool mcp.Tool
		if err := mcp.Unmarshal([]byte(`{"name":"t","inputSchema":{"type":"object"},"_meta":`+meta+`}`), &tool); err != nil {
			t.Fatal(err)
		}
		ui := ForTool(&tool)
		if ui.ResourceURI != want.uri || ui.VisibleTo(Model) != want.model || ui.VisibleTo(AppView) != want.app {
			t.Errorf("%s: %+v", meta, ui)
		}
	}
}

// AddView refuses what no host would show.
func TestAddViewRefuses(t *testing.T) {
	for _, v := range []View{
		{URI: "https://x/y", HTML: page}, {URI: "ui:x", HTML: page}, {HTML: page}, {URI: "ui://x"}, {URI: "ui://x", HTML: " "},
		{URI: "ui://x", HTML: page, UI: ViewUI{CSP: &CSP{ConnectDomains: []string{"example.com"}}}},
	} {
		if err := AddView(newServer(), v); err == nil {
			t.Errorf("%+v was added", v)
		}
	}
}

// raw is a server whose resource has the given list entry and contents.
type raw struct{ entry, contents string }

func (r raw) Serve(_ context.Context, c *mcp.Call) (mcp.Result, error) {
	body := `{}`
	switch c.Method {
	case mcp.MethodResourcesList:
		body = `{"resources":[` + r.entry + `]}`
	case mcp.MethodResourcesRead:
		body = `{"contents":[` + r.contents + `]}`
	}
	return mcp.Result{Body: json.RawMessage(body)}, nil
}

// The metadata of the contents wins over that of the list, as a whole; what is
// invalid never allows more.
func TestReadMetadata(t *testing.T) {
	entry := func(ui string) string {
		return `{"uri":"ui://v","name":"v","_meta":{"ui":` + ui + `}}`
	}
	contents := func(meta string) string {
		return `{"uri":"ui://v","mimeType":"text/html; profile=mcp-app","text":"<p>"` + meta + `}`
	}
	for _, test := range []struct {
		entry, contents, domains string
		problems                 int
	}{
		{entry(`{"csp":{"connectDomains":["https://list.example.com"]}}`), contents(``), "https://list.example.com", 0},
		{entry(`{"csp":{"connectDomains":["https://list.example.com"]}}`), contents(`,"_meta":{"ui":{"prefersBorder":true}}`), "", 0},
		{entry(`{}`), contents(`,"_meta":{"ui":{"csp":{"frameDomains":["https://one.example.com"]}}}`), "https://one.example.com", 0},
		{entry(`7`), contents(``), "", 1},
		{``, contents(`,"_meta":{"ui":{"csp":{"connectDomains":"https://a.example.com"},"permissions":[],"domain":1,"prefersBorder":"x"}}`), "", 4},
		{``, contents(`,"_meta":{"ui":{"csp":{"connectDomains":["https://a.example.com","http://127.0.0.1:1","*"]}}}`), "https://a.example.com", 2},
		{``, contents(`,"_meta":{"ui":null}`), "", 1},
	} {
		p, err := Read(t.Context(), client.New(raw{test.entry, test.contents}, nil), "ui://v")
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(p.UI.CSP.Domains(), " "); got != test.domains || len(p.Problems) != test.problems {
			t.Errorf("%s %s: domains %q, problems %v", test.entry, test.contents, got, p.Problems)
		}
	}
}

// What is not a view is not read as one.
func TestReadRefuses(t *testing.T) {
	for contents, want := range map[string]string{
		`{"uri":"ui://v","mimeType":"text/html","text":"<p>"}`:                                                                  "its type is",
		`{"uri":"ui://v","mimeType":"text/html;profile=mcp-app","text":" "}`:                                                    "empty",
		`{"uri":"ui://v","mimeType":"text/html;profile=mcp-app","text":"a"},{"uri":"ui://v","mimeType":"text/html","text":"a"}`: "2 contents",
		`{"uri":"ui://v","mimeType":"text/html;profile=mcp-app","text":"` + strings.Repeat("x", MaxHTML+1) + `"}`:               "more than 16 MiB",
	} {
		if _, err := Read(t.Context(), client.New(raw{"", contents}, nil), "ui://v"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: %v", contents, err)
		}
	}
	if _, err := Read(t.Context(), client.New(raw{}, nil), "file:///etc/passwd"); err == nil {
		t.Error("a resource that is not a view was read")
	}
	p, err := Read(t.Context(), client.New(raw{"", `{"uri":"ui://v","mimeType":"text/html;profile=mcp-app","blob":"PHA+"}`}, nil), "ui://v")
	if err != nil || p.HTML != "<p>" {
		t.Errorf("a view in base64: %+v, %v", p, err)
	}
}

// A declared domain is an origin elsewhere, with an encrypted scheme; nothing
// else gets into the header.
func TestCSPDomains(t *testing.T) {
	for _, ok := range []string{"https://example.com", "wss://example.com:8443", "https://*.example.com", "https://xn--bcher-kva.example", "https://1.1.1.1", "https://[2606:4700::1]:443"} {
		if err := checkDomain(ok); err != nil {
			t.Error(err)
		}
	}
	for _, bad := range []string{
		"", "*", "https://*", "https:", "https://", "example.com", "http://example.com", "ws://example.com", "data:", "blob:", "'self'", "'unsafe-eval'", "https://*.com", "https://com",
		"https://example.com/path", "https://example.com?x", "https://example.com#x", "https://example.com#", "https://example.com/", "https://a:b@example.com", "https://example.com; script-src *", "https://example.com;script-src", "https://example.com script-src",
		"https://example.com\r\nSet-Cookie: a=b", "https://example.com\nx", "https://example.com,https://x.com", "https://exa'mple.com", "https://exa\u202emple.com", "https://bücher.example",
		"https://localhost", "https://x.localhost:1", "https://127.0.0.1", "https://[::1]", "https://[::ffff:127.0.0.1]", "https://10.0.0.1", "https://192.168.1.1", "https://169.254.1.1", "https://0.0.0.0", "https://*.1.1.1",
		"https://example.com:", "https://example.com:0", "https://example.com:99999", "https://example.com:*", "https://-a.example", "https://a..example", "HTTPS://example.com", "https://" + strings.Repeat("a.", 200) + "com",
	} {
		if checkDomain(bad) == nil {
			t.Errorf("%q is accepted", bad)
		}
		c := &CSP{ConnectDomains: []string{bad}, ResourceDomains: []string{bad}, FrameDomains: []string{bad}, BaseURIDomains: []string{bad}}
		header, problems := c.Header()
		if none, _ := (*CSP)(nil).Header(); header != none || len(problems) != 4 {
			t.Errorf("%q: %s, %v", bad, header, problems)
		}
	}
}

func TestCSPHeader(t *testing.T) {
	none, _ := (*CSP)(nil).Header()
	for _, want := range []string{"default-src 'none'", "script-src 'self' 'unsafe-inline'", "img-src 'self' data:", "connect-src 'none'", "frame-src 'none'", "object-src 'none'", "base-uri 'self'", "form-action 'none'", "webrtc 'block'"} {
		if !slices.Contains(strings.Split(none, "; "), want) {
			t.Errorf("the default lacks %s: %s", want, none)
		}
	}
	c := &CSP{ConnectDomains: []string{"wss://c.example.com", "wss://c.example.com"}, ResourceDomains: []string{"https://r.example.com"}, FrameDomains: []string{"https://f.example.com"}, BaseURIDomains: []string{"https://b.example.com"}}
	header, problems := c.Header()
	for _, want := range []string{
		"script-src 'self' 'unsafe-inline' https://r.example.com", "style-src 'self' 'unsafe-inline' https://r.example.com", "img-src 'self' data: https://r.example.com",
		"font-src 'self' data: https://r.example.com", "media-src 'self' data: https://r.example.com", "connect-src wss://c.example.com", "frame-src https://f.example.com", "base-uri https://b.example.com",
	} {
		if !slices.Contains(strings.Split(header, "; "), want) {
			t.Errorf("the header lacks %s: %s", want, header)
		}
	}
	if len(problems) > 0 {
		t.Error(problems)
	}
	if got, want := c.ConnectionAllowlist(), `(response-origin "https://b.example.com" "https://f.example.com" "https://r.example.com" "wss://c.example.com")`; got != want {
		t.Errorf("%s instead of %s", got, want)
	}
	if got := (*CSP)(nil).ConnectionAllowlist(); got != "(response-origin)" {
		t.Error(got)
	}
}

func FuzzCSPHeader(f *testing.F) {
	f.Add("https://example.com")
	f.Add("https://a.example; script-src *")
	f.Fuzz(func(t *testing.T, domain string) {
		header, _ := (&CSP{ConnectDomains: []string{domain}, ResourceDomains: []string{domain}}).Header()
		if strings.Count(header, ";") != 12 || strings.ContainsAny(header, "\r\n\x00,") {
			t.Errorf("%q changes the policy: %s", domain, header)
		}
		allowed := (&CSP{FrameDomains: []string{domain}}).ConnectionAllowlist()
		if allowed != "(response-origin)" && allowed != `(response-origin "`+domain+`")` || strings.ContainsAny(domain, `"\`) && strings.Contains(allowed, domain) {
			t.Errorf("%q changes the list: %s", domain, allowed)
		}
	})
}

func TestPermissions(t *testing.T) {
	var ui ViewUI
	if err := mcp.Unmarshal([]byte(`{"permissions":{"camera":{},"clipboardWrite":{},"midi":{},"microphone":true}}`), &ui); err != nil {
		t.Fatal(err)
	}
	if got := ui.Permissions.Features(); !slices.Equal(got, []string{"camera", "clipboard-write"}) {
		t.Error(got)
	}
	raw, err := mcp.Marshal(ui)
	if err != nil || string(raw) != `{"permissions":{"camera":{},"clipboardWrite":{}}}` {
		t.Errorf("%s %v", raw, err)
	}
}
