package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tenon-mcp/tenon/internal/safefile"
)

// errChanged says that a file is not what it was when it was read.
var errChanged = errors.New("the file was changed meanwhile")

// replace puts a new text in the place of a file in one step: whoever looks
// sees the old file or the new one, also after a crash or on a full disk. A new
// file has mode 0600, an old one keeps its mode; a link stays a link.
func replace(file string, text, old []byte, isNew bool) error {
	real := file
	if !isNew {
		var err error
		if real, err = filepath.EvalSymlinks(file); err != nil {
			return fmt.Errorf("write %s: %w", file, err)
		}
	}
	err := safefile.ReplacePath(real, text, 0o600, func() error {
		now, err := os.ReadFile(real)
		if missing := errors.Is(err, fs.ErrNotExist); missing != isNew || err == nil && !bytes.Equal(now, old) {
			return errChanged
		}
		return nil
	})
	if err != nil && err != errChanged {
		return fmt.Errorf("write %s: %w; the file was left as it is", file, err)
	}
	return err
}
