package repl

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/redact"
)

// Trimming keeps the newest lines, also those that another shell has added since
// the file was read.
func TestHistoryTrimKeepsLinesOfOtherShells(t *testing.T) {
	file := filepath.Join(t.TempDir(), "history")
	var all strings.Builder
	for i := range 2*maxHistory + 1 {
		fmt.Fprintf(&all, "line %d\n", i)
	}
	if err := os.WriteFile(file, []byte(all.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	mine, other := &History{File: file, Lines: make([]string, 2*maxHistory+1)}, &History{File: file}
	other.Add("of another shell")
	mine.trim()
	other.Add("and one more")
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(got), "\n"), "\n")
	if want := []string{fmt.Sprintf("line %d", 2*maxHistory), "of another shell", "and one more"}; len(lines) != maxHistory+1 || strings.Join(lines[len(lines)-3:], "|") != strings.Join(want, "|") {
		t.Errorf("%d lines, the last are %q", len(lines), lines[len(lines)-3:])
	}
}

// A line that contains a secret can be recalled and is not in the file.
func TestHistorySavesNoSecrets(t *testing.T) {
	for line, saved := range map[string]bool{
		"call add a=1 b=2":                               true,
		"call count max_tokens=100":                      true,
		"call put key=color value=blue":                  true,
		"read notes:///token.md":                         true,
		"call login password=hunter2":                    false,
		"call login password='two words'":                false,
		"call login 'password=two words'":                false,
		`call login pass"word=hunter2"`:                  false,
		`call login password:='"hunter2"'`:               false,
		"call login user.apiKey=abc":                     false,
		"call login --answer pin=1234":                   false,
		"call login 'password=open":                      false,
		"/call vault/login password=x":                   false,
		"call say text=prefix-known-value-1":             false,
		"call say text=ghp_abcdefghijklmnopqrstuv":       false,
		`raw tools/call '{"arguments":{"token":"abc"}}'`: false,
		"tools -H 'Authorization: Bearer abcdef123456'":  false,
	} {
		file := filepath.Join(t.TempDir(), "history")
		h := History{File: file, Secrets: redact.New("known-value-1")}
		if err := h.Add(line); err != nil {
			t.Fatal(err)
		}
		data, _ := os.ReadFile(file)
		if got := string(data) == line+"\n"; got != saved || !saved && len(data) > 0 {
			t.Errorf("%s: the file has %q", line, data)
		}
		if len(h.Lines) != 1 || h.Lines[0] != line {
			t.Errorf("%s cannot be recalled", line)
		}
	}
}

func TestHistoryIsBounded(t *testing.T) {
	h := History{File: filepath.Join(t.TempDir(), "history"), JSON: true}
	for i := range 2*maxHistory + 10 {
		if err := h.Add(fmt.Sprint("line\n", i)); err != nil {
			t.Fatal(err)
		}
	}
	again := History{File: h.File, JSON: true}
	if err := again.Load(); err != nil || !slices.Equal(h.Lines, again.Lines) || len(h.Lines) != maxHistory+9 {
		t.Errorf("%d lines are kept and %d are read, %v", len(h.Lines), len(again.Lines), err)
	}
}
