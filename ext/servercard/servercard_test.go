package servercard_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/ext/servercard"
)

const full = `{
  "$schema": "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json",
  "name": "com.example/weather", "version": "1.2.0", "description": "Forecasts", "title": "Weather", "future": {"x": 1},
  "remotes": [{"type": "streamable-http", "url": "https://{tenant}.example.com/mcp",
    "headers": [{"name": "Authorization", "isRequired": true, "isSecret": true, "value": "Bearer {token}", "variables": {"token": {"isSecret": true}}}],
    "variables": {"tenant": {"default": "main", "choices": ["main", "test"], "format": "string"}}}]}`

func TestCardsAreRead(t *testing.T) {
	c, err := servercard.Parse([]byte(full))
	if err != nil {
		t.Fatal(err)
	}
	r := c.Remotes[0]
	if c.Name != "com.example/weather" || c.Title != "Weather" || *r.Variables["tenant"].Default != "main" || *r.Headers[0].Value != "Bearer {token}" || !r.Headers[0].Variables["token"].IsSecret {
		t.Errorf("read %+v", c)
	}
}

// Each invalid card is refused with the name of the member that is wrong.
func TestInvalidCardsAreRefused(t *testing.T) {
	for change, want := range map[string]string{
		`"$schema": "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json"→"x": ""`: "$schema must be",
		`schemas/v1→schemas/2025-11-25`:                                  "$schema must be",
		`com.example/weather→weather`:                                    "name must have the form",
		`com.example/weather→a/b/c`:                                      "name must have the form",
		`"name": "com.example/weather"→"Name": "com.example/weather"`:    "name must have the form",
		`"version": "1.2.0"→"version": "^1.2.0"`:                         "version must be one version",
		`"version": "1.2.0"→"version": "1.x"`:                            "version must be one version",
		`"version": "1.2.0"→"version": "latest"`:                         "version must be one version",
		`"version": "1.2.0"→"version": 1`:                                "version",
		`Forecasts→` + strings.Repeat("x", 101):                          "description must have 1 to 100",
		`"title": "Weather"→"title": "` + strings.Repeat("x", 101) + `"`: "title must have 1 to 100",
		`"type": "streamable-http"→"type": "stdio"`:                      "remotes[0].type must be",
		`https://{tenant}→ftp://{tenant}`:                                "remotes[0].url must start",
		`https://{tenant}.example.com→https://{tenant} .example.com`:     "remotes[0].url must start",
		`"name": "Authorization", →`:                                     "remotes[0].headers[0].name is missing",
		`"format": "string"→"format": "date"`:                            "remotes[0].variables.tenant.format must be",
		`"title": "Weather"→"name": "com.example/other"`:                 "duplicate",
		`"future": {"x": 1},→"future": {`:                                "read the server card",
	} {
		from, to, _ := strings.Cut(change, "→")
		if !strings.Contains(full, from) {
			t.Fatalf("%q is not in the card", from)
		}
		_, err := servercard.Parse([]byte(strings.Replace(full, from, to, 1)))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", change, err, want)
		}
	}
}

func TestCatalogs(t *testing.T) {
	c, err := servercard.ParseCatalog([]byte(`{"specVersion":"1.0","entries":[{"type":"application/other"},
		{"identifier":"urn:air:example.com:mcp:a","type":"application/mcp-server-card+json","url":"https://example.com/card"},
		{"identifier":"urn:air:example.com:mcp:b","type":"application/mcp-server-card+json","data":{"name":"x"}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if cards := c.Cards(); len(cards) != 2 || cards[0].URL != "https://example.com/card" || string(cards[1].Data) != `{"name":"x"}` {
		t.Errorf("cards are %+v", c.Cards())
	}
	for text, want := range map[string]string{
		`{"entries":[]}`: "specVersion is missing",
		`{"specVersion":"1.0","entries":[{"identifier":"a","type":"application/mcp-server-card+json"}]}`:                     "either url or data",
		`{"specVersion":"1.0","entries":[{"identifier":"a","type":"application/mcp-server-card+json","url":"x","data":{}}]}`: "either url or data",
		`{"specVersion":"1.0","entries":[{"type":"application/mcp-server-card+json","url":"x"}]}`:                            "identifier is missing",
	} {
		if _, err := servercard.ParseCatalog([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	for name, want := range map[string]string{"com.example/weather": "urn:air:example.com:mcp:weather", "io.github.user/x": "urn:air:user.github.io:mcp:x", "local/x": "urn:air:local:mcp:x"} {
		if got := (&servercard.Card{Name: name}).Entry("u"); got.Identifier != want || got.Type != servercard.CardType || got.URL != "u" {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func card() *servercard.Card {
	return &servercard.Card{Name: "com.example/weather", Version: "1.0.0", Description: "Forecasts <&>",
		Remotes: []servercard.Remote{{Type: servercard.StreamableHTTP, URL: "https://example.com/mcp"}}}
}

// What is published is what the package itself reads.
func TestPublishedCardIsValid(t *testing.T) {
	h, err := servercard.NewHandler(card())
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/mcp/server-card", nil))
	c, err := servercard.Parse(w.Body.Bytes())
	if err != nil || c.Description != "Forecasts <&>" || c.Schema != servercard.Schema {
		t.Errorf("%v: %s", err, w.Body)
	}
	for name, want := range map[string]string{"Content-Type": servercard.CardType, "Cache-Control": "public, max-age=3600", "Access-Control-Allow-Origin": "*", "Access-Control-Expose-Headers": "ETag"} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	var raw map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &raw); err != nil || len(raw) != 5 {
		t.Errorf("members that are not set are there: %s", w.Body)
	}
	for _, wrong := range []*servercard.Card{{}, {Name: "x", Version: "1", Description: "x"}, {Name: "a/b", Version: "1"}} {
		if _, err := servercard.NewHandler(wrong); err == nil {
			t.Errorf("%+v was published", wrong)
		}
	}
}

func TestPublishedDocumentsAreCached(t *testing.T) {
	h, err := servercard.NewCatalogHandler(&servercard.Catalog{Entries: []servercard.Entry{card().Entry("https://example.com/mcp/server-card")}})
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(h)
	defer s.Close()
	do := func(method string, header ...string) (*http.Response, string) {
		req, err := http.NewRequestWithContext(t.Context(), method, s.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(header); i += 2 {
			req.Header.Add(header[i], header[i+1])
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res, string(body)
	}
	res, body := do("GET")
	tag := res.Header.Get("ETag")
	if _, err := servercard.ParseCatalog([]byte(body)); err != nil || tag == "" || res.Header.Get("Content-Type") != servercard.CatalogType {
		t.Fatalf("%v, ETag %q: %s", err, tag, body)
	}
	for _, test := range []struct {
		method string
		header []string
		status int
		empty  bool
	}{
		{"HEAD", nil, 200, true},
		{"GET", []string{"If-None-Match", tag}, 304, true},
		{"GET", []string{"If-None-Match", `"x", W/` + tag}, 304, true},
		{"GET", []string{"If-None-Match", `"x"`, "If-None-Match", tag}, 304, true},
		{"GET", []string{"If-None-Match", "*"}, 304, true},
		{"GET", []string{"If-None-Match", `"x"`}, 200, false},
		{"OPTIONS", []string{"Origin", "https://a.example", "Access-Control-Request-Method", "GET", "Access-Control-Request-Headers", "if-none-match"}, 204, true},
		{"POST", nil, 405, false}, {"PUT", nil, 405, false}, {"DELETE", nil, 405, false},
	} {
		res, body := do(test.method, test.header...)
		if res.StatusCode != test.status || (body == "") != test.empty || res.Header.Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("%s %q: status %d, %d bytes", test.method, test.header, res.StatusCode, len(body))
		}
		if test.status < 400 && test.method != "OPTIONS" && res.Header.Get("ETag") != tag {
			t.Errorf("%s %q: ETag %q", test.method, test.header, res.Header.Get("ETag"))
		}
	}
}
