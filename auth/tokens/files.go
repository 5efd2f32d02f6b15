package tokens

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/tenon-mcp/tenon/internal/safefile"
)

// Files is a Store with one file for each secret, readable by its owner only
// (mode 0600 in a directory of mode 0700; on Windows with the permissions of
// the user's profile). Files are replaced atomically, so a crash leaves the
// old content or the new.
//
// Several processes may use one directory.
type Files struct {
	// Dir is the directory, which is created by the first Save. Empty means
	// tenon/tokens in the user's configuration directory.
	Dir string
}

// maxFile is larger than any token.
const maxFile = 1 << 20

func (f *Files) dir() (string, error) {
	if f.Dir != "" {
		return f.Dir, nil
	}
	base, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("find the token directory: %w; set Dir", err)
	}
	return filepath.Join(base, "tenon", "tokens"), nil
}

// name returns the file of a key: a digest, so that a key cannot name
// another file.
func (f *Files) name(key string) (string, error) {
	dir, err := f.dir()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(key))
	return filepath.Join(dir, hex.EncodeToString(sum[:])), nil
}

// Lock implements [Locker]. It waits 30 seconds at most, and leaves an empty
// directory beside the file of the key. [Files.Save] takes no lock: the caller
// may hold it.
func (f *Files) Lock(ctx context.Context, key string) (unlock func(), err error) {
	name, err := f.name(key)
	if err != nil {
		return nil, err
	}
	name += ".lock"
	if err := os.MkdirAll(name, 0o700); err != nil {
		return nil, fmt.Errorf("lock a token: %w", err)
	}
	dir, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("lock a token: %w", err)
	}
	release, err := safefile.Lock(ctx, dir)
	if err != nil {
		_ = dir.Close()
		if errors.Is(err, safefile.ErrLocked) {
			err = ErrLocked
		}
		return nil, fmt.Errorf("lock a token: %w", err)
	}
	return func() {
		release()
		_ = dir.Close()
	}, nil
}

// Load implements [Store]. It refuses a file that others can read, because
// its token may be compromised.
func (f *Files) Load(_ context.Context, key string) (Secret, error) {
	name, err := f.name(key)
	if err != nil {
		return nil, err
	}
	info, err := os.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, ErrNotFound
	case err != nil:
		return nil, fmt.Errorf("load a token: %w", err)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("load a token: %s is not a regular file", name)
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0:
		return nil, fmt.Errorf("load a token: %s is accessible to other users (mode %04o); revoke the token, then delete the file", name, info.Mode().Perm())
	case info.Size() > maxFile:
		return nil, fmt.Errorf("load a token: %s is too large (%d bytes)", name, info.Size())
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("load a token: %w", err)
	}
	return data, nil
}

// Save implements [Store].
func (f *Files) Save(_ context.Context, key string, s Secret) error {
	name, err := f.name(key)
	if err != nil {
		return err
	}
	if old, err := os.Lstat(name); err == nil && old.Mode().IsRegular() && old.Mode().Perm() != 0o600 {
		if err := os.Chmod(name, 0o600); err != nil { // the new one would be open to the same others
			return fmt.Errorf("save a token: %w", err)
		}
	}
	if err := safefile.WritePath(name, s, 0o600); err != nil {
		return fmt.Errorf("save a token: %w", err)
	}
	return nil
}

// Delete implements [Store].
func (f *Files) Delete(_ context.Context, key string) error {
	name, err := f.name(key)
	if err != nil {
		return err
	}
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("delete a token: %w", err)
	}
	return nil
}
