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

// A path as a client writes it is absolute, relative, begins with ~, or is a
// file URI. readPath makes it absolute or relative, and clean, and refuses what
// means different things to different systems.

// errPath is why a path cannot be read at all.
func errPath(name, why string) error { return fmt.Errorf("the path %q %s", name, why) }

// windowsPath fits paths that only Windows understands: with a drive, of
// another machine, or of a device.
var windowsPath = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:[A-Za-z]:(?:[\\/]|$)|\\\\|//[?.]/)`) })

// maxPath is how long a path may be, in bytes: longer than any system takes.
const maxPath = 32 << 10

func readPath(name string) (string, error) {
	if name == "" {
		return "", errors.New(`the path is empty: use "." for the first allowed directory`)
	}
	if len(name) > maxPath {
		return "", fmt.Errorf("the path %q… has %d bytes: at most %d can be used", strings.ToValidUTF8(name[:40], ""), len(name), maxPath)
	}
	if len(name) >= 5 && strings.EqualFold(name[:5], "file:") {
		local, err := fromURI(name)
		if err != nil {
			return "", err
		}
		name = local
	}
	if strings.ContainsRune(name, 0) {
		return "", errPath(name, "has a zero byte in it")
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
			return "", errPath(name, "begins with ~, and the home directory is not known here")
		}
		name = filepath.Join(home, name[1:])
	}
	if err := windowsName(name); err != nil {
		return "", err
	}
	return filepath.Clean(name), nil
}

// windowsName refuses, on Windows, names that Windows takes for another one:
// those of devices, with a stream, with dots or spaces at the end, or in the
// short form. Elsewhere they are names like any other.
func windowsName(name string) error {
	if runtime.GOOS != "windows" {
		return nil
	}
	volume := filepath.VolumeName(name)
	if strings.HasPrefix(volume, `\\`) {
		return errPath(name, "is on another machine or a device")
	}
	rest := strings.TrimLeft(name[len(volume):], `\/`)
	if rest != "" && rest != "." && !strings.HasPrefix(rest, "..") && !filepath.IsLocal(rest) {
		return errPath(name, "has a name in it that Windows reserves for devices or streams")
	}
	for part := range strings.FieldsFuncSeq(rest, func(r rune) bool { return r == '\\' || r == '/' }) {
		if part != "." && part != ".." && strings.TrimRight(part, ". ") != part || strings.Contains(part, ":") {
			return errPath(name, "has a name in it that Windows takes for another one: no colon, and no dot or space at the end")
		}
		if shortName().MatchString(part) {
			return errPath(name, "has a short name in it: write the long one")
		}
	}
	return nil
}

// shortName fits the names that Windows makes up for old programs.
var shortName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)^[^.]{1,6}~\d{1,6}(\..{0,3})?$`) })

// fromURI returns the path that a file URI names. It is decoded once.
func fromURI(uri string) (string, error) {
	u, err := url.Parse(uri)
	if err != nil || !strings.EqualFold(u.Scheme, "file") {
		return "", fmt.Errorf("%q is not a file URI, as file:///dir/name is", uri)
	}
	if u.Host != "" && !strings.EqualFold(u.Host, "localhost") {
		return "", denied("%q names a file on the host %q: only files of this machine can be reached, as file:///dir/name", uri, u.Host)
	}
	if u.Opaque != "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return "", fmt.Errorf("%q is not a plain file URI: write it as file:///dir/name, with %%3F for ? and %%23 for #", uri)
	}
	local := u.Path
	if runtime.GOOS == "windows" {
		local = strings.TrimPrefix(local, "/")
	} else if !strings.HasPrefix(local, "/") {
		return "", fmt.Errorf("%q has no absolute path: write it as file:///dir/name", uri)
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

// within returns the part of an absolute path below a directory, with slashes,
// and "." for the directory itself. Where the system does not care about case,
// neither does it: that decides only which root is asked, and the root decides.
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
