package config

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// Each file of another program is imported or refused, in every format; what is
// imported can be written to tenon.json and read again as the same entry.
func FuzzImport(f *testing.F) {
	for app, text := range map[string]string{
		"codex":    "[mcp_servers.a]\ncommand = \"x\"\nargs = [\"${b}\"]\nenv_vars = [\"T\", { name = \"O\" }]\nstartup_timeout_sec = 2.5\n",
		"gemini":   `{"mcpServers": {"a": {"httpUrl": "https://h/mcp", "headers": {"A": "Bearer $T"}, "timeout": 1e3}}} // c`,
		"opencode": `{"mcp": {"a": {"type": "local", "command": ["bun", "x"], "environment": {"K": "{env:KEY}"}, "enabled": false}}}`,
		"goose":    "extensions:\n  a: {type: stdio, cmd: x, args: [1, y], env_keys: [K], envs: {A: b}}\n",
		"windsurf": `{"mcpServers": {"a": {"serverUrl": "https://h/mcp", "headers": {"K": "${env:KEY}"}}}}`,
		"zed":      `{"context_servers": {"a": {"source": "custom", "command": {"path": "x", "args": []}}}}`,
		"cursor":   `{"mcpServers": {"a": {"command": "x", "env": {"K": "${env:KEY}"}}}}`,
	} {
		f.Add(app, []byte(text))
	}
	dir := f.TempDir()
	o := Options{Dir: filepath.Join(dir, "project"), UserDir: filepath.Join(dir, "user"), Home: filepath.Join(dir, "home"), Getenv: func(string) (string, bool) { return "", false }}
	if err := os.MkdirAll(o.UserDir, 0o700); err != nil {
		f.Fatal(err)
	}
	if err := o.fill(); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, app string, text []byte) {
		if !slices.Contains(Apps, app) {
			return
		}
		p := o.places(app, "linux")[0]
		p.file = filepath.Join(dir, "foreign-"+filepath.Base(p.file))
		if err := os.WriteFile(p.file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		list, err := p.read()
		if err != nil {
			return
		}
		user := filepath.Join(o.UserDir, "tenon.json")
		for _, e := range list {
			if e.Err != nil {
				continue
			}
			_ = e.problems("x") // must not panic
			_ = os.Remove(user)
			if err := Add(user, e.Name, e); err != nil {
				continue // its name may not be one of Tenon's
			}
			c, err := Load(&o)
			if err != nil {
				t.Fatalf("%s wrote an entry that cannot be read: %v", app, err)
			}
			for _, again := range c.Entries() {
				if again.Err != nil {
					t.Fatalf("%s: %s was imported as %s, which is not valid: %v", app, text, e.JSON(), again.Err)
				}
				if again.JSON() != e.JSON() {
					t.Fatalf("%s: %s was imported as %s and read again as %s", app, text, e.JSON(), again.JSON())
				}
			}
		}
	})
}
