package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// scripted writes a script of a model and returns its name for --model.
func scripted(t *testing.T, lines ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "script.jsonl")
	text := `{"script":1,"model":{"provider":"script","name":"demo"}}` + "\n" + strings.Join(lines, "\n") + "\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return "script:" + file
}

// H18: the person says when the model searches for tools, on the command line or
// in tenon.json.
func TestToolSearchIsASetting(t *testing.T) {
	model := scripted(t,
		`{"when":{"role":"user","tools":["search_tools","call_tool"],"absent":["calc__add"]}}`, `{"call":{"name":"search_tools","arguments":{"query":"add two numbers"}}}`, `{"done":""}`,
		`{"when":{"role":"tool","has":"inputSchema","tools":["search_tools"]}}`, `{"call":{"name":"call_tool","arguments":{"name":"calc__add","arguments":{"a":40,"b":2}}}}`, `{"done":""}`,
		`{"when":{"role":"user","tools":["calc__add"],"absent":["search_tools"]}}`, `{"call":{"name":"calc__add","arguments":{"a":40,"b":2}}}`, `{"done":""}`,
		`{"when":{"role":"tool","has":"42","tools":["search_tools"]}}`, `{"text":"searched"}`, `{"done":""}`,
		`{"when":{"role":"tool","has":"42","tools":["calc__add"]}}`, `{"text":"given"}`, `{"done":""}`)
	for _, tt := range []struct{ config, flag, want string }{
		{"", "", "given"},
		{"", "auto", "given"},
		{"", "always", "searched"},
		{"", "10", "searched"},
		{"", "100000", "given"},
		{`{"toolSearch":"always"}`, "", "searched"},
		{`{"toolSearch":10}`, "", "searched"},
		{`{"toolSearch":"always"}`, "never", "given"},
	} {
		cmd := binary(t, "run", "add", "-q", "--model", model, "-s", "builtin:calc", "--allow", "calc")
		if tt.flag != "" {
			cmd.Args = append(cmd.Args, "--tool-search", tt.flag)
		}
		if tt.config != "" {
			if err := os.MkdirAll(filepath.Join(cmd.Dir, "config"), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(cmd.Dir, "config", "tenon.json"), []byte(tt.config), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if code, out, errs := output(t, cmd); code != 0 || strings.TrimSpace(out) != tt.want {
			t.Errorf("%s --tool-search %s: exit code %d, %q, want %q\n%s", tt.config, tt.flag, code, out, tt.want, errs)
		}
	}
	if code, _, errs := tenon(t, "run", "x", "--model", "none", "--tool-search", "sometimes"); code != exitUsage || !strings.Contains(errs, `--tool-search must be "auto", "always", "never" or a number of tokens, not "sometimes"`) {
		t.Errorf("exit code %d: %s", code, errs)
	}
}

// H3: calls of one answer that depend on each other run in its order, on real
// files.
func TestCallsOfOneAnswerBuildOnEachOther(t *testing.T) {
	model := scripted(t,
		`{"expect":{"role":"user"}}`,
		`{"call":{"name":"fs__create_directory","arguments":{"path":"a/b"}}}`,
		`{"call":{"name":"fs__write_file","arguments":{"path":"a/b/c.txt","content":"one two three\n"}}}`,
		`{"call":{"name":"fs__edit_file","arguments":{"path":"a/b/c.txt","edits":[{"oldText":"two","newText":"2"}]}}}`,
		`{"call":{"name":"fs__read_text_file","arguments":{"path":"a/b/c.txt"}}}`,
		`{"done":""}`,
		`{"expect":{"role":"tool","has":"one 2 three"}}`, `{"text":"done"}`, `{"done":""}`)
	for i := range 10 {
		root := t.TempDir()
		cmd := binary(t, "run", "make it", "-q", "--model", model, "-s", "builtin:fs?root="+root, "--allow", "fs")
		code, out, errs := output(t, cmd)
		got, err := os.ReadFile(filepath.Join(root, "a", "b", "c.txt"))
		if code != 0 || strings.TrimSpace(out) != "done" || string(got) != "one 2 three\n" {
			t.Fatalf("run %d: exit code %d, %q %s; the file is %q, %v", i, code, out, errs, got, err)
		}
	}
}
