package safefile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
)

// ErrChanged is the error of [Swap] if the file has another content than expected.
var ErrChanged = errors.New("another program changed the file in the meantime")

// errOpen means that another program can still write to the old file.
var errOpen = fmt.Errorf("%w: it has the file open for writing", ErrChanged)

// maxSwaps is the number of attempts to restore a file that another program keeps
// replacing.
const maxSwaps = 100

// exchanged is called by [Swap] after it has exchanged the names, for tests.
var exchanged = func() {}

// Swap replaces the file name by temp, in the same directory, if name still has
// the content old. Otherwise the error is [ErrChanged], or an [fs.ErrNotExist] if
// name does not exist; name is unchanged, and the caller must remove temp.
//
// On Linux and macOS Swap exchanges both names atomically and compares again, so
// that it detects a program that saves at the last moment and restores its file.
// On Linux it also detects a program that has the file open for writing, and makes
// a program that opens it for writing wait for the result. If a program has written
// to both files, the error names the file with the second version. What it cannot
// detect is a program whose open starts before the exchange and ends after Swap.
func Swap(dir *os.Root, temp, name string, old []byte) error {
	written, err := dir.Lstat(temp)
	if err != nil {
		return err
	}
	held, err := hold(dir, name, old)
	if err != nil {
		return err
	}
	defer held.Close()
	switch err := exchange(dir, temp, name); {
	case errors.Is(err, errors.ErrUnsupported):
		held.Close() // on Windows an open file cannot be replaced
		return dir.Rename(temp, name)
	case err != nil:
		return err
	}
	exchanged()
	changed := held.check(dir, temp)
	if changed == nil {
		held.Close() // a program that waited opens the old file now; removeSame detects it
		changed = removeSame(dir, temp, old)
	}
	if changed == nil {
		return nil
	}
	if err := putBack(dir, temp, name, written); err != nil {
		return errors.Join(err, keepConflict(dir, temp, name))
	}
	if wasWritten(dir, temp, written) {
		return keepConflict(dir, temp, name)
	}
	return changed
}

// wasWritten reports whether another program has changed a file, or is about to.
func wasWritten(dir *os.Root, name string, before fs.FileInfo) bool {
	now, err := dir.Lstat(name)
	return err == nil && os.SameFile(now, before) &&
		(now.Size() != before.Size() || !now.ModTime().Equal(before.ModTime()) || BeingWritten(dir, name))
}

// keepConflict renames a file that another program wrote to a new name beside name
// and returns an error with that name. The error is not [ErrChanged], because a
// retry would hide it.
func keepConflict(dir *os.Root, temp, name string) error {
	for i := 1; ; i++ {
		copied := fmt.Sprintf("%s.conflict-%d", name, i)
		err := dir.Link(temp, copied)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			err = dir.Rename(temp, copied) // a file system without links
		}
		return errors.Join(err, fmt.Errorf("another program saved %s while it was replaced: a version that it wrote is in %s", name, copied))
	}
}

// putBack undoes an exchange. If the other program has replaced the file again,
// the exchange returns a newer file, so putBack repeats it until it gets back the
// file of the previous exchange.
func putBack(dir *os.Root, temp, name string, expected fs.FileInfo) error {
	for range maxSwaps {
		restored, err := dir.Lstat(temp)
		if err != nil {
			return err
		}
		err = exchange(dir, temp, name)
		if errors.Is(err, fs.ErrNotExist) { // our file was moved away or removed
			if err = dir.Link(temp, name); err == nil || !errors.Is(err, fs.ErrExist) {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		out, err := dir.Lstat(temp)
		if err != nil {
			return err
		}
		if os.SameFile(out, expected) {
			return nil
		}
		expected = restored
	}
	return fmt.Errorf("another program keeps replacing %s", name)
}

// removeSame removes a file that has the content want and is not open for writing.
// No program that opens it for writing goes on before it is removed.
func removeSame(dir *os.Root, name string, want []byte) error {
	f, err := hold(dir, name, want)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.check(dir, name); err != nil {
		return err
	}
	dir.Remove(name) // if that fails, Sweep does it
	return nil
}

// A heldFile is an open file. Where leased, other programs that open it for
// writing wait until it is closed.
type heldFile struct {
	*os.File
	leased bool
}

// hold opens a file that must have the content want and must not be open for
// writing.
func hold(dir *os.Root, name string, want []byte) (held heldFile, err error) {
	info, err := dir.Lstat(name)
	if err != nil {
		return held, err
	}
	if !info.Mode().IsRegular() || info.Size() != int64(len(want)) {
		return held, ErrChanged
	}
	f, err := dir.OpenFile(name, os.O_RDONLY|dontWait, 0)
	if err != nil {
		return held, err
	}
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	leased, writers := lease(f)
	if writers {
		return held, errOpen
	}
	have, err := io.ReadAll(io.LimitReader(f, int64(len(want))+1))
	if err != nil {
		return held, err
	}
	if !bytes.Equal(have, want) {
		return held, ErrChanged
	}
	return heldFile{f, leased}, nil
}

// check reports whether a name is that of the held file and no other program
// waits for writing to it.
func (f heldFile) check(dir *os.Root, name string) error {
	is, err := f.Stat()
	if err != nil {
		return err
	}
	there, err := dir.Lstat(name)
	if err != nil {
		return err
	}
	if !os.SameFile(is, there) {
		return ErrChanged
	}
	if f.leased && isAwaited(f.File) {
		return errOpen
	}
	return nil
}

// BeingWritten reports whether another program has a file open for writing, so
// that its content may be incomplete. It returns false on systems other than
// Linux.
func BeingWritten(root *os.Root, name string) bool {
	f, err := root.OpenFile(name, os.O_RDONLY|dontWait, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	_, writers := lease(f)
	return writers
}

// Retry calls change until it succeeds or fails with another error than
// [ErrChanged], for about half a second. change reads the file again each time.
func Retry[T any](ctx context.Context, change func() (T, error)) (T, error) {
	for pause := time.Millisecond; ; pause *= 2 {
		out, err := change()
		if !errors.Is(err, ErrChanged) || pause > 256*time.Millisecond {
			return out, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return out, err
		}
	}
}
