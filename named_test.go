package tenon_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The documents that promise something name the tests and commands that check it: each
// of them exists.
func TestDocumentsNameTestsThatExist(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	function := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(\w+ \*testing\.[TF]\)`)
	err := filepath.WalkDir(".", func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && (e.Name() == "node_modules" || e.Name() == "testdata" || len(e.Name()) > 1 && e.Name()[0] == '.'):
			return filepath.SkipDir
		case e.IsDir() || !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		for _, m := range function.FindAllStringSubmatch(string(text), -1) {
			known[m[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	makefile := readText(t, "Makefile")
	named, command := regexp.MustCompile("`((?:Test|Fuzz)[A-Z]\\w*)`"), regexp.MustCompile("`make ([a-z-]+)")
	for file, least := range map[string]int{"SECURITY.md": 40, "docs/reliability.md": 50} {
		text := readText(t, file)
		all := named.FindAllStringSubmatch(text, -1)
		if len(all) < least {
			t.Errorf("%s names %d tests, expected at least %d", file, len(all), least)
		}
		for _, m := range all {
			if !known[m[1]] {
				t.Errorf("%s names %s, which does not exist", file, m[1])
			}
		}
		for _, m := range command.FindAllStringSubmatch(text, -1) {
			if !regexp.MustCompile(`(?m)^` + m[1] + `:`).MatchString(makefile) {
				t.Errorf("%s names make %s, which does not exist", file, m[1])
			}
		}
	}
	// Each attack of the threat model has a test.
	rows := regexp.MustCompile(`(?m)^\|.*\|$`).FindAllString(readText(t, "SECURITY.md"), -1)
	from := slices.IndexFunc(rows, func(r string) bool { return strings.HasPrefix(r, "| who |") })
	if from < 0 || len(rows) < from+10 {
		t.Fatal("SECURITY.md has no table of attacks")
	}
	for _, row := range rows[from+2:] {
		if !named.MatchString(row) {
			t.Errorf("SECURITY.md names no test in %s", row)
		}
	}
}

// The figures of README.md are those of the documents that they come from.
func TestReadmeFiguresAreMeasured(t *testing.T) {
	t.Parallel()
	readme, bench := readText(t, "README.md"), readText(t, "docs/benchmarks.md")
	for _, scenario := range []string{"stdio, 64 in flight", "HTTP, 2025-11-25, JSON, one connection"} {
		_, table, _ := strings.Cut(bench, "\n### "+scenario+"\n")
		row := "| " + scenario + " |"
		for _, peer := range []string{"tenon", "gosdk", "mcpgo"} {
			cell := regexp.MustCompile(`(?m)^\| ` + peer + ` \| (\S+) \|`).FindStringSubmatch(table)
			if cell == nil {
				t.Fatalf("docs/benchmarks.md has no %s of %s", scenario, peer)
			}
			row += " " + cell[1] + " µs |"
		}
		if !strings.Contains(readme, "\n"+row+"\n") {
			t.Errorf("README.md does not have the row %s", row)
		}
	}
	session := regexp.MustCompile(`\| idle legacy session, resident \| at most 2 KiB \| (\S+) \|`).FindStringSubmatch(bench)
	if session == nil || !strings.Contains(readme, "An idle legacy session takes "+session[1]+" KiB.") {
		t.Errorf("README.md does not have the idle session of docs/benchmarks.md, %v", session)
	}
	count := regexp.MustCompile(`(?m)^([0-9,]+) executions of \d+ targets`).FindStringSubmatch(readText(t, "docs/reliability.md"))
	if count == nil || !strings.Contains(readme, "with "+count[1]+" executions of fuzz targets") {
		t.Errorf("README.md does not have the executions of docs/reliability.md, %v", count)
	}
}

func readText(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A command of a document can be pasted into every shell: zsh expands a word with ?
// and fails if no file matches it, and every shell ends a command at &.
func TestCommandsInDocumentsQuoteServers(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	servers, err := filepath.Glob("docs/servers/*.md")
	if err != nil {
		t.Fatal(err)
	}
	block, unquoted, commands := regexp.MustCompile("(?ms)^\\s*```sh\n(.*?)```"), regexp.MustCompile(`\sbuiltin:\w+\?`), 0
	for _, file := range append(append(files, servers...), "README.md") {
		for _, m := range block.FindAllStringSubmatch(readText(t, file), -1) {
			for line := range strings.Lines(m[1]) {
				commands++
				if unquoted.MatchString(line) {
					t.Errorf("%s: the server needs quotes: %s", file, line)
				}
			}
		}
	}
	if commands < 200 {
		t.Errorf("found only %d lines of commands", commands)
	}
}
