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

// C8, H25: of a prompt with piped data, what was typed is looked up, and the data
// is not.
func TestRunLooksUpOnlyWhatWasTyped(t *testing.T) {
	for _, c := range []struct{ in, prompt, has, not string }{
		{"see @calc:welcome://bob\n", "greet @calc:welcome://ada", "Welcome, ada!", "Welcome, bob!"},
		{"/calc:explain calculation=2+2\n", "/calc:explain calculation=1+1", "how to work out 1+1", "how to work out 2+2"},
		{"/calc:explain calculation=2+2\n", "-", "/calc:explain", "how to work out 2+2"},
	} {
		cmd := binary(t, "run", "-s", "builtin:calc", "-p", c.prompt, "--output", "json", "--model", "record:FILE:MODEL")
		model := said(t, `{"text":"yes"}`)
		record := filepath.Join(cmd.Dir, "recorded.jsonl")
		cmd.Args[len(cmd.Args)-1] = "record:" + record + ":" + strings.TrimPrefix(model, "--model=")
		cmd.Stdin = strings.NewReader(c.in)
		code, out, errs := output(t, cmd)
		sent, err := os.ReadFile(record)
		if err != nil || code != 0 {
			t.Fatalf("%q: exit code %d, %v\n%s%s", c.prompt, code, err, out, errs)
		}
		if !strings.Contains(string(sent), c.has) || strings.Contains(string(sent), c.not) || !strings.Contains(string(sent), strings.TrimSpace(c.in)) {
			t.Errorf("%q with %q: the model was given\n%s", c.prompt, c.in, sent)
		}
	}
}

// C13: run --trace shows the messages of each server.
func TestRunTraces(t *testing.T) {
	code, out, errs := output(t, binary(t, "run", "hello", "-s", "builtin:calc", "--trace", said(t, `{"text":"yes"}`)))
	if code != 0 || out != "yes" || !strings.Contains(errs, "→ calc modern tools/list") {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
}
