package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb" // the format
	nfpmfiles "github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm" // the format
)

const about = `Model Context Protocol client, host and servers
 Tenon uses, tests, debugs and runs Model Context Protocol servers of any
 protocol revision, and connects them to models.`

// packaged returns a package for Debian or Red Hat and its file name.
func (b *builder) packaged(format string, p *program, t *texts, sbom []byte) (string, []byte, error) {
	pages, err := zippedPages(t.man, b.commit.time)
	if err != nil {
		return "", nil, err
	}
	unit, err := b.readFile("deploy/tenon-gateway.service")
	if err != nil {
		return "", nil, err
	}
	// The unit is for a program that was installed by hand.
	unit = bytes.ReplaceAll(unit, []byte("/usr/local/bin/tenon"), []byte("/usr/bin/tenon"))
	copyright := fmt.Appendf(nil, "Tenon is under the following license; what it contains is listed after it.\n\n%s\n%s", t.license, t.notices)
	content := files{
		"/usr/bin/tenon":                                      p.data,
		"/usr/share/doc/tenon/copyright":                      copyright,
		"/usr/share/doc/tenon/README.md":                      t.readme,
		"/usr/share/doc/tenon/sbom.spdx.json":                 sbom,
		"/usr/share/doc/tenon/examples/tenon-gateway.service": unit,
		"/usr/share/bash-completion/completions/tenon":        t.completions["bash"],
		"/usr/share/fish/vendor_completions.d/tenon.fish":     t.completions["fish"],
	}
	if format == "deb" {
		content["/usr/share/zsh/vendor-completions/_tenon"] = t.completions["zsh"]
	} else {
		content["/usr/share/zsh/site-functions/_tenon"] = t.completions["zsh"]
	}
	for name, page := range pages {
		content["/usr/share/man/man1/"+name] = page
	}
	dir, err := os.MkdirTemp(b.dir, "package-")
	if err != nil {
		return "", nil, err
	}
	defer os.RemoveAll(dir)
	info := nfpm.WithDefaults(&nfpm.Info{
		Name: "tenon", Arch: p.arch, Platform: "linux", Version: b.commit.version, Section: "utils", Priority: "optional",
		Maintainer: "Tenon <tenon@users.noreply.github.com>", Vendor: "Tenon", Homepage: "https://" + modulePath, License: "Apache-2.0",
		Description: about, MTime: b.commit.time, DisableGlobbing: true,
	})
	info.RPM.BuildHost = "tenon"
	info.RPM.Summary = "Model Context Protocol client, host and servers"
	for i, name := range sorted(content) {
		file := filepath.Join(dir, fmt.Sprint(i))
		if err := os.WriteFile(file, content[name], 0o644); err != nil {
			return "", nil, err
		}
		perm := os.FileMode(0o644)
		if name == "/usr/bin/tenon" {
			perm = 0o755
		}
		info.Contents = append(info.Contents, &nfpmfiles.Content{Source: file, Destination: name,
			FileInfo: &nfpmfiles.ContentFileInfo{Owner: "root", Group: "root", Mode: perm, MTime: b.commit.time}})
	}
	packager, err := nfpm.Get(format)
	if err != nil {
		return "", nil, err
	}
	var out bytes.Buffer
	if err := packager.Package(info, &out); err != nil {
		return "", nil, err
	}
	return packager.ConventionalFileName(info), out.Bytes(), nil
}

// zippedPages compresses manual pages, as packages have them.
func zippedPages(pages files, when time.Time) (files, error) {
	all := files{}
	for name, page := range pages {
		var b bytes.Buffer
		z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
		if err != nil {
			return nil, err
		}
		z.ModTime = when
		_, err = z.Write(page)
		if err := errors.Join(err, z.Close()); err != nil {
			return nil, err
		}
		all[name+".gz"] = b.Bytes()
	}
	return all, nil
}
