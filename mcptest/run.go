package mcptest

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/tenon-mcp/tenon/mcp"
)

const updateFlag = "update"

// A test program has one flag of this name: where another package has defined
// it already, that one counts.
func init() {
	if flag.Lookup(updateFlag) == nil {
		flag.Bool(updateFlag, false, "write what was seen into the files of conversations")
	}
}

func updating() bool {
	f := flag.Lookup(updateFlag)
	return f != nil && f.Value.String() == "true"
}

// Run plays all conversations in the files that the pattern names, each with a
// new handler that serve makes within the bubble in which time is not real.
// With -update the files are changed to what was seen.
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

// Script plays the conversations in a text with one handler.
func Script(t *testing.T, h mcp.Handler, text string) {
	t.Helper()
	_, sections, err := readSections("script", text)
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
				if update && lines != nil {
					s.lines = lines
				} else if err != nil {
					t.Error(err)
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
	all := map[mcp.Revision]seen{}
	for _, rev := range revs {
		t.Run(string(rev), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				saw, err := s.playCalls(serve(t), rev)
				all[rev] = saw
				switch {
				case err == nil:
				case update:
					t.Log(err)
				default:
					t.Error(err)
				}
			})
		})
	}
	if update {
		s.lines = s.rewritten(all)
	}
}
