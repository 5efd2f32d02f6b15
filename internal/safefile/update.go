package safefile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// maxUpdate is the maximum size of a file for [Update].
const maxUpdate = 64 << 20

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
