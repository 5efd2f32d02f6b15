package discovery

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// Folder returns the folder below dir that the bundle is unpacked into.
func (b *Bundle) Folder(dir string) string { return filepath.Join(dir, b.SHA256) }

// Unpack writes the files of the bundle to [Bundle.Folder], readable only by the
// user. The folder appears complete or not at all; if it exists, it is kept.
func (b *Bundle) Unpack(dir string) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("unpack the bundle: %w", err)
		}
	}()
	to := b.Folder(dir)
	if info, err := os.Lstat(to); err == nil && info.IsDir() {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	removeOld(dir)
	temp, err := os.MkdirTemp(dir, tempPrefix)
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp) // it is gone if it was renamed
	if err := b.unpackTo(temp); err != nil {
		return err
	}
	if err := os.Rename(temp, to); err != nil && !errors.Is(err, fs.ErrExist) {
		if info, other := os.Lstat(to); other != nil || !info.IsDir() {
			return err
		} // another process was faster
	}
	return nil
}

// tempPrefix is the beginning of the names of folders that are not complete.
const tempPrefix = ".unpacking-"

// removeOld removes what a process that was killed has left. Nothing is unpacked
// for a day.
func removeOld(dir string) {
	all, _ := os.ReadDir(dir) // what stays does no harm
	for _, e := range all {
		if info, err := e.Info(); err == nil && strings.HasPrefix(e.Name(), tempPrefix) && time.Since(info.ModTime()) > 24*time.Hour {
			os.RemoveAll(filepath.Join(dir, e.Name()))
		}
	}
}

func (b *Bundle) unpackTo(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, f := range b.zip.File {
		name := filepath.FromSlash(strings.TrimSuffix(f.Name, "/"))
		if f.Mode().IsDir() {
			if err := root.MkdirAll(name, 0o700); err != nil {
				return err
			}
			continue
		}
		if parent := path.Dir(f.Name); parent != "." {
			if err := root.MkdirAll(filepath.FromSlash(parent), 0o700); err != nil {
				return err
			}
		}
		if err := b.unpackFile(root, name, f); err != nil {
			return fmt.Errorf("%s: %w", clip(f.Name), err)
		}
	}
	return nil
}

// unpackFile writes one file. It gets the permission to be executed if it has it
// in the bundle, or if it is the program of the server.
func (b *Bundle) unpackFile(root *os.Root, name string, f *zip.File) (err error) {
	perm := fs.FileMode(0o600)
	if f.Mode()&0o111 != 0 || f.Name == b.runs {
		perm = 0o700
	}
	r, err := f.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	w, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	n, err := io.Copy(w, io.LimitReader(r, int64(f.UncompressedSize64)+1))
	if err == nil && uint64(n) != f.UncompressedSize64 {
		err = errors.New("has another size than the bundle says")
	}
	return err
}
