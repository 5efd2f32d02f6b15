package mcptest

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/tenon-mcp/tenon/mcp"
)

// update has an unusual name, because packages that define -update are
// initialized after this one and would panic.
var update = flag.Bool("mcptest.update", false, "write the actual messages to the files of conversations")

// updating reports whether files are to be written: -mcptest.update was given,
// or the test program's own -update.
func updating() bool {
	own := flag.Lookup("update")
	return *update || own != nil && own.Value.String() == "true"
}

// Run runs all conversations in the files that match the pattern. serve returns
// the handler for each of them; it is called in the synctest bubble. With the
// flag -mcptest.update, or an -update that the test program itself defines, Run
// writes the actual messages to the files.
func Run(t *testing.T, files string, serve func(t *testing.T) mcp.Handler) {
	t.Helper()
	names, err := filepath.Glob(files)
	if err != nil || len(names) == 0 {
		t.Fatalf("no conversations in %s (%v)", files, err)
	}
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
			if err := runFile(t, name, serve, updating()); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func runFile(t *testing.T, name string, serve func(t *testing.T) mcp.Handler, update bool) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	head, sections, err := readSections(name, string(text))
	if err != nil {
		return err
	}
	for _, s := range sections {
		s.run(t, serve, update)
	}
	if now := format(head, sections); update && now != string(text) {
		return os.WriteFile(name, []byte(now), 0o644)
	}
	return nil
}

// Script runs the conversations in text with one handler. Indentation that all
// lines share is removed.
func Script(t *testing.T, h mcp.Handler, text string) {
	t.Helper()
	_, sections, err := readSections("script", outdent(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sections {
		s.run(t, func(*testing.T) mcp.Handler { return h }, false)
	}
}

// run runs a conversation as a subtest. In an update, the conversation becomes
// the actual one, and the test fails only if it cannot be run.
func (s *section) run(t *testing.T, serve func(t *testing.T) mcp.Handler, update bool) {
	kind, err := s.kind()
	if err != nil {
		t.Error(err)
		return
	}
	name := s.name
	if name == "" {
		name = "conversation"
	}
	switch kind {
	case "frames":
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lines, err := s.playFrames(serve(t), update)
				if s.judge(t, err, update) {
					s.lines = lines
				}
			})
		})
	case "calls":
		t.Run(name, func(t *testing.T) { s.runCalls(t, serve, update) })
	}
}

func (s *section) runCalls(t *testing.T, serve func(t *testing.T) mcp.Handler, update bool) {
	revs, err := s.revisions()
	if err != nil {
		t.Fatal(err)
	}
	all, mend := map[mcp.Revision]seen{}, update
	for _, rev := range revs {
		t.Run(string(rev), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				saw, err := s.playCalls(serve(t), rev)
				all[rev] = saw
				mend = s.judge(t, err, update) && mend
			})
		})
	}
	if mend {
		s.lines = s.rewritten(all)
	}
}

// judge fails the test if err is not nil, unless an update corrects it, and
// reports whether to update.
func (s *section) judge(t *testing.T, err error, update bool) bool {
	t.Helper()
	_, hopeless := errors.AsType[mistake](err)
	switch {
	case err == nil:
	case update && !hopeless:
		t.Log(err)
	default:
		t.Error(err)
	}
	return update && !hopeless
}

// outdent removes the white space that all lines share.
func outdent(text string) string {
	lines := strings.Split(text, "\n")
	shared, found := "", false
	for _, l := range lines {
		rest := strings.TrimLeft(l, " \t")
		if rest == "" {
			continue
		}
		indent := l[:len(l)-len(rest)]
		if !found {
			shared, found = indent, true
		}
		for !strings.HasPrefix(indent, shared) {
			shared = shared[:len(shared)-1]
		}
	}
	for i, l := range lines {
		lines[i] = strings.TrimPrefix(l, shared)
	}
	return strings.Join(lines, "\n")
}
