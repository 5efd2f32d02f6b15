package fs

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"unicode/utf8"
)

// A client writes a path as an absolute path, a relative path, a path that
// begins with ~, or a file URI. readPath returns it clean, absolute or
// relative, and rejects paths that have different meanings on different
// systems.

// errPath returns the error for a path that cannot be parsed.
func errPath(name, why string) error { return fmt.Errorf("the path %q %s", name, why) }

// windowsPath matches paths that only Windows understands: with a drive, a
// network share or a device.
var windowsPath = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:[A-Za-z]:(?:[\\/]|$)|\\\\|//[?.]/)`) })

// maxPath is the maximum length of a path in bytes; no system accepts more.
const maxPath = 32 << 10

func readPath(name string) (string, error) {
	if name == "" {
		return "", errors.New(`the path is empty: use "." for the first allowed directory`)
	}
	if len(name) > maxPath {
		return "", fmt.Errorf("the path %q… has %d bytes; the maximum is %d", strings.ToValidUTF8(name[:40], ""), len(name), maxPath)
	}
	if len(name) >= 5 && strings.EqualFold(name[:5], "file:") {
		local, err := fromURI(name)
		if err != nil {
			return "", err
		}
		name = local
	}
	if strings.ContainsRune(name, 0) {
		return "", errPath(name, "contains a zero byte")
	}
	if !utf8.ValidString(name) {
		return "", errPath(name, "is not valid UTF-8")
	}
	if runtime.GOOS != "windows" && windowsPath().MatchString(name) {
		return "", denied("Windows-style path received on a POSIX host: %s", name)
	}
	if name == "~" || strings.HasPrefix(name, "~/") || runtime.GOOS == "windows" && strings.HasPrefix(name, `~\`) {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", errPath(name, "begins with ~, but the home directory is unknown")
		}
		name = filepath.Join(home, name[1:])
	}
	if err := windowsName(name); err != nil {
		return "", err
	}
	return filepath.Clean(name), nil
}

// windowsName rejects, on Windows, names that Windows resolves to another
// file: devices, alternate streams, names that end in dots or spaces, and
// short names. Elsewhere these names are ordinary.
func windowsName(name string) error {
	if runtime.GOOS != "windows" {
		return nil
	}
	volume := filepath.VolumeName(name)
	if strings.HasPrefix(volume, `\\`) {
		return errPath(name, "is a network share or a device")
	}
	rest := strings.TrimLeft(name[len(volume):], `\/`)
	if rest != "" && rest != "." && !strings.HasPrefix(rest, "..") && !filepath.IsLocal(rest) {
		return errPath(name, "contains a name that Windows reserves for devices or streams")
	}
	for part := range strings.FieldsFuncSeq(rest, func(r rune) bool { return r == '\\' || r == '/' }) {
		if part != "." && part != ".." && strings.TrimRight(part, ". ") != part || strings.Contains(part, ":") {
			return errPath(name, "contains a name that Windows would change; remove colons, and dots and spaces at the end")
		}
		if shortName().MatchString(part) {
			return errPath(name, "contains a short (8.3) name; use the long one")
		}
	}
	return nil
}

// shortName matches the 8.3 names of Windows.
var shortName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)^[^.]{1,6}~\d{1,6}(\..{0,3})?$`) })

// fromURI returns the path of a file URI, decoded once.
func fromURI(uri string) (string, error) {
	u, err := url.Parse(uri)
	if err != nil || !strings.EqualFold(u.Scheme, "file") {
		return "", fmt.Errorf("%q is not a file URI such as file:///dir/name", uri)
	}
	if u.Host != "" && !strings.EqualFold(u.Host, "localhost") {
		return "", denied("%q names a file on host %q; only local files are allowed, such as file:///dir/name", uri, u.Host)
	}
	if u.Opaque != "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return "", fmt.Errorf("%q is not a plain file URI; write it as file:///dir/name, with %%3F for ? and %%23 for #", uri)
	}
	local := u.Path
	if runtime.GOOS == "windows" {
		local = strings.TrimPrefix(local, "/")
	} else if !strings.HasPrefix(local, "/") {
		return "", fmt.Errorf("%q has no absolute path; write it as file:///dir/name", uri)
	}
	return filepath.FromSlash(local), nil
}

// toURI returns the URI of an absolute path.
func toURI(name string) string {
	name = filepath.ToSlash(name)
	if !strings.HasPrefix(name, "/") {
		name = "/" + name // a drive
	}
	return (&url.URL{Scheme: "file", Path: name}).String()
}

// within returns the part of an absolute path below a directory, with
// slashes, and "." for the directory itself. It ignores case where the
// system usually does; this only selects the root, and [os.Root] decides.
func within(dir, name string) (rel string, ok bool) {
	same := func(a, b string) bool { return a == b }
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		same = strings.EqualFold
	}
	if same(dir, name) {
		return ".", true
	}
	prefix := strings.TrimSuffix(dir, string(filepath.Separator)) + string(filepath.Separator)
	if len(name) > len(prefix) && same(name[:len(prefix)], prefix) {
		return path.Clean(filepath.ToSlash(name[len(prefix):])), true
	}
	return "", false
}
