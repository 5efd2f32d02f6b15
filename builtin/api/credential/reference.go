// Package credential adds the credentials of API files to requests.
//
// A file has only references to secrets: ${env:NAME}, ${env:NAME:-default},
// ${keyring:name} and ${file:path}. The values are resolved here, are used in
// requests only, and are in no error. Every secret, also a token obtained later,
// is announced, so that the caller can remove it from what leaves the process.
package credential

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"

	"github.com/zalando/go-keyring"
)

// A Resolver finds the values of references. The zero value uses the environment,
// the keyring and the files of the user.
type Resolver struct {
	// Getenv returns an environment variable. Nil means [os.LookupEnv].
	Getenv func(name string) (string, bool)
	// Keyring returns a secret of the keyring, or "". Nil means the keyring of
	// the operating system, where tenon config keeps the secrets of servers.
	Keyring func(name string) (string, error)
	// NoFiles says that files have no values.
	NoFiles bool
	// Dir is the folder of relative paths.
	Dir string
	// Missing is used for references that have no value; nil means that they
	// are missing. tenon api test sets it.
	Missing func(reference string) string
	// Found is called with each value found; may be nil.
	Found func(secret string)
}

var reference = regexp.MustCompile(`\$\{(env|keyring|file):([^}]*)\}`)

// CheckReferences returns an error if a text has a reference that is not well
// formed.
func CheckReferences(text string) error {
	rest := reference.ReplaceAllString(text, "")
	if strings.Contains(rest, "${") {
		return errors.New("has an unknown reference; use ${env:NAME}, ${env:NAME:-default}, ${keyring:name} or ${file:path}")
	}
	return nil
}

// HasReference reports whether a text refers to a value.
func HasReference(text string) bool { return reference.MatchString(text) }

// hasDefault reports whether a reference of a text has a default that is not empty.
func hasDefault(text string) bool {
	for _, m := range reference.FindAllStringSubmatch(text, -1) {
		if _, def, _ := strings.Cut(m[2], ":-"); m[1] == "env" && def != "" {
			return true
		}
	}
	return false
}

// Public returns a text with its references replaced, like [Resolver.Expand], by
// values that are not secret, such as a user name.
func (r *Resolver) Public(text string) (string, error) {
	public := *r
	public.Found = nil
	return public.Expand(text)
}

// Expand returns a text with its references replaced by secrets.
func (r *Resolver) Expand(text string) (string, error) {
	if err := CheckReferences(text); err != nil {
		return "", err
	}
	var failed error
	out := reference.ReplaceAllStringFunc(text, func(written string) string {
		m := reference.FindStringSubmatch(written)
		value, err := r.lookup(m[1], m[2])
		if errors.Is(err, errMissing) && r.Missing != nil {
			value, err = r.Missing(written), nil
		}
		if errors.Is(err, errMissing) {
			failed = errors.Join(failed, &unset{m[1], m[2], err})
		} else if err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s %w", written, err))
		}
		if _, def, _ := strings.Cut(m[2], ":-"); value != "" && value != def && r.Found != nil {
			r.Found(value)
		}
		return value
	})
	if failed == nil && strings.ContainsAny(out, "\x00") {
		failed = errors.New("has a zero byte")
	}
	return out, failed
}

func (r *Resolver) lookup(kind, name string) (string, error) {
	switch kind {
	case "env":
		return r.env(name)
	case "keyring":
		return r.keyring(name)
	}
	return r.file(name)
}

func (r *Resolver) env(name string) (string, error) {
	getenv := r.Getenv
	if getenv == nil {
		getenv = os.LookupEnv
	}
	name, def, hasDefault := strings.Cut(name, ":-")
	value, _ := getenv(name)
	switch {
	case value != "":
		return value, nil
	case hasDefault:
		return def, nil
	}
	return "", errMissing
}

func (r *Resolver) keyring(name string) (string, error) {
	get := r.Keyring
	if get == nil {
		get = systemKeyring
	}
	value, err := get(name)
	if err == nil && value == "" {
		err = errMissing
	}
	return value, err
}

// maxSecretFile is the maximum size of a file with a secret.
const maxSecretFile = 64 << 10

func (r *Resolver) file(name string) (string, error) {
	if r.NoFiles {
		return "", errMissing
	}
	if rest, ok := strings.CutPrefix(name, "~/"); ok {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", errMissing
		}
		name = filepath.Join(home, rest)
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(r.Dir, name)
	}
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "", errMissing
	case err != nil:
		return "", errors.New("cannot be read")
	case !info.Mode().IsRegular() || info.Size() > maxSecretFile:
		return "", fmt.Errorf("is not a file of at most %d KiB", maxSecretFile>>10)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return "", errors.New("cannot be read")
	}
	return strings.TrimSpace(string(data)), nil
}

// keyringService is where tenon config keeps the secrets of servers.
const keyringService = "tenon-servers"

// keyringTimeout bounds the wait for a keyring that asks the user to unlock it.
const keyringTimeout = 5 * time.Second

func systemKeyring(name string) (string, error) {
	if runtime.GOOS == "linux" && os.Getenv("DBUS_SESSION_BUS_ADDRESS") == "" {
		if _, err := os.Stat(os.Getenv("XDG_RUNTIME_DIR") + "/bus"); os.Getenv("XDG_RUNTIME_DIR") == "" || err != nil {
			return "", errNoKeyring
		}
	}
	type found struct {
		value string
		err   error
	}
	done := make(chan found, 1)
	go func() { // ends with the keyring's answer
		value, err := keyring.Get(keyringService, name)
		done <- found{value, err}
	}()
	select {
	case f := <-done:
		if errors.Is(f.err, keyring.ErrNotFound) {
			return "", errMissing
		}
		if f.err != nil {
			return "", errNoKeyring // a bus without one, as on servers
		}
		return f.value, nil
	case <-time.After(keyringTimeout):
		return "", errors.New("is in the keyring, which timed out: unlock it")
	}
}
