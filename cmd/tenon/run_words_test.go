package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// C8: what is piped goes with the prompt, which may be words of the command
// line; C13: --format counts.
func TestRunTakesStandardInput(t *testing.T) {
	model := func(texts ...string) string {
		has, err := json.Marshal(texts[0])
		if err != nil {
			t.Fatal(err)
		}
		return said(t, `{"expect":{"has":`+string(has)+`}}`, `{"text":"yes"}`)
	}
	for _, c := range []struct {
		in   string
		args []string
		has  string
	}{
		{"the data\n", []string{"-p", "sum it up"}, "sum it up\n\nthe data"},
		{"the data\n", []string{"sum", "it up"}, "sum it up\n\nthe data"},
		{"the data\n", []string{"-p", "-"}, "the data"},
		{"the data\n", []string{"-"}, "the data"},
		{"the data\n", nil, "the data"},
		{"", []string{"sum it up"}, "sum it up"},
	} {
		cmd := binary(t, append(append([]string{"run", "-s", "builtin:calc", "--format", "json"}, c.args...), model(c.has))...)
		cmd.Stdin = strings.NewReader(c.in)
		code, out, errs := output(t, cmd)
		var got struct{ Answer string }
		if err := json.Unmarshal([]byte(out), &got); err != nil || code != 0 || got.Answer != "yes" {
			t.Errorf("%q with %q: exit code %d, %v\n%s%s", c.args, c.in, code, err, out, errs)
		}
	}
}

// C14: a builtin with a relative folder means the folder where it was added.
func TestConfigAddKeepsTheFolder(t *testing.T) {
	home, elsewhere := t.TempDir(), t.TempDir()
	write(t, filepath.Join(home, "here.txt"), "found")
	dir := filepath.Join(elsewhere, "config")
	for _, c := range []struct {
		in   string
		args []string
	}{
		{home, []string{"config", "add", "files", "builtin:fs?root=."}},
		{elsewhere, []string{"call", "files", "list_directory", "path=."}},
	} {
		cmd := binary(t, append(c.args, "--config-dir", dir)...)
		cmd.Dir = c.in
		code, out, errs := output(t, cmd)
		if code != 0 || c.in == elsewhere && !strings.Contains(out, "here.txt") {
			text, _ := os.ReadFile(filepath.Join(dir, "tenon.json"))
			t.Errorf("%q: exit code %d\n%s%s%s", c.args, code, out, errs, text)
		}
	}
}
