package sealed

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/tenon-mcp/tenon/internal/safefile"
)

// maxKeyFile is larger than any file of keys.
const maxKeyFile = 64 << 10

// KeyFile reads keys from a file; see [ParseKeys]. It refuses a file that other
// users can read.
func KeyFile(path string) (*Keys, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the key of the logins: %w", err)
	case !info.Mode().IsRegular() || info.Size() > maxKeyFile:
		return nil, fmt.Errorf("read the key of the logins: %s is not a file of keys", path)
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0:
		return nil, fmt.Errorf("read the key of the logins: %s is accessible to other users (mode %04o); run chmod 600 on it", path, info.Mode().Perm())
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the key of the logins: %w", err)
	}
	keys, err := ParseKeys(string(text))
	if err != nil {
		return nil, fmt.Errorf("read the key of the logins: %s: %w", path, err)
	}
	return keys, nil
}

// MakeKeyFile is like [KeyFile], and creates a file with a random key if there is
// none. Of processes that start together, one creates it.
func MakeKeyFile(path string) (*Keys, error) {
	keys, err := KeyFile(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return keys, err
	}
	if err := createKeyFile(path); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("create the key of the logins: %w", err)
	}
	return KeyFile(path)
}

// createKeyFile writes a new key to a file that does not exist yet.
func createKeyFile(path string) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	return safefile.Create(root, filepath.Base(path), []byte(NewKey()+"\n"), 0o600)
}

// NewKey returns a random key in base64.
func NewKey() string {
	raw := make([]byte, KeySize)
	_, _ = rand.Read(raw) // it never fails
	return base64.StdEncoding.EncodeToString(raw)
}
