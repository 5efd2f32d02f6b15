package api

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// folders are the folders whose files may be sent.
type folders struct {
	dirs []string // absolute, or relative to the working folder; a file stands for itself
	what string   // for errors
	why  string   // why there are none
}

// read reads a file by a path, or by a file: URI. Links that lead out of its folder are
// not followed.
func (f *folders) read(name string, limit int64) (*upload, error) {
	if f == nil || len(f.dirs) == 0 {
		why := "files can be sent by tools only"
		if f != nil {
			why = f.why
		}
		return nil, fmt.Errorf("%q cannot be uploaded: %s", name, why)
	}
	path, err := localPath(name)
	if err != nil {
		return nil, err
	}
	dir, rel, err := f.find(name, path)
	if err != nil {
		return nil, err
	}
	data, err := readBelow(dir, rel, limit)
	switch {
	case errors.Is(err, errTooLarge):
		return nil, tooLarge(name, limit)
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("there is no file %q in %s", name, f.what)
	case err != nil:
		return nil, fmt.Errorf("%q cannot be uploaded from %s: %w", name, f.what, err)
	}
	return &upload{name: oneLine(filepath.Base(filepath.Join(dir, rel))), data: data}, nil
}

// localPath returns the path that a path or a file: URI names.
func localPath(name string) (string, error) {
	path := name
	if scheme(name) == "file" {
		u, err := url.Parse(name)
		if err != nil || u.Opaque != "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil || !strings.HasPrefix(u.Path, "/") {
			return "", fmt.Errorf("%q is not a plain file URI; write it as file:///folder/name", name)
		}
		if u.Host != "" && !strings.EqualFold(u.Host, "localhost") {
			return "", fmt.Errorf("%q names a file on another machine", name)
		}
		path = u.Path
		if runtime.GOOS == "windows" {
			path = strings.TrimPrefix(path, "/")
		}
		path = filepath.FromSlash(path)
	}
	if strings.HasPrefix(filepath.VolumeName(path), `\\`) { // of Windows; looking there would log in to it
		return "", fmt.Errorf("%q names a file on another machine", name)
	}
	if strings.ContainsRune(path, 0) {
		return "", fmt.Errorf("%q has a zero byte", name)
	}
	if slices.Contains(strings.FieldsFunc(path, func(r rune) bool { return r == '/' || r == filepath.Separator }), "..") {
		return "", fmt.Errorf("%q has a .. element, which is refused: write the path without it", name)
	}
	return filepath.Clean(path), nil
}

// isVolume reports whether a path is a whole file system, which is no folder to
// upload from.
func isVolume(path string) bool { return filepath.Dir(path) == path }

// find returns the folder that has a path, and the path below it.
func (f *folders) find(name, path string) (dir, rel string, err error) {
	if !filepath.IsAbs(path) {
		return f.findRelative(name, path)
	}
	for _, dir := range f.dirs {
		for _, pair := range spellings(dir, path) {
			if rel, err := filepath.Rel(pair[0], pair[1]); err == nil && filepath.IsLocal(rel) {
				return pair[0], rel, nil
			}
		}
	}
	return "", "", fmt.Errorf("%q is outside of %s", name, f.what)
}

// spellings returns a folder and a path as they are written, and without links: a
// folder may be a link, and a path may name its target.
func spellings(dir, path string) [][2]string {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil
	}
	out := [][2]string{{abs, path}}
	realDir, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return out
	}
	if realParent, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		out = append(out, [2]string{realDir, filepath.Join(realParent, filepath.Base(path))})
	}
	return out
}

// findRelative returns the one folder that has a relative path.
func (f *folders) findRelative(name, path string) (dir, rel string, err error) {
	if !filepath.IsLocal(path) {
		return "", "", fmt.Errorf("%q is outside of %s", name, f.what)
	}
	for _, one := range f.dirs {
		root, err := os.OpenRoot(one)
		if err != nil {
			continue
		}
		_, err = root.Lstat(path)
		root.Close()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if dir != "" {
			return "", "", fmt.Errorf("%q is in several of %s: write the whole path", name, f.what)
		}
		dir = one
	}
	if dir == "" {
		return "", "", fmt.Errorf("there is no file %q in %s", name, f.what)
	}
	return dir, path, nil
}

var errTooLarge = errors.New("too large")

// readBelow reads a regular file below a folder, or the folder itself if it is one. It
// checks the size before it reads.
func readBelow(dir, rel string, limit int64) ([]byte, error) {
	if rel == "." {
		dir, rel = filepath.Dir(dir), filepath.Base(dir)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, errors.New("the folder cannot be opened")
	}
	defer root.Close()
	info, err := root.Stat(rel)
	if err == nil && !info.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file")
	}
	if err != nil {
		return nil, plainCause(err)
	}
	f, err := root.OpenFile(rel, os.O_RDONLY|dontWait, 0)
	if err != nil {
		return nil, plainCause(err)
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file")
	}
	if info.Size() > limit {
		return nil, errTooLarge
	}
	data, err := io.ReadAll(io.LimitReader(f, info.Size()+1))
	if err != nil {
		return nil, plainCause(err)
	}
	if int64(len(data)) != info.Size() {
		return nil, errors.New("it changed while it was read")
	}
	return data, nil
}

// plainCause returns an error of the file system without the path.
func plainCause(err error) error {
	if wrapped, ok := errors.AsType[*fs.PathError](err); ok {
		return wrapped.Err
	}
	return err
}
