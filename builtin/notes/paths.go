package notes

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/tenon-mcp/tenon/internal/textclip"
)

const (
	extension = ".md"
	uriPrefix = "obsidian://note/"
	maxPath   = 1024
	maxName   = 200 // bytes of one element; every file system supports it
)

// cleanPath returns the path of a note. It never leads out of the vault nor
// into a folder whose name begins with a dot.
func cleanPath(input string) (string, error) {
	if strings.HasSuffix(input, "/") {
		return "", fmt.Errorf("%q is a folder; name a note in it", clip(input))
	}
	name, err := cleanFolder(input)
	if err != nil {
		return "", err
	}
	if ext := path.Ext(name); !strings.EqualFold(ext, extension) {
		name += extension
	}
	return name, nil
}

// cleanFolder returns the path of a folder, under the same rules.
func cleanFolder(input string) (string, error) {
	refuse := func(why string) error {
		return fmt.Errorf("invalid path %q: %s. Paths are relative to the vault, such as Projects/Garden.md", clip(input), why)
	}
	switch {
	case input == "":
		return "", refuse("it is empty")
	case len(input) > maxPath:
		return "", refuse(fmt.Sprintf("it is longer than %d bytes", maxPath))
	case !utf8.ValidString(input):
		return "", refuse("it is not valid UTF-8")
	case strings.HasPrefix(input, "/"):
		return "", refuse("it begins with a slash")
	case strings.HasPrefix(input, "~"):
		return "", refuse("~ is not supported")
	case strings.Contains(input, `\`):
		return "", refuse("separate folders with /")
	}
	for part := range strings.SplitSeq(input, "/") {
		if part == ".." {
			return "", refuse("it must not contain ..")
		}
		if part != "." && strings.HasPrefix(part, ".") {
			return "", refuse("names that begin with a dot are not served")
		}
		if strings.ContainsFunc(part, unicode.IsControl) {
			return "", refuse("it contains a control character")
		}
		if windows && !portable(part) {
			return "", refuse(fmt.Sprintf("%q is not a valid name on this system", part))
		}
	}
	name := path.Clean(input)
	if name == "." || !fs.ValidPath(name) {
		return "", refuse("it names no note")
	}
	return name, nil
}

// checkNew rejects names that are invalid on one of the systems that a vault
// may be copied to.
func checkNew(name string) error {
	for part := range strings.SplitSeq(name, "/") {
		if len(part) > maxName {
			return fmt.Errorf("the name %q is too long; the maximum is %d bytes", clip(part), maxName)
		}
		if !portable(part) {
			return fmt.Errorf(`the name %q does not work on every system; avoid " * : < > ? | and \, dots or spaces at the end, and names such as CON`, clip(part))
		}
	}
	return nil
}

func portable(part string) bool {
	return part != "" && !strings.ContainsAny(part, `"*:<>?|\`) && !strings.HasSuffix(part, ".") && !strings.HasSuffix(part, " ") && !reserved(part)
}

// reserved reports whether Windows reserves a name for a device.
func reserved(part string) bool {
	base, _, _ := strings.Cut(strings.ToLower(part), ".")
	base = strings.TrimRight(base, " ")
	switch base {
	case "con", "prn", "aux", "nul", "conin$", "conout$":
		return true
	}
	rest, ok := strings.CutPrefix(base, "com")
	if !ok {
		rest, ok = strings.CutPrefix(base, "lpt")
	}
	return ok && (len(rest) == 1 && rest >= "0" && rest <= "9" || rest == "¹" || rest == "²" || rest == "³")
}

// uriOf returns the URI of a note.
func uriOf(name string) string {
	const keep = "-._~/:[]@!$&'()*+,;="
	var b strings.Builder
	b.Grow(len(uriPrefix) + len(name) + 16)
	b.WriteString(uriPrefix)
	for i := range len(name) {
		c := name[i]
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte(keep, c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// pathOf returns the path of a URI, decoded once and checked.
func pathOf(uri string) (string, bool) {
	rest, ok := strings.CutPrefix(uri, uriPrefix)
	if !ok {
		return "", false
	}
	input, err := url.PathUnescape(rest)
	if err != nil {
		return "", false
	}
	name, err := cleanPath(input)
	return name, err == nil
}

// key returns a path or name in the form in which links are compared:
// without the extension, lower case, NFC.
func key(name string) string {
	if len(name) > len(extension) && strings.EqualFold(name[len(name)-len(extension):], extension) {
		name = name[:len(name)-len(extension)]
	}
	for i := range len(name) {
		if name[i] >= utf8.RuneSelf {
			return strings.ToLower(norm.NFC.String(name))
		}
	}
	return strings.ToLower(name)
}

// baseName returns the name of a note without folders and extension.
func baseName(name string) string {
	base := path.Base(name)
	return base[:len(base)-len(path.Ext(base))]
}

// clip shortens text from others for errors.
func clip(s string) string { return textclip.Clip(s, 120) }

var errLink = errors.New("symbolic links are not followed")
