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

// update has a name that no test program has for a flag of its own: packages
// that define -update are initialized after this one, and would panic.
var update = flag.Bool("mcptest.update", false, "write what was seen into the files of conversations")

// updating reports whether files are to be written: -mcptest.update was given,
// or the -update that the test program itself has defined.
func updating() bool {
	own := flag.Lookup("update")
	return *update || own != nil && own.Value.String() == "true"
}

// Run plays all conversations in the files that the pattern names, each with a
// new handler that serve makes within the bubble in which time is not real.
// With the flag -mcptest.update, or an -update that the test program itself
// defines, the files are changed to what was seen.
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

// Script plays the conversations in a text with one handler. Indentation that
// all of its lines share does not count.
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

// run plays a conversation as a test of its own. When it is updated it becomes
// what was seen, and fails only if it cannot be played.
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

// judge fails the test for what went wrong, unless an update mends it, and
// says whether there is to be one.
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

// outdent takes away the white space with which every line begins.
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
