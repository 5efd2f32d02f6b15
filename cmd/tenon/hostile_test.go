package main

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/transport/streamable"
)

// evil is a text that would colour, blink, clear the screen, set the title,
// hide a link, ring, overwrite its own line and turn its direction.
const evil = "\x1b[5;95mE\x1b[2J\x1b]0;title\x07\x1b]8;;http://evil.example\x1b\\link\x1b]8;;\x1b\\ \u009b5m\a\b\rover\u202eleft\u2066 \U000e0041\x7f end"

// hostile answers everything with evil in every text.
func hostile(t *testing.T) string {
	t.Helper()
	raw, err := json.Marshal(evil)
	if err != nil {
		t.Fatal(err)
	}
	fill := func(body string) json.RawMessage {
		return json.RawMessage(strings.ReplaceAll(body, "EVIL", strings.Trim(string(raw), `"`)))
	}
	bodies := map[string]string{
		mcp.MethodDiscover:              `{"capabilities":{"tools":{},"resources":{"subscribe":true},"prompts":{},"completions":{},"experimental":{"EVIL":{"EVIL":"EVIL"}},"extensions":{"io.evil/EVIL":{"a":"EVIL"}}},"instructions":"# EVIL\n- EVIL\n> EVIL"}`,
		mcp.MethodToolsList:             `{"tools":[{"name":"ok","title":"EVIL","description":"EVIL. EVIL\n\nEVIL","inputSchema":{"type":"object","properties":{"EVIL":{"type":"string","description":"EVIL","enum":["EVIL"],"default":"EVIL","format":"EVIL"},"x":{"type":"object","properties":{"EVIL":{"$ref":"#/EVIL"}}}}},"annotations":{"title":"EVIL"}},{"name":"EVIL","description":"EVIL","inputSchema":{"type":"object"}}]}`,
		mcp.MethodResourcesList:         `{"resources":[{"uri":"x://EVIL","name":"EVIL","title":"EVIL","description":"EVIL","mimeType":"EVIL"}]}`,
		mcp.MethodResourceTemplatesList: `{"resourceTemplates":[{"uriTemplate":"x://EVIL/{a}","name":"EVIL","title":"EVIL","description":"EVIL"}]}`,
		mcp.MethodResourcesRead:         `{"contents":[{"uri":"x://EVIL","mimeType":"text/markdown","text":"# EVIL\n| EVIL | b |\n|---|---|\n| EVIL | EVIL |\n` + "```" + `\nEVIL\n` + "```" + `\n[EVIL](EVIL)"},{"uri":"x://EVIL","mimeType":"EVIL","text":"EVIL"},{"uri":"x://EVIL","mimeType":"application/json","text":"[{\"a\":1},{\"a\":2}]"},{"uri":"x://EVIL","mimeType":"EVIL","blob":"AAAA"}]}`,
		mcp.MethodPromptsList:           `{"prompts":[{"name":"EVIL","title":"EVIL","description":"EVIL","arguments":[{"name":"EVIL","description":"EVIL"}]}]}`,
		mcp.MethodPromptsGet:            `{"description":"EVIL","messages":[{"role":"user","content":{"type":"text","text":"EVIL"}},{"role":"assistant","content":{"type":"resource_link","uri":"x://EVIL","name":"EVIL","description":"EVIL"}}]}`,
		mcp.MethodComplete:              `{"completion":{"values":["EVIL","EVIL"],"hasMore":true}}`,
		mcp.MethodToolsCall:             `{"content":[{"type":"text","text":"**EVIL** EVIL"},{"type":"image","data":"AAAA","mimeType":"EVIL"},{"type":"resource_link","uri":"x://EVIL","name":"EVIL"},{"type":"resource","resource":{"uri":"x://EVIL","text":"EVIL"}}],"isError":true}`,
	}
	h := mcp.HandlerFunc(func(_ context.Context, c *mcp.Call) (mcp.Result, error) {
		switch body, ok := bodies[c.Method]; {
		case c.Method == mcp.MethodToolsCall && strings.Contains(string(c.Params), "rows"):
			return mcp.Result{Body: fill(`{"content":[],"structuredContent":{"rows":[{"EVIL":"EVIL","b":1},{"EVIL":"EVIL","b":2}]}}`)}, nil
		case c.Method == mcp.MethodToolsCall && strings.Contains(string(c.Params), "tree"):
			return mcp.Result{Body: fill(`{"content":[],"structuredContent":{"EVIL":{"EVIL":["EVIL","a\nEVIL"]}}}`)}, nil
		case c.Method == mcp.MethodToolsCall && strings.Contains(string(c.Params), "slow"):
			c.Notify(mcp.Notification{Method: mcp.NotificationProgress, Params: fill(`{"progress":1,"total":2,"message":"EVIL"}`)})
			return mcp.Result{Body: fill(`{"content":[{"type":"EVIL","x":"EVIL"}]}`)}, nil
		case c.Method == mcp.MethodToolsCall && strings.Contains(string(c.Params), "refuse"):
			return mcp.Result{}, mcp.Errorf(mcp.CodeInternal, "%s", evil).With(map[string]string{"x": evil})
		case ok:
			return mcp.Result{Body: fill(body), Server: &mcp.Implementation{Name: evil, Title: evil, Version: evil, Description: evil}}, nil
		}
		return mcp.Result{}, mcp.Errorf(mcp.CodeMethodNotFound, "%s", evil)
	})
	s, err := streamable.NewHandler(h, nil)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(s)
	t.Cleanup(func() { s.Shutdown(); web.Close() })
	return web.URL + streamable.Path
}

// ours are the styles that Tenon uses itself.
var ours = regexp.MustCompile("\x1b\\[(?:[0-4]|3[1-6])m")

// No text of a server gets to a terminal, or into a format for scripts, as
// anything but text. Content that is piped as text is what the server sent.
func TestHostileText(t *testing.T) {
	url := hostile(t)
	content := []string{"read", "prompt", "call"}
	for _, command := range [][]string{
		{"tools", url}, {"tools", url, "ok"}, {"resources", url}, {"prompts", url}, {"discover", url}, {"ping", url}, {"doctor", url},
		{"read", url, "x://a"}, {"prompt", url, "p"}, {"complete", url, "p", "a=b"}, {"raw", url, "tools/list"},
		{"call", url, "ok"}, {"call", url, "ok", "x.rows=1"}, {"call", url, "ok", "x.tree=1"}, {"call", url, "ok", "x.slow=1"},
		{"call", url, "ok", "x.refuse=1"}, {"call", url, "nope"}, {"listen", url}, {"tools", url, "--trace"}, {"call", url, "ok", "x.refuse=1", "--trace"},
	} {
		for _, format := range []string{"text", "json", "jsonl", "yaml"} {
			for _, color := range []string{"never", "always"} {
				code, out, errs := tenon(t, append(command, "--format", format, "--color", color)...)
				if out == "" && errs == "" {
					t.Errorf("%q wrote nothing, exit code %d", command, code)
				}
				if format == "text" && color == "never" && slices.Contains(content, command[0]) {
					out = ""
				}
				for name, text := range map[string]string{"output": out, "error": errs} {
					if color == "always" {
						text = ours.ReplaceAllString(text, "")
					}
					if i := strings.IndexFunc(text, unsafe); i >= 0 {
						t.Fatalf("%s (%s, colour %s), standard %s: something that is no text passed: %q", command[0], format, color, name, text[max(0, i-40):min(len(text), i+20)])
					}
				}
			}
		}
	}
}

func unsafe(r rune) bool {
	switch {
	case r == '\n':
		return false
	case r < 0x20, r >= 0x7f && r < 0xa0, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r >= 0xe0000 && r <= 0xe0fff:
		return true
	}
	return false
}

// What was escaped for a script is still the same text.
func TestHostileTextSurvivesInJSON(t *testing.T) {
	_, out, _ := tenon(t, "tools", hostile(t), "--format", "json")
	var got struct{ Tools []struct{ Title string } }
	if err := json.Unmarshal([]byte(out), &got); err != nil || len(got.Tools) == 0 || got.Tools[0].Title != evil {
		t.Errorf("%v: %.200s", err, out)
	}
}
