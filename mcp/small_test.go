package mcp_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/mcp"
)

// O22: an icon is fetched over https or is data, and nothing else.
func TestIconCheck(t *testing.T) {
	for src, want := range map[string]string{
		"https://example.com/i.png":         "",
		"HTTPS://example.com/i.png":         "",
		"data:image/png;base64,AAAA":        "",
		"http://example.com/i.png":          `uses the scheme "http"`,
		"javascript:alert(1)":               `uses the scheme "javascript"`,
		"file:///etc/passwd":                `uses the scheme "file"`,
		"ftp://x/y":                         "only https and data",
		"ws://x/y":                          "only https and data",
		" https://example.com":              "only https and data",
		"data:text/html,<script>":           "without an image",
		"https://user:secret@example.com/i": "contains a user name",
		"https:///i.png":                    "has no host",
		"i.png":                             "has no scheme",
		"https://exa mple.com/i":            "is not a URI",
		"x:" + strings.Repeat("y", 1<<20):   "only https and data",
	} {
		err := mcp.Icon{Src: src}.Check()
		switch {
		case want == "" && err != nil:
			t.Errorf("%.40s: %v", src, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%.40s: error %v does not say %q", src, err, want)
		case err != nil && (len(err.Error()) > 300 || strings.Contains(err.Error(), "secret")):
			t.Errorf("%.40s: the error shows too much: %.400v", src, err)
		}
	}
}

// O36: a root is a path on this machine that does not climb.
func TestRootCheck(t *testing.T) {
	for uri, good := range map[string]bool{
		"file:///home/me": true, "file:///C:/x": true, "file://localhost/x": true, "file:///a..b": true,
		"file://host/share": false, "file:///../../etc": false, "file:///a/%2e%2e/b": false, "http://x": false, `file:///a\..\b`: false,
		"": false, "/home/me": false, "https://x/y": false, "file:/x": false, "file://": false, "file://%zz": false,
	} {
		if err := (mcp.Root{URI: uri}).Check(); (err == nil) != good {
			t.Errorf("%q: %v", uri, err)
		}
	}
}

func TestLogLevels(t *testing.T) {
	levels := []mcp.LogLevel{mcp.LogDebug, mcp.LogInfo, mcp.LogNotice, mcp.LogWarning, mcp.LogError, mcp.LogCritical, mcp.LogAlert, mcp.LogEmergency}
	for i, l := range levels {
		for j, least := range levels {
			if got := l.AtLeast(least); got != (i >= j) {
				t.Errorf("%s at least %s: %v", l, least, got)
			}
		}
		if l.AtLeast("") || l.AtLeast("loud") || mcp.LogLevel("loud").AtLeast(l) {
			t.Errorf("%s is compared with what is no level", l)
		}
		if got, err := mcp.ParseLogLevel(string(l)); got != l || err != nil {
			t.Errorf("%s: %s %v", l, got, err)
		}
	}
	for _, s := range []string{"", "loud", "Info"} {
		if _, err := mcp.ParseLogLevel(s); err == nil || !strings.Contains(err.Error(), "[debug info notice") {
			t.Errorf("%q: %v", s, err)
		}
	}
}

func TestFilter(t *testing.T) {
	all := mcp.SubscriptionFilter{ToolsListChanged: true, PromptsListChanged: true, ResourcesListChanged: true, ResourceSubscriptions: []string{"a", "b"}, Other: map[string]json.RawMessage{"taskIds": nil}}
	parts := []mcp.SubscriptionFilter{
		{ToolsListChanged: true}, {PromptsListChanged: true}, {ResourcesListChanged: true},
		{ResourceSubscriptions: []string{"b"}}, {Other: map[string]json.RawMessage{"taskIds": nil}},
	}
	none := mcp.SubscriptionFilter{ResourceSubscriptions: []string{}}
	if !none.Empty() || all.Empty() || !all.Covers(&none) || !all.Covers(&all) {
		t.Error("all or nothing")
	}
	for i := range parts {
		if parts[i].Empty() || !all.Covers(&parts[i]) || none.Covers(&parts[i]) || parts[i].Covers(&all) {
			t.Errorf("part %d", i)
		}
		for j := range parts {
			if parts[i].Covers(&parts[j]) != (i == j) {
				t.Errorf("part %d covers part %d", i, j)
			}
		}
	}
	notes := []mcp.Notification{
		{Method: mcp.NotificationToolsListChanged}, {Method: mcp.NotificationPromptsListChanged}, {Method: mcp.NotificationResourcesListChanged},
		{Method: mcp.NotificationResourceUpdated, Params: json.RawMessage(`{"uri":"b"}`)},
	}
	for j, n := range notes {
		for i := range parts {
			if parts[i].Wants(n) != (i == j) {
				t.Errorf("part %d wants %s: %v", i, n.Method, i != j)
			}
		}
	}
	for _, n := range []mcp.Notification{{Method: mcp.NotificationProgress}, {Method: mcp.NotificationResourceUpdated}, {Method: mcp.NotificationResourceUpdated, Params: json.RawMessage(`{"uri":"c"}`)}} {
		if all.Wants(n) {
			t.Errorf("wants %s %s", n.Method, n.Params)
		}
	}
}

func TestDisplayNames(t *testing.T) {
	var nobody *mcp.Implementation
	for got, want := range map[string]string{
		nobody.DisplayName() + "-":                                 "-",
		(&mcp.Implementation{Name: "i"}).DisplayName():             "i",
		(&mcp.Implementation{Name: "i", Title: "I"}).DisplayName(): "I",
		(&mcp.Resource{Name: "r", Title: "R"}).DisplayName():       "R",
		(&mcp.ResourceTemplate{Name: "t"}).DisplayName():           "t",
		(&mcp.Prompt{Name: "p", Title: "P"}).DisplayName():         "P",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
