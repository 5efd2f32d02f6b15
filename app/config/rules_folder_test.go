package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A rule may name a folder, which must be absolute.
func TestRuleForAFolder(t *testing.T) {
	dir := t.TempDir()
	load := func(folder string) (*Config, error) {
		text := `{"permissions":[{"effect":"allow","server":"a","folder":` + `"` + filepath.ToSlash(folder) + `"}]}`
		if err := os.WriteFile(filepath.Join(dir, "tenon.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return Load(&Options{Dir: t.TempDir(), UserDir: dir, Home: t.TempDir()})
	}
	c, err := load(dir + "/")
	if err != nil {
		t.Fatal(err)
	}
	if r := c.Settings().Rules; len(r) != 1 || r[0].Folder != dir {
		t.Errorf("%+v", r)
	}
	if _, err := load("work"); err == nil || !strings.Contains(err.Error(), "absolute path") {
		t.Errorf("a relative folder: %v", err)
	}
}
