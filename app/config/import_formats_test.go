package config

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// The files have the forms that the documentation of each program shows.
func TestImportFormats(t *testing.T) {
	for _, c := range []struct {
		app, system, file, text string
		want                    map[string]string // name, entry as JSON
		warn                    []string
	}{
		{"codex", "linux", "HOME/.codex/config.toml", `
model = "gpt-5.4"
[mcp_servers.docs]
command = "npx"
args = ["-y", "docs@1", "${literal}"]
env = { A = "1" }
env_vars = ["LOCAL_TOKEN", { name = "OTHER", source = "remote" }]
cwd = "/tmp"
startup_timeout_sec = 20
tool_timeout_sec = 45.5
disabled_tools = ["rm"]
[mcp_servers.figma]
url = "https://mcp.example/mcp"
bearer_token_env_var = "FIGMA_TOKEN"
http_headers = { "X-Region" = "eu" }
env_http_headers = { "X-Key" = "FIGMA_KEY" }
enabled = false
scopes = ["files:read"]
[mcp_servers.broken]
args = []
`, map[string]string{
			"docs":  `{"command": "npx", "args": ["-y", "docs@1", "$${literal}"], "env": {"A": "1", "LOCAL_TOKEN": "${LOCAL_TOKEN}", "OTHER": "${OTHER}"}, "cwd": "/tmp", "timeout": "45.5s"}`,
			"figma": `{"type": "http", "url": "https://mcp.example/mcp", "headers": {"Authorization": "Bearer ${FIGMA_TOKEN}", "X-Key": "${FIGMA_KEY}", "X-Region": "eu"}, "oauth": {"scopes": ["files:read"]}, "disabled": true}`,
		}, []string{`docs (HOME/.codex/config.toml): "disabled_tools" is ignored`, "config.toml: mcp_servers.broken must have command"}},
		{"codex", "windows", "PROJECT/.codex/config.toml", "[mcp_servers.a]\ncommand = \"x\"\n", map[string]string{"a": `{"command": "x"}`}, nil},
		{"gemini", "linux", "HOME/.gemini/settings.json", `{
  // comments are allowed
  "theme": "x",
  "mcpServers": {
    "local": {"command": "node", "args": ["s.js", "--key=$KEY"], "env": {"K": "${KEY}"}, "timeout": 15000, "trust": true, "includeTools": ["a"]},
    "stream": {"httpUrl": "https://h/mcp", "headers": {"Authorization": "Bearer $TOKEN"}, "oauth": {"enabled": true, "clientId": "me"}},
    "events": {"url": "https://h/sse", "authProviderType": "google_credentials"},
    "typed": {"url": "https://h/mcp", "type": "http"}
  }}`, map[string]string{
			"local":  `{"command": "node", "args": ["s.js", "--key=${KEY}"], "env": {"K": "${KEY}"}, "timeout": "15s"}`,
			"stream": `{"type": "http", "url": "https://h/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}, "oauth": {"clientId": "me"}}`,
			"events": `{"type": "sse", "url": "https://h/sse"}`,
			"typed":  `{"type": "http", "url": "https://h/mcp"}`,
		}, []string{`"trust" is ignored`, `"includeTools" is ignored`, `"google_credentials" is not supported`}},
		{"opencode", "darwin", "HOME/.config/opencode/opencode.jsonc", `{"$schema": "x", "mcp": {
    "local": {"type": "local", "command": ["bun", "x", "s"], "environment": {"K": "{env:KEY}", "L": "${as is}"}, "enabled": false, "timeout": 5000},
    "far": {"type": "remote", "url": "https://h/", "headers": {"Authorization": "Bearer {file:~/.key}"}, "oauth": false}, // last
  }}`, map[string]string{
			"local": `{"command": "bun", "args": ["x", "s"], "env": {"K": "${KEY}", "L": "$${as is}"}, "timeout": "5s", "disabled": true}`,
			"far":   `{"type": "http", "url": "https://h/", "headers": {"Authorization": "Bearer {file:~/.key}"}}`,
		}, []string{"{file:~/.key} is not supported"}},
		{"goose", "linux", "HOME/.config/goose/config.yaml", `
GOOSE_PROVIDER: anthropic
extensions:
  developer:
    bundled: true
    enabled: true
    type: builtin
    name: developer
  fetch:
    enabled: true
    type: stdio
    name: Fetch
    cmd: uvx
    args: [mcp-server-fetch]
    envs: {A: "${b}"}
    env_keys: [FETCH_KEY]
    timeout: 300
    available_tools: []
  old:
    enabled: false
    config:
      type: stdio
      cmd: x
  far:
    type: streamable_http
    uri: https://h/mcp
    headers: {Authorization: "Bearer ${TOKEN}"}
    env_keys: [TOKEN]
`, map[string]string{
			"fetch": `{"command": "uvx", "args": ["mcp-server-fetch"], "env": {"A": "$${b}", "FETCH_KEY": "${FETCH_KEY}"}, "timeout": "5m0s"}`,
			"old":   `{"command": "x", "disabled": true}`,
			"far":   `{"type": "http", "url": "https://h/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}}`,
		}, []string{`extensions.developer cannot be imported: extensions of type "builtin" run only in goose`, "keeps FETCH_KEY in its keyring", "keeps TOKEN in its keyring"}},
		{"goose", "windows", "HOME/AppData/Roaming/Block/goose/config/config.yaml", "extensions: {a: {type: stdio, cmd: x}}", map[string]string{"a": `{"command": "x"}`}, nil},
		{"windsurf", "linux", "HOME/.codeium/windsurf/mcp_config.json", `{"mcpServers": {
    "far": {"serverUrl": "https://h/mcp", "headers": {"Authorization": "Bearer ${env:KEY}"}},
    "local": {"command": "npx", "args": ["x"], "disabled": true, "disabledTools": ["y"]}}}`, map[string]string{
			"far":   `{"type": "http", "url": "https://h/mcp", "headers": {"Authorization": "Bearer ${env:KEY}"}}`,
			"local": `{"command": "npx", "args": ["x"], "disabled": true}`,
		}, []string{`"disabledTools" is ignored`}},
		{"zed", "linux", "HOME/.config/zed/settings.json", `{"theme": "One", "context_servers": {
    "new": {"source": "custom", "enabled": true, "command": "npx", "args": ["x", "${y}"], "env": {}},
    "old": {"command": {"path": "uvx", "args": ["z"], "env": {"A": "1"}}, "settings": {}},
    "far": {"url": "https://h/mcp", "headers": {"Authorization": "Bearer t"}},
    "mcp-server-github": {"source": "extension", "enabled": true, "settings": {"key": "k"}},
  }}`, map[string]string{
			"new": `{"command": "npx", "args": ["x", "$${y}"]}`,
			"old": `{"command": "uvx", "args": ["z"], "env": {"A": "1"}}`,
			"far": `{"type": "http", "url": "https://h/mcp", "headers": {"Authorization": "Bearer t"}}`,
		}, []string{"settings.json:5:", "mcp-server-github cannot be imported: it is an extension of Zed"}},
		{"zed", "windows", "HOME/AppData/Roaming/Zed/settings.json", `{"context_servers": {"a": {"command": "x"}}}`, map[string]string{"a": `{"command": "x"}`}, nil},
	} {
		t.Run(c.app+" "+c.system, func(t *testing.T) {
			w := newWorld(t)
			places := strings.NewReplacer("HOME", w.o.Home, "PROJECT", w.o.Dir)
			w.write(filepath.FromSlash(places.Replace(c.file)), c.text)
			entries, warnings, err := importFrom(c.app, &w.o, c.system)
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]any{}
			for _, e := range entries {
				got[e.Name] = parsed(t, e.JSON())
				if e.Source.Project != strings.HasPrefix(c.file, "PROJECT") {
					t.Errorf("%s: project %v", e.Name, e.Source.Project)
				}
				if err := Add(w.userFile(), e.Name, e); err != nil {
					t.Error(err)
				}
			}
			want := map[string]any{}
			for name, text := range c.want {
				want[name] = parsed(t, text)
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got %v\nwant %v", got, want)
			}
			for _, e := range w.load().Entries() {
				if e.Err != nil {
					t.Error(e.Err)
				}
			}
			all := strings.Join(warnings, "\n")
			for _, s := range c.warn {
				if !strings.Contains(all, places.Replace(s)) {
					t.Errorf("warnings %q lack %q", all, s)
				}
			}
			if len(warnings) != len(c.warn) && c.app != "zed" { // whose warning has two parts
				t.Errorf("warnings %q", all)
			}
		})
	}
}

func parsed(t *testing.T, text string) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

// Files that are broken, or made to break a parser, are refused with a reason.
func TestImportFormatsRefuse(t *testing.T) {
	for _, c := range []struct{ app, file, text, want string }{
		{"codex", ".codex/config.toml", "[mcp_servers.a]\ncommand = \n", "config.toml:2:"},
		{"codex", ".codex/config.toml", "mcp_servers = 5\n", "must be an object"},
		{"codex", ".codex/config.toml", "a = " + strings.Repeat("[", 100_000), "more than 2000 brackets"},
		{"codex", ".codex/config.toml", "# " + strings.Repeat("x", 300_000), "is larger than"},
		{"goose", ".config/goose/config.yaml", "extensions: [a\n", "config.yaml: invalid YAML"},
		{"goose", ".config/goose/config.yaml", "a: &a [x, x]\nb: [*a, *a]\n", "has YAML aliases"},
		{"goose", ".config/goose/config.yaml", "- a\n- b\n", "invalid YAML"},
		{"goose", ".config/goose/config.yaml", "a: " + strings.Repeat("{a: ", 10_000), "more than 2000 brackets"},
		{"opencode", ".config/opencode/opencode.json", `{"mcp": []}`, "opencode.json:1:9: mcp must be an object"},
	} {
		w := newWorld(t)
		w.write(filepath.Join(w.o.Home, filepath.FromSlash(c.file)), c.text)
		if _, _, err := importFrom(c.app, &w.o, "linux"); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %.40q: got %v, want %q", c.app, c.text, err, c.want)
		}
	}
	w := newWorld(t)
	file := filepath.Join(w.o.Home, ".codex", "config.toml")
	w.write(file, "\ufeff")
	if list, warnings, err := importFrom("codex", &w.o, "linux"); err != nil || len(list)+len(warnings) > 0 {
		t.Errorf("an empty file: %v %v %v", list, warnings, err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
}
