package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The commands for files that describe an API: check reports all mistakes, test
// runs the cases, call uses the file as a server.
func TestAPIFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte("tenon: api/1\nname: x\napi: {base: https://api.example.com}\n"+text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	good := write("good.yaml", "tools: {get: {description: d, params: {id: {type: string, required: true}}, request: 'GET /{id}'}}\ntests:\n- {name: gets, tool: get, args: {id: a}, answers: [{request: GET /a, body: {n: 1}}], expect: {result: {n: 1}}}\n")
	bad := write("bad.yaml", "tools: {get: {description: d, request: 'GET /{id}', output: {jq: '.['}}}\n")
	wrong := write("wrong.yaml", "tools: {get: {description: d, request: GET /a}}\ntests:\n- {name: gets, tool: get, answers: [{request: GET /b, body: {n: 1}}], expect: {result: {n: 2}}}\n")
	none := write("none-yet.yaml", "tools: {get: {description: d, request: GET /a}}\n")
	for _, c := range []struct {
		line string
		code int
		want []string
	}{
		{line: "api check " + good, want: []string{"" + good + ": ok: 1 tool ("}},
		{line: "api check " + bad + " " + good, code: exitTool, want: []string{"" + bad + ":4:40: tools.get.request.path: there is no parameter \"id\"", "tools.get.output.jq: invalid jq", "good.yaml: ok"}},
		{line: "api check github", want: []string{"github: ok: "}},
		{line: "api check " + filepath.Join(dir, "none.yaml"), code: exitUsage},
		{line: "api test " + good, want: []string{"ok    gets\n1 passed, 0 failed, 0 skipped"}},
		{line: "api test " + wrong, code: exitTool, want: []string{"FAIL  gets", "expected the request GET /b, got GET /a", `expected the result {"n":2}, got {"n":1}`}},
		{line: "api test " + none, want: []string{"The file has no cases. Put them below tests.\n", "0 passed"}},
		{line: "api test --run nothing " + good, want: []string{"No case has \"nothing\" in its name.\n"}},
		{line: "api test orders", want: []string{", 0 failed"}},
		{line: "api call " + good + " get id=..", code: exitTool, want: []string{"which is refused"}},
		{line: "tools builtin:api?file=" + good, want: []string{"get"}},
	} {
		var o, e bytes.Buffer
		t.Setenv("TENON_CONFIG_DIR", t.TempDir())
		code := run(t.Context(), strings.Fields(c.line), strings.NewReader(""), &o, &e)
		out, stderr := o.String(), e.String()
		if code != c.code {
			t.Errorf("%s: exit code %d\n%s%s", c.line, code, out, stderr)
		}
		for _, want := range c.want {
			if !strings.Contains(out+stderr, want) {
				t.Errorf("%s: no %q in\n%s%s", c.line, want, out, stderr)
			}
		}
	}
}
