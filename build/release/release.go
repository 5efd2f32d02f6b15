package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// allPlatforms are the platforms of a release, as GOOS/GOARCH.
var allPlatforms = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64"}

// options say what is built.
type options struct {
	repository string
	out        string
	version    string // empty: of the commit
	platforms  []string
	once       bool
	warm       bool
	dirty      bool
}

// A commit is what is built.
type commit struct {
	id      string
	time    time.Time // the time of all files of the release
	version string    // such as v1.2.3
}

// plain returns the version without its v, as packages and file names have it.
func (c commit) plain() string { return strings.TrimPrefix(c.version, "v") }

// release builds a release twice and writes it to the folder of o.
func release(ctx context.Context, o options) error {
	start := time.Now()
	c, err := o.commit(ctx)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "tenon-release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	first, err := makeAll(ctx, o, c, filepath.Join(work, "first"), "")
	if err != nil {
		return err
	}
	fmt.Printf("%s built in %s\n", c.version, time.Since(start).Round(time.Second))
	if !o.once {
		cache := filepath.Join(work, "cache")
		if o.warm {
			cache = ""
		}
		// another folder, with a name of another length
		second, err := makeAll(ctx, o, c, filepath.Join(work, "the-second-one"), cache)
		if err != nil {
			return fmt.Errorf("second build: %w", err)
		}
		if err := same(first, second); err != nil {
			return err
		}
		fmt.Printf("built again: all files are the same, after %s\n", time.Since(start).Round(time.Second))
	}
	return publish(first, o.out)
}

// commit returns the commit that is built, with its version.
func (o options) commit(ctx context.Context) (commit, error) {
	git := func(args ...string) (string, error) {
		out, err := command(ctx, o.repository, nil, "git", args...)
		return strings.TrimSpace(string(out)), err
	}
	changes, err := git("status", "--porcelain")
	if err != nil {
		return commit{}, err
	}
	if changes != "" && !o.dirty {
		return commit{}, errors.New("the checkout has changes, which a release would not have: commit them, or use -dirty")
	}
	line, err := git("show", "-s", "--format=%H %ct", "HEAD")
	if err != nil {
		return commit{}, err
	}
	id, seconds, _ := strings.Cut(line, " ")
	unix, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return commit{}, fmt.Errorf("time of the commit: %w", err)
	}
	c := commit{id: id, time: time.Unix(unix, 0).UTC(), version: o.version}
	if c.version == "" {
		tag, err := git("describe", "--tags", "--exact-match", "--match", "v[0-9]*", "HEAD")
		if err != nil {
			// as Go names a commit without a tag
			tag = "v0.0.0-" + c.time.Format("20060102150405") + "-" + id[:12]
		}
		c.version = tag
	}
	return c, nil
}

// files are the contents of a release by file name.
type files map[string][]byte

// makeAll builds a release in a folder of its own. An empty cache means the
// build cache of the user.
func makeAll(ctx context.Context, o options, c commit, dir, cache string) (files, error) {
	source := filepath.Join(dir, "source")
	if err := export(ctx, o.repository, c, source); err != nil {
		return nil, err
	}
	b := &builder{commit: c, source: source, dir: dir, cache: cache}
	self, err := b.program(ctx, runtime.GOOS+"/"+runtime.GOARCH)
	if err != nil {
		return nil, err
	}
	shared, err := b.texts(ctx, self.path)
	if err != nil {
		return nil, err
	}
	all := files{}
	for _, platform := range o.platforms {
		p := self
		if platform != p.platform {
			if p, err = b.program(ctx, platform); err != nil {
				return nil, err
			}
		}
		if err := b.pack(all, p, shared); err != nil {
			return nil, fmt.Errorf("%s: %w", platform, err)
		}
		fmt.Println("  packed", platform)
	}
	all["SHA256SUMS"] = checksums(all)
	return all, nil
}

// pack adds the files of one platform.
func (b *builder) pack(all files, p *program, shared *texts) error {
	sbom, err := b.sbom(p, shared.licenses)
	if err != nil {
		return err
	}
	base := "tenon_" + b.commit.plain() + "_" + strings.ReplaceAll(p.platform, "/", "_")
	all[base+".spdx.json"] = sbom
	if p.windows() {
		all[base+".zip"], err = zipped(base, content(p, shared, sbom), b.commit.time)
	} else {
		all[base+".tar.gz"], err = tarred(base, content(p, shared, sbom), b.commit.time)
	}
	if err != nil {
		return err
	}
	if p.system == "linux" {
		for _, format := range []string{"deb", "rpm"} {
			name, data, err := b.packaged(format, p, shared, sbom)
			if err != nil {
				return fmt.Errorf("%s: %w", format, err)
			}
			all[name] = data
		}
	}
	return b.bundles(all, p, shared)
}

// same returns an error that names the files in which two releases differ.
func same(a, b files) error {
	var differ []string
	for name := range a {
		if !bytes.Equal(a[name], b[name]) {
			differ = append(differ, name)
		}
	}
	for name := range b {
		if _, ok := a[name]; !ok {
			differ = append(differ, name)
		}
	}
	if len(differ) == 0 {
		return nil
	}
	slices.Sort(differ)
	return fmt.Errorf("two builds of the same commit differ in %s", strings.Join(differ, ", "))
}

// checksums returns the SHA-256 digests of files as sha256sum prints them.
func checksums(all files) []byte {
	var b bytes.Buffer
	for _, name := range sorted(all) {
		fmt.Fprintf(&b, "%x  %s\n", sha256.Sum256(all[name]), name)
	}
	return b.Bytes()
}

func sorted(all files) []string {
	names := make([]string, 0, len(all))
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// publish writes a release to a folder and removes what was there.
func publish(all files, dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	total := 0
	for _, name := range sorted(all) {
		if err := os.WriteFile(filepath.Join(dir, name), all[name], 0o644); err != nil {
			return err
		}
		total += len(all[name])
	}
	fmt.Printf("%d files, %d MB, in %s\n", len(all), total>>20, dir)
	return nil
}

// export copies the files of a commit to a folder.
func export(ctx context.Context, repository string, c commit, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	archive, err := command(ctx, repository, nil, "git", "archive", "--format=tar", c.id)
	if err != nil {
		return err
	}
	return untar(archive, dir)
}

// command runs a program and returns its standard output.
func command(ctx context.Context, dir string, env []string, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w: %s", name, cmp.Or(strings.Join(args, " "), "(no arguments)"), err, bytes.TrimSpace(errs.Bytes()))
	}
	return out, nil
}

// readFile reads a file of the source.
func (b *builder) readFile(name string) ([]byte, error) {
	return fs.ReadFile(os.DirFS(b.source), name)
}
