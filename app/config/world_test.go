package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A world is a home and a project in temporary folders.
type world struct {
	t   *testing.T
	o   Options
	env map[string]string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, env: map[string]string{}}
	dir := t.TempDir()
	w.o = Options{
		Dir: filepath.Join(dir, "project"), UserDir: filepath.Join(dir, "home", "tenon"), Home: filepath.Join(dir, "home"),
		Getenv: func(name string) (string, bool) { v, ok := w.env[name]; return v, ok },
	}
	for _, d := range []string{w.o.Dir, w.o.UserDir} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

func (w *world) projectFile() string { return filepath.Join(w.o.Dir, ".mcp.json") }
func (w *world) userFile() string    { return filepath.Join(w.o.UserDir, "tenon.json") }

func (w *world) write(file, text string) {
	w.t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) project(text string) *world { w.t.Helper(); w.write(w.projectFile(), text); return w }
func (w *world) user(text string) *world    { w.t.Helper(); w.write(w.userFile(), text); return w }

func (w *world) load() *Config {
	w.t.Helper()
	c, err := Load(&w.o)
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

func (w *world) server(name string) Server {
	w.t.Helper()
	s, err := w.load().Server(name)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// wantError checks that an error says all that it should.
func wantError(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one with %q", parts)
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("error %q does not say %q", err, p)
		}
	}
}

func readFile(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
