package config

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestImport(t *testing.T) {
	one := func(name string) string { return `{"mcpServers": {"` + name + `": {"command": "x"}}}` }
	for _, c := range []struct {
		app, system string
		files       map[string]string // below HOME or PROJECT
		want        string
	}{
		{"claude-desktop", "darwin", map[string]string{"HOME/Library/Application Support/Claude/claude_desktop_config.json": one("a")}, "a"},
		{"claude-desktop", "windows", map[string]string{"HOME/AppData/Roaming/Claude/claude_desktop_config.json": one("a")}, "a"},
		{"claude-desktop", "linux", map[string]string{"HOME/.config/Claude/claude_desktop_config.json": one("a")}, "a"},
		{"claude-code", "linux", map[string]string{"HOME/.claude.json": `{"numStartups": 5, "mcpServers": {"a": {"command": "x"}}, "projects": {"PROJECT": {"mcpServers": {"b": {"type": "http", "url": "https://h/"}}}, "/other": {"mcpServers": {"c": {"command": "x"}}}}}`}, "a b"},
		{"vscode", "linux", map[string]string{
			"HOME/.config/Code/User/mcp.json":               "{\n// mine\n\"inputs\": [{\"id\": \"k\", \"password\": true},], \"servers\": {\"a\": {\"command\": \"x\", \"env\": {\"K\": \"${input:k}\"},},},}",
			"HOME/.config/Code/User/settings.json":          `{"editor.x": 1, "mcp": {"servers": {"b": {"command": "x"}}}}`,
			"HOME/.config/Code/User/profiles/1234/mcp.json": `{"servers": {"c": {"command": "x"}}}`,
			"HOME/.config/Code - Insiders/User/mcp.json":    `{"servers": {"d": {"command": "x"}, "a": {"command": "again"}}}`,
			"PROJECT/.vscode/mcp.json":                      `{"servers": {"e": {"url": "https://h/"}}}`,
		}, "a b c d e(project)"},
		{"vscode", "darwin", map[string]string{"HOME/Library/Application Support/Code/User/mcp.json": `{"servers": {"a": {"command": "x"}}}`}, "a"},
		{"cursor", "windows", map[string]string{"HOME/.cursor/mcp.json": one("a"), "PROJECT/.cursor/mcp.json": one("b")}, "a b(project)"},
	} {
		t.Run(c.app+" "+c.system, func(t *testing.T) {
			w := newWorld(t)
			places := strings.NewReplacer("HOME", w.o.Home, "PROJECT", w.o.Dir)
			for file, text := range c.files {
				w.write(filepath.FromSlash(places.Replace(file)), places.Replace(text))
			}
			entries, warnings, err := importFrom(c.app, &w.o, c.system)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, e := range entries {
				name := e.Name
				if e.Source.Project {
					name += "(project)"
				}
				got = append(got, name)
				if err := Add(w.userFile(), e.Name, e); err != nil {
					t.Error(err)
				}
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("got %v, want %s; warnings %q", got, c.want, warnings)
			}
			if again := slices.ContainsFunc(warnings, func(s string) bool { return strings.Contains(s, "with this name was imported before") }); again != (c.want == "a b c d e(project)") {
				t.Errorf("warnings %q", warnings)
			}
			for _, e := range w.load().Entries() {
				if e.Err != nil || e.Name == "a" && c.want == "a b c d e(project)" && (len(e.Inputs) != 1 || !e.Inputs[0].Password) {
					t.Errorf("after import: %+v", e)
				}
			}
		})
	}
}

func TestImportSaysWhatItCannot(t *testing.T) {
	w := newWorld(t)
	_, _, err := Import("cursr", &w.o)
	wantError(t, err, "claude-desktop, claude-code, vscode, cursor", `did you mean "cursor"?`)
	_, _, err = Import("cursor", &w.o)
	wantError(t, err, "none of its files exists: "+filepath.Join(w.o.Home, ".cursor", "mcp.json"))

	file := filepath.Join(w.o.Home, ".cursor", "mcp.json")
	w.write(file, `{"mcpServers": {"bad": {}, "odd": {"command": "x", "args": ["${command:y}"], "autoApprove": []}}}`)
	entries, warnings, err := Import("cursor", &w.o)
	if err != nil || len(entries) != 1 || entries[0].Name != "odd" {
		t.Fatalf("%+v %v", entries, err)
	}
	all := strings.Join(warnings, "\n")
	for _, want := range []string{"mcp.json:1:", "must have command", "odd (" + file + `): "autoApprove"`, "args[0] has unknown variable ${command:y}"} {
		if !strings.Contains(all, want) {
			t.Errorf("warnings %q lack %q", all, want)
		}
	}
	w.write(file, "{")
	_, _, err = Import("cursor", &w.o)
	wantError(t, err, "import from cursor", "mcp.json:1:", "invalid JSON")
}
