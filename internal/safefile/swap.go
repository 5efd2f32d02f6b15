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

// ErrChanged is the error of [Swap] when the file is not what the caller read.
var ErrChanged = errors.New("another program changed the file in the meantime")

// errOpen says that another program could still write to the old file.
var errOpen = fmt.Errorf("%w: it has the file open for writing", ErrChanged)

// maxSwaps bounds how often a file is put back while another program keeps
// replacing it.
const maxSwaps = 100

// exchanged is called by [Swap] after it has exchanged the names; tests replace
// it by another program.
var exchanged = func() {}

// Swap gives the file temp the name of an existing file in the same directory
// if that file still has the content old, and removes the old file. Otherwise
// the error is [ErrChanged], or an [fs.ErrNotExist] where there is no such file
// any more, name keeps what the other program wrote, and temp is left for the
// caller to remove.
//
// Where the system can exchange two names in one step (Linux, macOS), the
// comparison is repeated after the exchange: a program that saves at the last
// moment is noticed, and its file is put back. On Linux a program that has the
// file open for writing is noticed too, and one that opens it for writing waits
// until it is decided which file has the name. If a program has saved to both
// files nevertheless, the error is another one and names the file in which the
// second version is kept.
func Swap(dir *os.Root, temp, name string, old []byte) error {
	ours, err := dir.Lstat(temp)
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
		held.Close() // who has waited until now opens the old file: that is found by comparing
		changed = compare(dir, temp, old)
	}
	if changed == nil {
		dir.Remove(temp) // if that fails, Sweep does it
		return nil
	}
	if err := putBack(dir, temp, name, ours); err != nil {
		return errors.Join(err, keepConflict(dir, temp, name))
	}
	if wasWritten(dir, temp, ours) {
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

// keepConflict gives a file that another program wrote a name of its own beside
// name, and returns an error that tells it. It is no [ErrChanged]: to try again
// would hide it.
func keepConflict(dir *os.Root, temp, name string) error {
	for i := 1; ; i++ {
		kept := fmt.Sprintf("%s.conflict-%d", name, i)
		err := dir.Link(temp, kept)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			err = dir.Rename(temp, kept) // a file system without links
		}
		return errors.Join(err, fmt.Errorf("another program saved %s while it was replaced: a version that it wrote is in %s", name, kept))
	}
}

// putBack undoes an exchange. If the other program has replaced the file again
// meanwhile, what comes out is newer than what was put back, so it is put back
// in turn, until what comes out is what went in the time before.
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
	return fmt.Errorf("another program replaces %s all the time", name)
}

// compare reports whether a file has a content that nobody is about to change.
func compare(dir *os.Root, name string, want []byte) error {
	f, err := hold(dir, name, want)
	if err == nil {
		f.Close()
	}
	return err
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
// that what was read of it may be half of a new content. Only Linux tells;
// elsewhere the answer is no.
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
