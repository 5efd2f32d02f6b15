package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"
)

// content returns the files of an archive by their paths.
func content(p *program, t *texts, sbom []byte) files {
	all := files{
		p.file():                 p.data,
		"LICENSE":                t.license,
		"NOTICES.txt":            t.notices,
		"README.md":              t.readme,
		"sbom.spdx.json":         sbom,
		"completions/_tenon":     t.completions["zsh"],
		"completions/tenon":      t.completions["bash"],
		"completions/tenon.fish": t.completions["fish"],
		"completions/tenon.ps1":  t.completions["powershell"],
	}
	if !p.windows() {
		for name, page := range t.man {
			all["man/man1/"+name] = page
		}
	}
	return all
}

// mode returns the permissions of a file in a release.
func mode(name string) fs.FileMode {
	if base := path.Base(name); (base == "tenon" && path.Base(path.Dir(name)) != "completions") || base == "tenon.exe" {
		return 0o755
	}
	return 0o644
}

// tarred returns a tar.gz file with everything in one folder.
func tarred(folder string, content files, when time.Time) ([]byte, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	w := tar.NewWriter(z)
	for _, name := range sorted(content) {
		h := &tar.Header{Name: folder + "/" + name, Mode: int64(mode(name)), Size: int64(len(content[name])), ModTime: when, Typeflag: tar.TypeReg, Format: tar.FormatUSTAR}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(content[name]); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// zipped returns a zip file with everything in one folder; an empty folder means
// at the top.
func zipped(folder string, content files, when time.Time) ([]byte, error) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	w.RegisterCompressor(zip.Deflate, func(out io.Writer) (io.WriteCloser, error) { return flate.NewWriter(out, flate.BestCompression) })
	for _, name := range sorted(content) {
		h := &zip.FileHeader{Name: path.Join(folder, name), Method: zip.Deflate, Modified: when}
		h.SetMode(mode(name))
		f, err := w.CreateHeader(h)
		if err != nil {
			return nil, err
		}
		if _, err := f.Write(content[name]); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// untar unpacks an archive of git into a folder.
func untar(archive []byte, dir string) error {
	for r := tar.NewReader(bytes.NewReader(archive)); ; {
		h, err := r.Next()
		if err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if h.Typeflag != tar.TypeReg {
			continue // folders come with their files; a link is none of what is built
		}
		name, err := filepath.Localize(h.Name)
		if err != nil {
			return err
		}
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		data, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		if err := os.WriteFile(name, data, h.FileInfo().Mode().Perm()); err != nil {
			return err
		}
	}
}
