package config

import (
	"errors"
	"strings"
	"testing"
)

func TestPaste(t *testing.T) {
	for name, test := range map[string]struct{ text, want, fails string }{
		"mcpServers":      {`{"mcpServers": {"a": {"command": "x", "args": ["1"]}, "b": {"url": "https://b.example/mcp"}}}`, "a: x 1 | b: https://b.example/mcp", ""},
		"VS Code":         {`{"servers": {"a": {"type": "stdio", "command": "x"}}, "inputs": []}`, "a: x", ""},
		"VS Code setting": {`{"mcp": {"servers": {"a": {"command": "x"}}}}`, "a: x", ""},
		"by name":         {`{"a": {"command": "x"}, "note": "hello"}`, "a: x", ""},
		"a part":          {"\"a\": {\n  \"command\": \"x\", // run it\n  \"args\": [\"y\",],\n},", "a: x y", ""},
		"one entry":       {`{"command": "npx", "args": ["-y", "thing"]}`, ": npx -y thing", ""},
		"a broken entry":  {`{"mcpServers": {"a": {"command": "x", "url": "https://b.example"}, "b": {"command": "y"}}}`, "a: ! | b: y", ""},
		"no servers":      {`{"name": "x"}`, "", "expected \"mcpServers\""},
		"a list":          {`[1]`, "", "must be an object"},
		"broken":          {`{"mcpServers": {`, "", "the pasted text"},
		"empty":           {"", "", "found no servers"},
	} {
		entries, _, err := Paste(test.text)
		var got []string
		for _, e := range entries {
			line := e.Name + ": " + e.CommandLine()
			if e.Err != nil {
				line = e.Name + ": !"
			}
			got = append(got, line)
		}
		if all := strings.Join(got, " | "); all != test.want {
			t.Errorf("%s: %s, want %s", name, all, test.want)
		}
		if (err == nil) != (test.fails == "") || err != nil && !strings.Contains(err.Error(), test.fails) {
			t.Errorf("%s: %v, want %q", name, err, test.fails)
		}
	}
	if _, _, err := Paste(`{"packages": []}`); !errors.Is(err, ErrNotEntries) {
		t.Error(err)
	}
}
