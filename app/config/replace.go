package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// errChanged says that a file is not what it was when it was read.
var errChanged = errors.New("the file was changed meanwhile")

// replace puts a new text in the place of a file in one step: whoever looks
// sees the old file or the new one, also after a crash or on a full disk. A new
// file has mode 0600, an old one keeps its mode; a link stays a link.
func replace(file string, text, old []byte, isNew bool) (err error) {
	real, mode := file, fs.FileMode(0o600)
	if isNew {
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return fmt.Errorf("write %s: %w", file, err)
		}
	} else {
		if real, err = filepath.EvalSymlinks(file); err != nil {
			return fmt.Errorf("write %s: %w", file, err)
		}
		info, err := os.Stat(real)
		if err != nil {
			return fmt.Errorf("write %s: %w", file, err)
		}
		mode = info.Mode().Perm()
	}
	tmp, err := os.CreateTemp(filepath.Dir(real), ".tenon-new-*")
	if err != nil {
		return fmt.Errorf("write %s: %w; the file was left as it is", file, err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(tmp.Name())
		}
	}()
	_, err = tmp.Write(text)
	if err == nil {
		err = tmp.Chmod(mode)
	}
	if err == nil {
		err = tmp.Sync()
	}
	if closed := tmp.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return fmt.Errorf("write %s: %w; the file was left as it is", file, err)
	}
	now, err := os.ReadFile(real)
	if missing := errors.Is(err, fs.ErrNotExist); missing != isNew || err == nil && !bytes.Equal(now, old) {
		return errChanged
	}
	if err = os.Rename(tmp.Name(), real); err != nil {
		return fmt.Errorf("write %s: %w; the file was left as it is", file, err)
	}
	return nil
}
