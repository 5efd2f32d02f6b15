package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// C17: config list says which variables are not set, which programs are not
// found, and whether a project's server is approved.
func TestConfigListSaysWhatIsMissing(t *testing.T) {
	home := t.TempDir()
	program := script(t, home, "server", "exit 1\n")
	list := func(args ...string) string {
		cmd := binary(t, args...)
		cmd.Dir = home
		set(cmd, "TENON_CONFIG_DIR", home+"/config")
		set(cmd, "IS_SET", "1")
		code, out, errs := output(t, cmd)
		if code != 0 {
			t.Fatalf("%q: exit code %d\n%s%s", args, code, out, errs)
		}
		return out
	}
	project := func(arg string) {
		write(t, filepath.Join(home, ".mcp.json"), `{"mcpServers":{"theirs":{"command":"`+program+`","args":["`+arg+`"]},"other":{"command":"./x"}}}`)
	}
	project("a")
	if err := os.Mkdir(home+"/config", 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(home, "config", "tenon.json"), `{"mcpServers":{
		"fine": {"command": "`+program+`", "env": {"A": "${IS_SET}", "B": "${NOT_SET:-x}"}},
		"unset": {"url": "https://example.com/${NOT_SET}", "headers": {"X": "${ALSO_NOT_SET} ${NOT_SET} ${IS_SET}"}},
		"inDefault": {"command": "`+program+`", "env": {"A": "${NOT_SET:-${ALSO_NOT_SET}}"}},
		"missing": {"command": "no-such-program", "alwaysAllow": ["*"]},
		"asks": {"command": "${input:x}"}}, "inputs": [{"id": "x"}]}`)
	out := list("config", "list")
	for _, want := range []string{
		"unset  https://example.com/${NOT_SET}\n  " + home + "/config/tenon.json:3\n  not set: ALSO_NOT_SET, NOT_SET\n",
		"  not set: ALSO_NOT_SET\n", "  program not found: no-such-program\n", "  \"alwaysAllow\" is ignored",
		"from the project · not approved\n  approve it with: tenon config approve theirs\n",
		"from the project · cannot be approved\n", "  the command ./x is a relative path",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	if strings.Count(out, "not set:") != 2 || strings.Count(out, "not found:") != 2 {
		t.Errorf("too much is said to be missing:\n%s", out)
	}
	list("config", "approve", "theirs", "--yes")
	if out := list("config"); !strings.Contains(out, "from the project · approved\n") {
		t.Errorf("the approval is not shown:\n%s", out)
	}
	project("b")
	if out := list("config"); !strings.Contains(out, "from the project · changed since you approved it\n") {
		t.Errorf("the change is not shown:\n%s", out)
	}
	var got struct {
		Servers []struct {
			Name, MissingProgram, Approval string
			Unset                          []string
		}
	}
	if err := json.Unmarshal([]byte(list("config", "--format", "json")), &got); err != nil {
		t.Fatal(err)
	}
	for _, s := range got.Servers {
		switch {
		case s.Name == "unset" && strings.Join(s.Unset, " ") != "ALSO_NOT_SET NOT_SET",
			s.Name == "missing" && s.MissingProgram != "no-such-program",
			s.Name == "theirs" && s.Approval != "changed",
			s.Name == "fine" && (s.Approval != "" || s.MissingProgram != "" || s.Unset != nil):
			t.Errorf("%+v", s)
		}
	}
}

// C17: what a killed process left beside the configuration goes with the next
// change.
func TestConfigAddCleansUp(t *testing.T) {
	cmd := binary(t, "config", "add", "calc", "builtin:calc")
	configure(t, cmd, "{}")
	litter := filepath.Join(cmd.Dir, "config", ".tenon-00000000-1-x.tmp")
	write(t, litter, "{")
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(litter, old, old); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := output(t, cmd); code != 0 {
		t.Fatal(errs)
	}
	if entries, err := os.ReadDir(filepath.Dir(litter)); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
}

// C17: a configuration that others can change is warned of.
func TestWritableConfigurationIsWarnedOf(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no modes")
	}
	for _, c := range []struct {
		file, folder os.FileMode
		want         int
	}{{0o600, 0o700, 0}, {0o644, 0o755, 0}, {0o666, 0o700, 1}, {0o600, 0o777, 1}, {0o602, 0o772, 2}, {0o600, 0o777 | os.ModeSticky, 0}} {
		cmd := binary(t, "config", "list")
		configure(t, cmd, "{}")
		dir := filepath.Join(cmd.Dir, "config")
		if err := os.Chmod(filepath.Join(dir, "tenon.json"), c.file); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir, c.folder); err != nil {
			t.Fatal(err)
		}
		if code, _, errs := output(t, cmd); code != 0 || strings.Count(errs, "can be changed by every user") != c.want || strings.Count(errs, "chmod go-w") != c.want {
			t.Errorf("%v in %v: exit code %d, not %d warnings:\n%s", c.file, c.folder, code, c.want, errs)
		}
	}
}

// Each server is a line of its own in the format jsonl.
func TestConfigListAsLines(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "tenon.json"), `{"mcpServers": {"a": {"builtin": "calc"}, "b": {"url": "https://h/mcp"}}}`)
	for _, words := range [][]string{{"config"}, {"config", "list"}} {
		code, out, errs := tenon(t, append([]string{"--config-dir", dir, "--format", "jsonl"}, words...)...)
		lines := strings.Split(strings.TrimSpace(out), "\n")
		if code != 0 || len(lines) != 2 || !strings.HasPrefix(lines[0], `{"name":"a"`) || !strings.HasPrefix(lines[1], `{"name":"b"`) {
			t.Errorf("%q: exit code %d\n%s\n%s", words, code, out, errs)
		}
	}
}
