package workspace

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/permit"
	"github.com/tenon-mcp/tenon/mcp"
)

func newFolders(t *testing.T) Folders {
	dir := t.TempDir()
	return Folders{Host: filepath.Join(dir, "host"), Tokens: filepath.Join(dir, "tokens")}
}

func book(t *testing.T, f Folders, answers map[string]string) *permit.Book {
	t.Helper()
	b, err := permit.Open(ToolsFile(f.Host), config.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	for name, answer := range answers {
		if err := b.Answer("a", &mcp.Tool{Name: name}, "", answer); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

func write(t *testing.T, file, text string, at time.Time) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(file, at, at); err != nil {
		t.Fatal(err)
	}
}

// Of answers that contradict each other, "always deny" counts and otherwise those
// of the new place; the file of the other ones is kept.
func TestMovedApprovalsNeverAllowMore(t *testing.T) {
	old, now := newFolders(t), newFolders(t)
	book(t, old, map[string]string{"both": permit.Always, "denied": permit.Never, "more": permit.Always, "only": permit.Always})
	book(t, now, map[string]string{"both": permit.Always, "denied": permit.Always, "more": permit.Never})
	moved, err := now.MoveFrom(t.Context(), old)
	if err != nil || len(moved) != 1 || !strings.HasPrefix(moved[0], "1 approval (all of them are in tools-2.json") {
		t.Errorf("%q, %v", moved, err)
	}
	b := book(t, now, nil)
	for name, want := range map[string]config.Effect{"both": config.Allow, "denied": config.Deny, "more": config.Deny, "only": config.Allow} {
		if v := b.Judge("a", &mcp.Tool{Name: name}, nil, ""); v.Effect != want {
			t.Errorf("%s: %s, %s", name, v.Effect, v.Why)
		}
	}
	if raw, err := os.ReadFile(filepath.Join(now.Host, "tools-2.json")); err != nil || strings.Count(string(raw), `"tool"`) != 4 {
		t.Errorf("%s, %v", raw, err)
	}
	if moved, err := now.MoveFrom(t.Context(), old); len(moved) > 0 || err != nil {
		t.Errorf("moved again: %q, %v", moved, err)
	}
}

// Of two logins to one server the newer counts.
func TestMovedLogins(t *testing.T) {
	old, now := newFolders(t), newFolders(t)
	names := []string{strings.Repeat("1", 64), strings.Repeat("2", 64), strings.Repeat("3", 64)}
	early, late := time.Now().Add(-time.Hour), time.Now()
	write(t, filepath.Join(old.Tokens, names[0]), "old", early)
	write(t, filepath.Join(now.Tokens, names[0]), "new", late)
	write(t, filepath.Join(old.Tokens, names[1]), "old", late)
	write(t, filepath.Join(now.Tokens, names[1]), "new", early)
	write(t, filepath.Join(old.Tokens, names[2]), "old", early)
	write(t, filepath.Join(old.Tokens, "notes.txt"), "not ours", early)
	if moved, err := now.MoveFrom(t.Context(), old); err != nil || !slices.Equal(moved, []string{"logins"}) {
		t.Errorf("%q, %v", moved, err)
	}
	for i, want := range []string{"new", "old", "old"} {
		if raw, err := os.ReadFile(filepath.Join(now.Tokens, names[i])); string(raw) != want || err != nil {
			t.Errorf("login %d is the %s one, %v", i, raw, err)
		}
	}
	if _, err := os.Stat(filepath.Join(old.Tokens, "notes.txt")); err != nil {
		t.Error(err)
	}
}
