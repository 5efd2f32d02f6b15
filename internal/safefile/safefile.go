// Package safefile writes files atomically: a file has its complete old or its
// complete new content, even after a crash or with a full disk.
//
// New content is written to a temporary file in the same directory, synced, and
// renamed; then the directory is synced. All names are below an [os.Root];
// [WritePath] and [Update] open their own. A killed process may leave its temporary
// file; [Sweep] removes it.
//
// To change a file based on its content, use [Update], or hold [Lock] and write
// with [ReplaceSame], so that no process overwrites the change of another.
package safefile

import (
	"context"
	"errors"
	"fmt"
	"io"
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
			return &fs.PathError{Op: "write", Path: name, Err: errors.New("not a regular file")}
		}
		perm, keep = old.Mode().Perm(), true
	}
	return write(root, name, data, perm, keep, func(temp string) error { return root.Rename(temp, name) })
}

// ReplaceSame replaces a file that has the content old. If the content differs
// when the file is replaced, the error is [ErrChanged] and the file is unchanged;
// see [Swap].
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

// Move renames a file or directory below a root. If the new name exists, the error
// is an [fs.ErrExist].
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

// WritePath is [WriteFile] for a path. It creates a missing directory with mode
// 0700.
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

// Create writes a new file. If the name exists, also if another process creates it
// at the same time, the error is an [fs.ErrExist].
func Create(root *os.Root, name string, data []byte, perm fs.FileMode) error {
	if _, err := root.Lstat(name); err == nil {
		return &fs.PathError{Op: "create", Path: name, Err: fs.ErrExist}
	}
	return write(root, name, data, perm, false, func(temp string) error {
		err := root.Link(temp, name) // fails if the name exists, unlike a rename
		if err == nil || errors.Is(err, fs.ErrExist) {
			return errors.Join(err, root.Remove(temp))
		}
		// Some file systems have no links; there this check has to be enough.
		if _, err := root.Lstat(name); err == nil {
			return &fs.PathError{Op: "create", Path: name, Err: fs.ErrExist}
		}
		return root.Rename(temp, name)
	})
}

// write writes data to a temporary file and calls place to rename it. On an error
// it removes the file. With keep the umask does not apply to perm.
func write(root *os.Root, name string, data []byte, perm fs.FileMode, keep bool, place func(temp string) error) error {
	dir := path.Dir(name)
	temp, done := newTemp(dir)
	defer done()
	f, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return naming(name, err)
	}
	_, err = f.Write(data)
	if err == nil && keep {
		err = f.Chmod(perm)
	}
	if err == nil {
		err = f.Sync()
	}
	err = naming(name, errors.Join(err, f.Close()))
	if err == nil {
		err = place(temp)
	}
	if err != nil {
		root.Remove(temp) // place may have removed it
		return err
	}
	return syncDir(root, dir)
}

// maxUpdate is the maximum size of a file for [Update].
const maxUpdate = 64 << 20

// naming returns an error about the temporary file as one about the file that it
// stands for: nobody knows the other name.
func naming(name string, err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return &fs.PathError{Op: "write", Path: name, Err: p.Err}
	}
	return err
}

// Update changes a file that several processes change: it reads the file, calls
// edit for the new content, and replaces the file, while it holds the [Lock] of
// the directory. If a program that does not use Lock changes the file at the same
// time, Update retries for about half a second, so edit may be called several
// times. An error of edit leaves the file unchanged. edit must not block, because
// other processes wait for the lock.
//
// The old content of a missing file is nil. The file is created with mode perm,
// and a missing directory with mode 0700. An existing file keeps its permissions;
// if file is a symbolic link, its target is changed. Update calls [Sweep] for the
// directory.
func Update(file string, perm fs.FileMode, edit func(old []byte) ([]byte, error)) error {
	_, err := Retry(context.Background(), func() (struct{}, error) { return struct{}{}, update(file, perm, edit) })
	return err
}

func update(file string, perm fs.FileMode, edit func(old []byte) ([]byte, error)) error {
	target, err := filepath.EvalSymlinks(file)
	if errors.Is(err, fs.ErrNotExist) {
		if info, err := os.Lstat(file); err == nil && info.Mode().Type() == fs.ModeSymlink {
			return &fs.PathError{Op: "follow link", Path: file, Err: fs.ErrNotExist}
		}
		target, err = file, os.MkdirAll(filepath.Dir(file), 0o700)
	}
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(filepath.Dir(target))
	if err != nil {
		return err
	}
	defer root.Close()
	unlock, err := LockRoot(context.Background(), root, ".")
	if err != nil {
		return fmt.Errorf("lock %s: %w", filepath.Dir(target), err)
	}
	defer unlock()
	Sweep(root, ".")
	name := filepath.Base(target)
	old, err := readRegular(root, name)
	missing := errors.Is(err, fs.ErrNotExist)
	if err != nil && !missing {
		return err
	}
	data, err := edit(old)
	if err != nil {
		return err
	}
	if !missing {
		err = ReplaceSame(root, name, data, old)
	} else if err = Create(root, name, data, perm); errors.Is(err, fs.ErrExist) {
		err = fmt.Errorf("%w: %w", ErrChanged, err)
	}
	if errors.Is(err, fs.ErrNotExist) { // another program removed it
		err = fmt.Errorf("%w: %w", ErrChanged, err)
	}
	return err
}

// readRegular reads a file of bounded size. The content of an empty file is not
// nil.
func readRegular(root *os.Root, name string) ([]byte, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|dontWait, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", name)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxUpdate+1))
	if err == nil && len(data) > maxUpdate {
		err = fmt.Errorf("%s is larger than %d MiB", name, maxUpdate>>20)
	}
	return data, err
}
