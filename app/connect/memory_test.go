package connect

import (
	"net/url"
	"path/filepath"
	"testing"

	"github.com/tenon-mcp/tenon/app/config"
)

// A builtin server of a project means the project's files, wherever the person
// stands.
func TestRelativePathsOfBuiltins(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct{ name, value, want string }{
		{"root", ".", dir},
		{"root", "src", filepath.Join(dir, "src")},
		{"root", dir, dir},
		{"vault", "notes", filepath.Join(dir, "notes")},
		{"dsn", "shop.db", filepath.Join(dir, "shop.db")},
		{"dsn", "sqlite:shop.db", "sqlite:" + filepath.Join(dir, "shop.db")},
		{"dsn", "postgres://u@h/d", "postgres://u@h/d"},
		{"dsn", ":memory:", ":memory:"},
		{"readonly", "1", "1"},
	} {
		in := url.Values{c.name: {c.value}}
		got := anchored(config.Server{Dir: dir, Query: in}).Get(c.name)
		if got != c.want || in.Get(c.name) != c.value {
			t.Errorf("%s=%s became %s, not %s", c.name, c.value, got, c.want)
		}
		if got := anchored(config.Server{Query: in}).Get(c.name); got != c.value {
			t.Errorf("without a folder %s=%s became %s", c.name, c.value, got)
		}
	}
}
