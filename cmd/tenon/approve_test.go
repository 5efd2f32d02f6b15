package main

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// A project is a folder with a .mcp.json, and a person's own configuration.
type project struct {
	t         *testing.T
	dir, user string
}

func newProject(t *testing.T, config string) *project {
	t.Helper()
	p := &project{t, t.TempDir(), t.TempDir()}
	write(t, filepath.Join(p.dir, ".mcp.json"), config)
	return p
}

func (p *project) tenon(args ...string) (code int, out, errs string) {
	p.t.Helper()
	var o, e bytes.Buffer
	args = append([]string{"--project", p.dir, "--config-dir", p.user}, args...)
	code = run(p.t.Context(), args, strings.NewReader(""), &o, &e)
	return code, o.String(), e.String()
}

// What came with a project is not started before the person has approved it,
// and --yes still shows it.
func TestProjectServersAreApprovedFirst(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the programs of this test are those of Unix")
	}
	p := newProject(t, `{"mcpServers": {"x": {"command": "touch", "args": ["ran"], "env": {"A": "1"}}}}`)
	code, _, errs := p.tenon("tools", "x")
	if code != exitUsage || !strings.Contains(errs, "A=1 touch ran") || !strings.Contains(errs, "not approved") {
		t.Errorf("exit code %d: %s", code, errs)
	}
	if _, err := os.Stat(filepath.Join(p.dir, "ran")); err == nil {
		t.Fatal("it ran without an approval")
	}
	code, _, errs = p.tenon("tools", "x", "--yes")
	if code != exitConnection || !strings.Contains(errs, "A=1 touch ran") {
		t.Errorf("with --yes: exit code %d: %s", code, errs)
	}
	if _, err := os.Stat(filepath.Join(p.dir, "ran")); err != nil {
		t.Error("it did not run, or not in the project's folder")
	}
	if _, _, errs = p.tenon("tools", "x"); strings.Contains(errs, "wants to use") {
		t.Errorf("asked again about what was approved: %s", errs)
	}
	write(t, filepath.Join(p.dir, ".mcp.json"), `{"mcpServers": {"x": {"command": "touch", "args": ["other"]}}}`)
	if code, _, errs = p.tenon("tools", "x"); code != exitUsage || !strings.Contains(errs, "has changed since you approved it") {
		t.Errorf("a change: exit code %d: %s", code, errs)
	}
}

// The program that was looked at is the one that is started, although another
// one of its name comes first in the path by then.
func TestApprovedProgramIsStarted(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the programs of this test are those of Unix")
	}
	bin := t.TempDir()
	script := filepath.Join(bin, "looked-at")
	write(t, script, "#!/bin/sh\nexit 3\n")
	if err := os.Chmod(script, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	p := newProject(t, `{"mcpServers": {"x": {"command": "looked-at"}}}`)
	prog := &program{in: strings.NewReader(""), out: &bytes.Buffer{}, err: &bytes.Buffer{}, flags: flags{yes: true, project: p.dir, userDir: p.user}}
	entry, err := prog.named(t.Context(), "x")
	if err != nil || entry.Command != script {
		t.Errorf("it would start %q, not %q (%v)", entry.Command, script, err)
	}
}

// The secrets of the person are not shown where a URL or a header uses them,
// and headers are part of what is approved.
func TestApprovalShowsNoSecrets(t *testing.T) {
	t.Setenv("HUB_TOKEN", "s3cret-value-1234")
	p := newProject(t, `{"mcpServers": {"hub": {"type": "http", "url": "https://hub.example/mcp?key=${HUB_TOKEN}", "headers": {"Authorization": "Bearer ${HUB_TOKEN}"}}}}`)
	_, _, errs := p.tenon("tools", "hub")
	if strings.Contains(errs, "s3cret") || !strings.Contains(errs, "Authorization: Bearer ${HUB_TOKEN}") || !strings.Contains(errs, "hub.example") {
		t.Errorf("the approval says: %s", errs)
	}
}

// Nobody is asked for a password by a server that they have not approved.
func TestApprovalComesBeforeQuestions(t *testing.T) {
	t.Setenv("TENON_INPUT_KEY", "")
	os.Unsetenv("TENON_INPUT_KEY")
	p := newProject(t, `{"servers": {"x": {"type": "http", "url": "https://hub.example/mcp", "headers": {"X-Key": "${input:key}"}}}, "inputs": [{"id": "key", "type": "promptString", "description": "a key", "password": true}]}`)
	code, _, errs := p.tenon("tools", "x")
	if code != exitUsage || !strings.Contains(errs, "not approved") || strings.Contains(errs, "TENON_INPUT_KEY") {
		t.Errorf("exit code %d: %s", code, errs)
	}
	if code, _, errs = p.tenon("config", "approve", "x", "--yes"); code != exitUsage || !strings.Contains(errs, "X-Key: ${input:key}") || !strings.Contains(errs, "TENON_INPUT_KEY") {
		t.Errorf("approved, and not answered: exit code %d: %s", code, errs)
	}
	t.Setenv("TENON_INPUT_KEY", "k")
	if code, _, errs = p.tenon("config", "approve", "x", "--yes"); code != 0 || strings.Count(errs, "wants to use") != 1 {
		t.Errorf("approved and answered: exit code %d: %s", code, errs)
	}
	if code, _, errs = p.tenon("config", "approve", "x"); code != 0 || strings.Contains(errs, "wants to use") {
		t.Errorf("asked again: exit code %d: %s", code, errs)
	}
}

// In a person's own file a server is trusted everywhere, so one that came with a
// project does not get there unasked.
func TestImportLeavesProjectServersOut(t *testing.T) {
	p := newProject(t, `{}`)
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	if err := os.MkdirAll(filepath.Join(p.dir, ".cursor"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(home, ".cursor"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(p.dir, ".cursor", "mcp.json"), `{"mcpServers": {"theirs": {"command": "curl", "args": ["evil"]}}}`)
	write(t, filepath.Join(home, ".cursor", "mcp.json"), `{"mcpServers": {"mine": {"command": "true", "env": {"K": "v"}}}}`)
	code, out, errs := p.tenon("config", "import", "cursor", "--yes")
	if code != 0 || !strings.Contains(out, "theirs  curl evil") || !strings.Contains(errs, "comes from the project") {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
	_, out, _ = p.tenon("config", "list", "--format", "json")
	if strings.Contains(out, "theirs") || !strings.Contains(out, `"mine"`) {
		t.Errorf("then there are %s", out)
	}
	if code, out, errs = p.tenon("config", "import", "cursor", "--dry-run"); code != 0 || !strings.Contains(errs, "skipped: it exists") {
		t.Errorf("again: exit code %d: %s%s", code, out, errs)
	}
	if code, _, _ = p.tenon("config", "import", "emacs"); code != exitUsage {
		t.Errorf("emacs: exit code %d", code)
	}
}

// --all shows what every program has, and adds it only with --yes.
func TestConfigImportAll(t *testing.T) {
	p := newProject(t, `{}`)
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	t.Setenv("CODEX_HOME", filepath.Join(home, ".codex"))
	for _, dir := range []string{".codex", ".codeium/windsurf", ".gemini"} {
		if err := os.MkdirAll(filepath.Join(home, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(home, ".codex", "config.toml"), "[mcp_servers.one]\ncommand = \"true\"\n")
	write(t, filepath.Join(home, ".codeium", "windsurf", "mcp_config.json"), `{"mcpServers": {"one": {"command": "false"}, "two": {"serverUrl": "https://two.example/"}}}`)
	write(t, filepath.Join(home, ".gemini", "settings.json"), `{"mcpServers": {"three": {`)
	for _, args := range [][]string{{}, {"--dry-run"}, {"--dry-run", "--yes"}} {
		code, out, errs := p.tenon(append([]string{"config", "import", "--all"}, args...)...)
		if code != exitUsage || out != "codex:\none  true\nwindsurf:\none  false\ntwo  https://two.example/\n" {
			t.Errorf("%v: exit code %d: %q %s", args, code, out, errs)
		}
		for _, want := range []string{"exists, with other command", "import from gemini: ", "settings.json:1:", "2 would be"} {
			if !strings.Contains(errs, want) {
				t.Errorf("%v: %q is missing: %s", args, want, errs)
			}
		}
		if _, out, _ = p.tenon("config", "list", "--format", "json"); strings.Contains(out, "one") {
			t.Errorf("%v: added: %s", args, out)
		}
	}
	write(t, filepath.Join(home, ".gemini", "settings.json"), `{}`)
	if code, out, errs := p.tenon("config", "import", "--all", "--yes"); code != 0 {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
	if _, out, _ := p.tenon("config", "list", "--format", "json"); !strings.Contains(out, `"one"`) || !strings.Contains(out, `"two"`) {
		t.Errorf("then there are %s", out)
	}
	for _, args := range [][]string{{"config", "import"}, {"config", "import", "cursor", "--all"}} {
		if code, _, errs := p.tenon(args...); code != exitUsage || !strings.Contains(errs, "name one APP, or use --all") {
			t.Errorf("%v: exit code %d: %s", args, code, errs)
		}
	}
}

func TestConfigAddAndRemove(t *testing.T) {
	p := newProject(t, `{}`)
	for _, c := range []struct {
		line string
		code int
		want string
	}{
		{"config add calc builtin:calc", 0, "Added calc to"},
		{"config add calc builtin:calc", exitUsage, "a server with this name exists"},
		{"config add prog --env A=${HOME} -- some program", 0, "Added prog to"},
		{"config add hub https://hub.example/mcp --header A=b --to-project", 0, ".mcp.json"},
		{"config add x", exitUsage, "missing NAME"},
		{"config add x python3 server.py", exitUsage, "put -- before a command: tenon config add x -- COMMAND"},
		{"config add x neither", exitUsage, "neither a URL"},
		{"config add x --env oops -- y", exitUsage, "name=value"},
		{"tools calc -q", 0, ""},
		{"config remove cal", exitUsage, "did you mean calc?"},
		{"config remove calc", 0, "Removed calc from"},
		{"config remove", exitUsage, "missing NAME"},
		{"tools calc", exitUsage, "calc"},
		{"config approve", exitUsage, "missing NAME"},
	} {
		code, out, errs := p.tenon(strings.Fields(c.line)...)
		if code != c.code || !strings.Contains(errs, c.want) {
			t.Errorf("%s: exit code %d: %s%s", c.line, code, out, errs)
		}
	}
	_, out, _ := p.tenon("config")
	if !strings.Contains(out, "prog  some program") || !strings.Contains(out, "hub  https://hub.example/mcp") || !strings.Contains(out, "from the project") {
		t.Errorf("then there are\n%s", out)
	}
}

// A disabled server is opened if the person names it, and only then.
func TestNamingADisabledServerOpensIt(t *testing.T) {
	p := newProject(t, `{"mcpServers": {"sums": {"builtin": "calc", "disabled": true}}}`)
	write(t, filepath.Join(p.user, "tenon.json"), `{"mcpServers": {"calc": {"builtin": "calc", "disabled": true}}}`)
	for _, args := range [][]string{{"call", "calc", "add", "a=2", "b=3"}, {"call", "sums", "add", "a=2", "b=3", "--yes"}} {
		if code, out, errs := p.tenon(args...); code != 0 || !strings.Contains(out, "5") {
			t.Errorf("%v: exit code %d: %s%s", args, code, out, errs)
		}
	}
}
