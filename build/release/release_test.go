package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// A release of this platform and of another one, built twice from different folders
// and with different build caches, is the same to the byte, and has what the
// documentation says.
func TestRelease(t *testing.T) {
	if testing.Short() {
		t.Skip("links the program twice")
	}
	platform := runtime.GOOS + "/" + runtime.GOARCH
	other := "windows/arm64"
	if platform == other {
		other = "linux/amd64"
	}
	o := options{repository: "../..", platforms: []string{platform, other}, version: "v1.2.3-test.1", dirty: true}
	c, err := o.commit(t.Context())
	if err != nil {
		t.Skip("not in a checkout: ", err)
	}
	work := t.TempDir()
	first, err := makeAll(t.Context(), o, c, filepath.Join(work, "first"), "")
	if err != nil {
		t.Fatal(err)
	}
	// The second cache is empty the first time. "make release" empties it each time.
	caches, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	second, err := makeAll(t.Context(), o, c, filepath.Join(work, "the-second-one"), filepath.Join(caches, "tenon-release-test"))
	if err != nil {
		t.Fatal(err)
	}
	if err := same(first, second); err != nil {
		t.Error(err)
	}
	dir := filepath.Join(work, "dist")
	if err := publish(first, dir); err != nil {
		t.Fatal(err)
	}
	t.Run("archive", func(t *testing.T) { checkArchive(t, first, c) })
	t.Run("checksums", func(t *testing.T) { checkSums(t, dir) })
	t.Run("sbom", func(t *testing.T) { checkSBOM(t, first, work) })
	t.Run("bundles", func(t *testing.T) { checkBundles(t, first, work, dir) })
}

// here is the platform of the tests, as file names end.
var here = "_" + runtime.GOOS + "_" + runtime.GOARCH

func contentOf(t *testing.T, all files, end string) []byte {
	t.Helper()
	for name, data := range all {
		if strings.HasSuffix(name, end) {
			return data
		}
	}
	t.Fatalf("there is no file *%s among %s", end, strings.Join(sorted(all), ", "))
	return nil
}

// checkArchive looks into the archive and runs the program in it.
func checkArchive(t *testing.T, all files, c commit) {
	if runtime.GOOS == "windows" {
		t.Skip("reads the tar.gz")
	}
	z, err := gzip.NewReader(bytes.NewReader(contentOf(t, all, here+".tar.gz")))
	if err != nil {
		t.Fatal(err)
	}
	folder := "tenon_1.2.3-test.1_" + runtime.GOOS + "_" + runtime.GOARCH + "/"
	dir := t.TempDir()
	var names []string
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		name, ok := strings.CutPrefix(h.Name, folder)
		if !ok {
			t.Errorf("%s is outside %s", h.Name, folder)
		}
		if !h.ModTime.Equal(c.time) {
			t.Errorf("%s has the time %v, not that of the commit", name, h.ModTime)
		}
		names = append(names, name)
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if name == "tenon" {
			if err := os.WriteFile(filepath.Join(dir, name), data, h.FileInfo().Mode()); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, want := range []string{"tenon", "LICENSE", "NOTICES.txt", "README.md", "sbom.spdx.json", "completions/tenon", "completions/_tenon", "completions/tenon.fish", "completions/tenon.ps1", "man/man1/tenon.1", "man/man1/tenon-call.1", "man/man1/tenon-gateway-keys.1"} {
		if !slices.Contains(names, want) {
			t.Errorf("the archive has no %s", want)
		}
	}
	out, err := exec.Command(filepath.Join(dir, "tenon"), "version", "--json").Output()
	if err != nil {
		t.Fatal(err)
	}
	var said struct{ Version, Commit, OS, Arch string }
	if err := json.Unmarshal(out, &said); err != nil {
		t.Fatal(err)
	}
	if said.Version != "v1.2.3-test.1" || said.Commit != c.id || said.OS != runtime.GOOS || said.Arch != runtime.GOARCH {
		t.Errorf("the program says %s", out)
	}
}

func checkSums(t *testing.T, dir string) {
	sums, err := os.ReadFile(filepath.Join(dir, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Count(string(sums), "\n")
	if lines != len(entries)-1 {
		t.Errorf("%d digests for %d files", lines, len(entries)-1)
	}
	for line := range strings.Lines(string(sums)) {
		digest, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%x", sha256.Sum256(data)); got != digest {
			t.Errorf("%s has the digest %s, not %s", name, got, digest)
		}
	}
}

// checkSBOM applies the rules of SPDX 2.3 for what we write, and compares the
// list with the program.
func checkSBOM(t *testing.T, all files, work string) {
	var d document
	dec := json.NewDecoder(bytes.NewReader(contentOf(t, all, here+".spdx.json")))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&d); err != nil {
		t.Fatal(err)
	}
	if d.Version != "SPDX-2.3" || d.DataLicense != "CC0-1.0" || d.ID != "SPDXRef-DOCUMENT" || d.Name == "" {
		t.Errorf("the head of the document is %q %q %q %q", d.Version, d.DataLicense, d.ID, d.Name)
	}
	if strings.Contains(d.Namespace, "#") || !strings.HasPrefix(d.Namespace, "https://") {
		t.Errorf("documentNamespace is %q", d.Namespace)
	}
	if _, err := time.Parse("2006-01-02T15:04:05Z", d.Creation.Created); err != nil {
		t.Error(err)
	}
	for _, c := range d.Creation.Creators {
		if !regexp.MustCompile(`^(Person|Organization|Tool): \S`).MatchString(c) {
			t.Errorf("creator %q", c)
		}
	}
	ids := map[string]string{d.ID: ""}
	idRule := regexp.MustCompile(`^SPDXRef-[A-Za-z0-9.-]+$`)
	location := regexp.MustCompile(`^(NONE|NOASSERTION|(git\+)?https://\S+)$`)
	for _, p := range d.Packages {
		if _, twice := ids[p.ID]; twice || !idRule.MatchString(p.ID) {
			t.Errorf("SPDXID %q is invalid or there twice", p.ID)
		}
		ids[p.ID] = p.Name
		if p.Name == "" || !location.MatchString(p.Download) || p.Analyzed || p.Concluded == "" || p.Declared == "" || p.Copyright == "" {
			t.Errorf("package %q lacks something: %+v", p.Name, p)
		}
		for _, r := range p.Refs {
			if r.Category != "PACKAGE-MANAGER" || r.Type != "purl" || !strings.HasPrefix(r.Locator, "pkg:golang/") {
				t.Errorf("package %s: reference %+v", p.Name, r)
			}
		}
		if p.Declared == noAssertion && p.Name != "" {
			t.Logf("%s: no license that is recognised", p.Name)
		}
	}
	described := 0
	for _, r := range d.Relationships {
		if _, ok := ids[r.From]; !ok {
			t.Errorf("relationship from %q, which does not exist", r.From)
		}
		if _, ok := ids[r.To]; !ok {
			t.Errorf("relationship to %q, which does not exist", r.To)
		}
		if r.Type == "DESCRIBES" && r.From == d.ID {
			described++
		}
	}
	if described != 1 {
		t.Errorf("the document describes %d packages", described)
	}
	info, err := buildinfo.ReadFile(filepath.Join(work, "first", "bin", runtime.GOOS+"_"+runtime.GOARCH, "tenon"))
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Packages) != len(info.Deps)+2 { // with the program and the standard library
		t.Errorf("%d packages for %d modules", len(d.Packages), len(info.Deps))
	}
	if notices := contentOf(t, files{"n": licenseNotices(t, all)}, "n"); !bytes.Contains(notices, []byte("github.com/spf13/cobra v")) || !bytes.Contains(notices, []byte("the Go standard library, go1")) {
		t.Error("NOTICES.txt does not have the licenses of what is linked")
	}
}

func licenseNotices(t *testing.T, all files) []byte {
	t.Helper()
	data := contentOf(t, all, here+".mcpb")
	r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	f, err := r.Open("NOTICES.txt")
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// checkBundles lets the program itself read every bundle, and adds one and calls
// its server.
func checkBundles(t *testing.T, all files, work, dir string) {
	home := t.TempDir()
	tenon := func(args ...string) string {
		t.Helper()
		cmd := exec.Command(filepath.Join(work, "first", "bin", runtime.GOOS+"_"+runtime.GOARCH, "tenon"), args...)
		cmd.Env = append(os.Environ(), "HOME="+home, "TENON_CONFIG_DIR="+home, "XDG_DATA_HOME="+home)
		cmd.Dir = home
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("tenon %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	count := 0
	for name := range all {
		if !strings.HasSuffix(name, here+".mcpb") {
			continue
		}
		count++
		server, _, _ := strings.Cut(strings.TrimPrefix(name, "tenon-"), "_")
		out := tenon("config", "add", server, filepath.Join(dir, name), "--dry-run")
		if !strings.Contains(out, "serve "+server) || !strings.Contains(out, "Tenon") {
			t.Errorf("%s is read as\n%s", name, out)
		}
	}
	if count != len(bundledServers) {
		t.Errorf("%d bundles of %d servers", count, len(bundledServers))
	}
	name := "tenon-fs_1.2.3-test.1" + here + ".mcpb"
	if err := os.WriteFile(filepath.Join(home, "hello.txt"), []byte("hello from a bundle"), 0o644); err != nil {
		t.Fatal(err)
	}
	tenon("config", "add", "files", filepath.Join(dir, name), "--input", "root="+home, "--yes")
	if out := tenon("call", "files", "read_file", "path="+filepath.Join(home, "hello.txt")); !strings.Contains(out, "hello from a bundle") {
		t.Errorf("the server of the bundle said\n%s", out)
	}
}

func TestLicensesAreRecognised(t *testing.T) {
	for text, want := range map[string]string{
		"Apache License\n   Version 2.0, January 2004":                                     "Apache-2.0",
		"Permission is hereby granted, free of charge, to any person obtaining a copy":     "MIT",
		"Redistribution and use in source and binary forms … Neither the name of":          "BSD-3-Clause",
		"Redistribution and use in source and binary forms":                                "BSD-2-Clause",
		"Permission to use, copy, modify, and/or distribute this software for any purpose": "ISC",
		"All rights reserved": noAssertion,
		"Permission is hereby granted, free of charge, to any person obtaining a copy Apache License Version 2.0, January 2004 both": noAssertion,
	} {
		if got := licenseID(text); got != want {
			t.Errorf("licenseID(%.40q) = %s, want %s", text, got, want)
		}
	}
	if _, err := licenseText(t.TempDir()); err == nil {
		t.Error("a module without a license is accepted")
	}
}

func TestDifferencesAreFound(t *testing.T) {
	a := files{"x": []byte("1"), "y": []byte("2")}
	for _, b := range []files{{"x": []byte("1")}, {"x": []byte("1"), "y": []byte("3")}, {"x": []byte("1"), "y": []byte("2"), "z": nil}} {
		if err := same(a, b); err == nil {
			t.Errorf("%v and %v are the same", a, b)
		}
	}
	if err := same(a, a); err != nil {
		t.Error(err)
	}
}

// A checkout with changes is refused, because they would not be in the release.
func TestChangesAreRefused(t *testing.T) {
	dir := t.TempDir()
	git := func(args ...string) {
		t.Helper()
		if _, err := command(context.Background(), dir, []string{"GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b"}, "git", args...); err != nil {
			t.Fatal(err)
		}
	}
	git("init", "-q")
	if err := os.WriteFile(filepath.Join(dir, "f"), []byte("1"), 0o644); err != nil {
		t.Fatal(err)
	}
	git("add", "f")
	git("commit", "-q", "-m", "first")
	c, err := options{repository: dir}.commit(t.Context())
	if err != nil || !regexp.MustCompile(`^v0\.0\.0-\d{14}-[0-9a-f]{12}$`).MatchString(c.version) {
		t.Errorf("a commit without a tag is %q, %v", c.version, err)
	}
	git("tag", "v1.4.0")
	if c, err = (options{repository: dir}).commit(t.Context()); err != nil || c.version != "v1.4.0" {
		t.Errorf("a tagged commit is %q, %v", c.version, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "f"), []byte("2"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := (options{repository: dir}).commit(t.Context()); err == nil {
		t.Error("changes are not refused")
	}
}
