// Package safefile writes files so that a reader, a crash or a full disk never
// meets half of one: what is at a name is the old content or the new, whole.
//
// New content is written to a file of its own beside the old one, synced to the
// disk, and moved into place; then the directory is synced. Everything happens
// below an [os.Root], so no name leads out of it ([WritePath] and [Update] open their own).
// A process that is killed may leave that other file behind; [Sweep] removes it.
//
// Processes that change files by reading them first do so with [Update], or hold
// [Lock] meanwhile and write with [ReplaceSame], so that none overwrites what
// another has written.
package safefile

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"syscall"
)

// WriteFile replaces or creates a file. An existing file keeps its permissions;
// a new one gets perm, less the umask. The directory must exist.
func WriteFile(root *os.Root, name string, data []byte, perm fs.FileMode) error {
	keep := false
	if old, err := root.Lstat(name); err == nil {
		if !old.Mode().IsRegular() {
			return &fs.PathError{Op: "write", Path: name, Err: errors.New("it is not a regular file")}
		}
		perm, keep = old.Mode().Perm(), true
	}
	return write(root, name, data, perm, keep, func(temp string) error { return root.Rename(temp, name) })
}

// ReplaceSame replaces a file that has the content old. If it has another one
// when the new one is written, the error is [ErrChanged] and nothing is
// replaced; see [Swap].
func ReplaceSame(root *os.Root, name string, data, old []byte) error {
	info, err := root.Lstat(name)
	if err != nil {
		return err
	}
	dir, err := root.OpenRoot(path.Dir(name))
	if err != nil {
		return err
	}
	defer dir.Close()
	base := path.Base(name)
	return write(dir, base, data, info.Mode().Perm(), true, func(temp string) error { return Swap(dir, temp, base, old) })
}

// Move renames a file or directory below a root. It never replaces anything:
// the error is then an [fs.ErrExist].
func Move(root *os.Root, from, to string) error {
	fromDir, err := root.Open(path.Dir(from))
	if err != nil {
		return err
	}
	defer fromDir.Close()
	toDir, err := root.Open(path.Dir(to))
	if err != nil {
		return err
	}
	defer toDir.Close()
	err = RenameNew(fromDir, path.Base(from), toDir, path.Base(to))
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EINVAL) {
		if _, err := root.Lstat(to); err == nil {
			return &fs.PathError{Op: "move", Path: to, Err: fs.ErrExist}
		}
		err = root.Rename(from, to)
	}
	if err != nil {
		return err
	}
	return errors.Join(syncDir(root, path.Dir(to)), syncDir(root, path.Dir(from)))
}

// WritePath is [WriteFile] for a file named by its path. A missing directory is
// created, for this user only.
func WritePath(file string, data []byte, perm fs.FileMode) error {
	dir := filepath.Dir(file)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	return WriteFile(root, filepath.Base(file), data, perm)
}

// Create writes a file that must not exist yet; otherwise the error is an
// [fs.ErrExist], also when somebody else is quicker.
func Create(root *os.Root, name string, data []byte, perm fs.FileMode) error {
	if _, err := root.Lstat(name); err == nil {
		return &fs.PathError{Op: "create", Path: name, Err: fs.ErrExist}
	}
	return write(root, name, data, perm, false, func(temp string) error {
		err := root.Link(temp, name) // fails if the name is taken, unlike a move
		if err == nil || errors.Is(err, fs.ErrExist) {
			return errors.Join(err, root.Remove(temp))
		}
		// Some file systems have no links; there the look before has to do.
		if _, err := root.Lstat(name); err == nil {
			return &fs.PathError{Op: "create", Path: name, Err: fs.ErrExist}
		}
		return root.Rename(temp, name)
	})
}

// write writes data to a file of its own and has place put it where it belongs.
// If anything fails, that file is gone again. keep says that perm is that of an
// older file, which the umask has nothing to say about.
func write(root *os.Root, name string, data []byte, perm fs.FileMode, keep bool, place func(temp string) error) error {
	dir := path.Dir(name)
	temp, done := newTemp(dir)
	defer done()
	f, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil && keep {
		err = f.Chmod(perm)
	}
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = place(temp)
	}
	if err != nil {
		root.Remove(temp) // it may be gone already
		return err
	}
	return syncDir(root, dir)
}
