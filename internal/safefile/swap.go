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

// Swap gives the file temp the name of an existing file in the same directory
// if that file still has the content old, and removes the old file. Otherwise
// the error is [ErrChanged], or an [fs.ErrNotExist] where there is no such file
// any more, name keeps what the other program wrote, and temp is left for the
// caller to remove.
//
// Where the system can exchange two names in one step (Linux, macOS), the
// comparison is repeated after the exchange: a program that saves at the last
// moment is noticed, and its file is put back. On Linux a program that has the
// file open for writing is noticed too.
func Swap(dir *os.Root, temp, name string, old []byte) error {
	ours, err := dir.Lstat(temp)
	if err != nil {
		return err
	}
	if err := compare(dir, name, old); err != nil {
		return err
	}
	switch err := exchange(dir, temp, name); {
	case errors.Is(err, errors.ErrUnsupported):
		return dir.Rename(temp, name)
	case err != nil:
		return err
	}
	changed := compare(dir, temp, old)
	if changed == nil {
		dir.Remove(temp) // if that fails, Sweep does it
		return nil
	}
	if err := putBack(dir, temp, name, ours); err != nil {
		kept := name + ".conflict"
		return errors.Join(changed, err, dir.Rename(temp, kept), fmt.Errorf("what the other program wrote is in %s", kept))
	}
	return changed
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
	info, err := dir.Lstat(name)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() || info.Size() != int64(len(want)) {
		return ErrChanged
	}
	f, err := dir.OpenFile(name, os.O_RDONLY|dontWait, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if isOpenForWriting(f) {
		return errOpen
	}
	have, err := io.ReadAll(io.LimitReader(f, int64(len(want))+1))
	if err != nil {
		return err
	}
	if !bytes.Equal(have, want) {
		return ErrChanged
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
	return isOpenForWriting(f)
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
