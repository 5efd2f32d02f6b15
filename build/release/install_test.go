package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// "go install …@latest" works for somebody who has Go and nothing of ours: from the
// module as a proxy serves it, into an empty module cache.
func TestGoInstall(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the program")
	}
	o := options{repository: "../..", dirty: true}
	c, err := o.commit(t.Context())
	if err != nil {
		t.Skip("not in a checkout: ", err)
	}
	const version = "v1.2.3"
	work := t.TempDir()
	source, bin := filepath.Join(work, "source"), filepath.Join(work, "bin")
	if err := export(t.Context(), o.repository, c, source); err != nil {
		t.Fatal(err)
	}
	proxy := serveModule(t, source, module.Version{Path: modulePath, Version: version})
	known, err := command(t.Context(), work, nil, "go", "env", "GOMODCACHE", "GOPROXY")
	if err != nil {
		t.Fatal(err)
	}
	cache, others, _ := strings.Cut(strings.TrimSpace(string(known)), "\n")
	env := []string{
		"GOPROXY=" + strings.Join([]string{fileURL(proxy), fileURL(filepath.Join(cache, "cache", "download")), others}, ","),
		"GOSUMDB=off", // the commit is in no database
		"GOFLAGS=-mod=mod -modcacherw -trimpath", "GOWORK=off", "CGO_ENABLED=0",
		"GOMODCACHE=" + filepath.Join(work, "modules"), "GOBIN=" + bin,
	}
	if _, err := command(t.Context(), work, env, "go", "install", modulePath+"/cmd/tenon@latest"); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(bin, "tenon")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	for _, c := range []struct {
		want string
		args []string
	}{{version, []string{"version"}}, {"42", []string{"call", "builtin:calc", "add", "a=20", "b=22"}}} {
		cmd := exec.Command(program, c.args...)
		cmd.Env = append(os.Environ(), "HOME="+work, "TENON_CONFIG_DIR="+work, "XDG_DATA_HOME="+work)
		cmd.Dir = work
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), c.want) {
			t.Errorf("tenon %s: %v, and not %s:\n%s", strings.Join(c.args, " "), err, c.want, out)
		}
	}
}

// serveModule makes a folder that is a module proxy with one version of a module.
func serveModule(t *testing.T, source string, m module.Version) string {
	t.Helper()
	proxy := t.TempDir()
	dir := filepath.Join(proxy, filepath.FromSlash(m.Path), "@v")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(filepath.Join(dir, m.Version+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := zip.CreateFromDir(f, m, source); err != nil {
		t.Fatalf("the module cannot be packed: %v", err)
	}
	mod, err := os.ReadFile(filepath.Join(source, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"list": m.Version + "\n", m.Version + ".info": `{"Version":"` + m.Version + `"}`, m.Version + ".mod": string(mod)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return proxy
}

func fileURL(dir string) string {
	return "file:///" + strings.TrimPrefix(filepath.ToSlash(dir), "/")
}
