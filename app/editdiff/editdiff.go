// Package editdiff finds out what a tool call would change in a text file, from its
// arguments and the file on the disk, and shows the change as a unified diff.
//
// A call that it does not understand completely has no diff: a wrong one would be
// worse than none.
package editdiff

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/internal/linediff"
	"github.com/tenon-mcp/tenon/internal/visible"
)

// The bounds of a diff.
const (
	maxFile    = 2 << 20 // bytes of a file that is compared
	maxLines   = 400
	maxColumns = 500 // characters of a line
)

// An Edit is the change of a text file that a call requests.
type Edit struct {
	// Path is the file as the call names it: absolute, or relative to one of the
	// folders of the server.
	Path string

	// Apply returns the new text. It fails if the change is not possible.
	Apply func(before string, exists bool) (after string, err error)
}

// A Diff is what a call would change in a file. Its texts are safe to show.
type Diff struct {
	Path    string   `json:"path"`           // of the file
	New     bool     `json:"new,omitzero"`   // the call creates it
	Added   int      `json:"added"`          // lines
	Removed int      `json:"removed"`        // lines
	Text    string   `json:"text,omitzero"`  // in the unified format, without header; context lines, and those that begin with + and -
	Left    int      `json:"left,omitzero"`  // lines of the text that are left out
	Notes   []string `json:"notes,omitzero"` // such as that line ends change, or why there is no text

	// Version identifies the content of the file that was compared.
	Version Version `json:"-"`
}

// A Version identifies the content of a file at one time. The zero value stands for
// a file that does not exist.
type Version [sha256.Size]byte

// Of returns the diff of an edit. The file must be in one of the folders; those that
// are not absolute, or do not exist, do not count. It returns nil if the file is
// elsewhere, or is not a file.
func Of(e Edit, folders []string) *Diff {
	f := find(e.Path, folders)
	if f == nil {
		return nil
	}
	defer f.root.Close()
	d := &Diff{Path: visible.Line(f.name)}
	data, exists, err := f.read()
	if err != nil {
		if errors.Is(err, errElsewhere) {
			return nil
		}
		d.Notes = []string{"No difference is shown: " + err.Error() + "."}
		return d
	}
	d.New = !exists
	if exists {
		d.Version = versionOf(data)
	}
	if strings.ContainsRune(string(data), 0) || !utf8.Valid(data) {
		d.Notes = []string{"No difference is shown: the file is not text."}
		return d
	}
	before := string(data)
	after, err := e.Apply(before, exists)
	switch {
	case err != nil:
		d.Notes = []string{visible.Line("This call will probably fail: " + clip(err.Error(), 300) + ".")}
	case len(after) > maxFile:
		d.Notes = []string{fmt.Sprintf("No difference is shown: the new text is larger than %d MiB.", maxFile>>20)}
	case exists && after == before:
		d.Notes = []string{"The file already has this content."}
	default:
		d.compare(before, after, exists)
	}
	return d
}

// Current reports whether a file still has the content that a diff was made of.
func Current(d *Diff, e Edit, folders []string) bool {
	now := Version{}
	f := find(e.Path, folders)
	if f == nil {
		return false
	}
	defer f.root.Close()
	data, exists, err := f.read()
	if err == nil && exists {
		now = versionOf(data)
	}
	return now == d.Version
}

func versionOf(data []byte) Version { return sha256.Sum256(data) }

// compare fills in the text of the diff.
func (d *Diff) compare(before, after string, exists bool) {
	was, is := endsOf(before), endsOf(after)
	a, b := linediff.Split(before), linediff.Split(after)
	if was != mixedEnds && is != mixedEnds { // otherwise the ends are part of the lines
		a, b = withoutCR(a), withoutCR(b)
		if exists && was != is && was != noEnds && is != noEnds {
			d.Notes = append(d.Notes, fmt.Sprintf("Line ends change from %s to %s.", was, is))
		}
	}
	var text string
	text, d.Added, d.Removed = linediff.Unified(a, b)
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if text == "" {
		lines = nil
	}
	if len(lines) > maxLines {
		d.Left, lines = len(lines)-maxLines, lines[:maxLines]
	}
	for i, l := range lines {
		lines[i] = clip(strings.ReplaceAll(visible.Text(strings.ReplaceAll(l, "\r", "␍")), "\n", "␊"), maxColumns)
	}
	d.Text = strings.Join(lines, "\n")
	if odd := visible.Suspicious(strings.Join(added(b, a), "")); len(odd) > 0 {
		for _, o := range odd {
			d.Notes = append(d.Notes, "The new text has "+visible.Line(o)+".")
		}
	}
}

// added returns the lines of a text that another one does not have.
func added(lines, other []string) []string {
	has := make(map[string]bool, len(other))
	for _, l := range other {
		has[l] = true
	}
	var out []string
	for _, l := range lines {
		if !has[l] {
			out = append(out, l)
		}
	}
	return out
}

// The kinds of line ends of a text.
const (
	noEnds    = ""
	mixedEnds = "mixed"
)

func endsOf(text string) string {
	lf, crlf := strings.Count(text, "\n"), strings.Count(text, "\r\n")
	switch {
	case lf == 0:
		return noEnds
	case crlf == 0:
		return "LF"
	case crlf == lf:
		return "CRLF"
	}
	return mixedEnds
}

func withoutCR(lines []string) []string {
	for i, l := range lines {
		if body, ok := strings.CutSuffix(l, "\r\n"); ok {
			lines[i] = body + "\n"
		}
	}
	return lines
}

// clip shortens a line.
func clip(s string, most int) string {
	n := 0
	for i := range s {
		if n == most {
			return s[:i] + fmt.Sprintf("… (%d more characters)", utf8.RuneCountInString(s[i:]))
		}
		n++
	}
	return s
}

// A file is a file in an open folder.
type file struct {
	root *os.Root
	rel  string
	name string // absolute
}

// find returns the file of a path, nil if it is in none of the folders. A relative
// path belongs to the first folder that has such a file, or else to the first.
func find(path string, folders []string) *file {
	if path == "" || strings.ContainsRune(path, 0) {
		return nil
	}
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil
		}
		path = filepath.Join(home, rest)
	}
	if rest, ok := strings.CutPrefix(path, "file://"); ok && runtime.GOOS != "windows" && strings.HasPrefix(rest, "/") && !strings.ContainsAny(rest, "%?#") {
		path = rest
	}
	var first *file
	for _, folder := range folders {
		f := open(path, folder)
		if f == nil {
			continue
		}
		if _, err := f.root.Stat(f.rel); err == nil {
			if first != nil {
				first.root.Close()
			}
			return f
		}
		if first == nil {
			first = f
		} else {
			f.root.Close()
		}
	}
	return first
}

// open opens the folder of a file; nil if the file is not in it.
func open(path, folder string) *file {
	if !filepath.IsAbs(folder) {
		return nil
	}
	rel := filepath.Clean(path)
	if filepath.IsAbs(path) {
		var err error
		if rel, err = filepath.Rel(folder, path); err != nil || !filepath.IsLocal(rel) {
			real, linked := filepath.EvalSymlinks(folder)
			if linked != nil {
				return nil
			}
			if rel, err = filepath.Rel(real, path); err != nil {
				return nil
			}
		}
	}
	if !filepath.IsLocal(rel) || rel == "." {
		return nil
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil
	}
	return &file{root, rel, filepath.Join(folder, rel)}
}

// errElsewhere is returned for what is no file in the folder: a link out of it, a
// folder, or what cannot be read.
var errElsewhere = errors.New("not a file in the folder")

// read returns the content of a file. Exists is false if there is none.
func (f *file) read() (data []byte, exists bool, err error) {
	info, err := f.root.Stat(f.rel)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, err := f.root.Lstat(f.rel); err == nil {
			return nil, false, errElsewhere // a broken link
		}
		return nil, false, nil
	case err != nil || !info.Mode().IsRegular():
		return nil, false, errElsewhere
	case info.Size() > maxFile:
		return nil, true, fmt.Errorf("the file is larger than %d MiB", maxFile>>20)
	}
	r, err := f.root.Open(f.rel)
	if err != nil {
		return nil, false, errElsewhere
	}
	defer r.Close()
	data, err = io.ReadAll(io.LimitReader(r, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("the file is larger than %d MiB", maxFile>>20)
	}
	return data, true, err
}
