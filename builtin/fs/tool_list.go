package fs

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

func (f *files) addFinding() {
	addTool(f, "list_directory", "List Directory",
		"List what is in a directory, by name: [DIR] and [FILE], [LINK] for links that lead nowhere or out of the allowed directories, and [PIPE], [SOCKET] and [DEVICE] for what cannot be read.", reading, listDirectory)
	addTool(f, "list_directory_with_sizes", "List Directory with Sizes",
		"List what is in a directory with the sizes of the files, by name or by size, and what they come to.", reading, listWithSizes)
	addTool(f, "directory_tree", "Directory Tree",
		"Show what is below a directory as a tree in JSON: name, type and, for directories, children. What git ignores is left out unless gitignore is false. "+
			"A tree that is too large is cut from below; directories with \"more\": true were not shown in full.", reading, directoryTree)
	addTool(f, "search_files", "Search Files",
		"Find files and directories by a pattern for their paths below a directory: *.go is for those in it, **/*.go for those anywhere below. Searches names; grep_files searches what is in files.", reading, searchFiles)
	addTool(f, "grep_files", "Search File Contents",
		"Find lines in the files below a directory (or in one file) by a regular expression (RE2). Shows path, line number and line. "+
			"What git ignores and binary files are left out.", reading, grepFiles)
}

type listArgs struct {
	Path   string `json:"path" doc:"the directory"`
	Offset int    `json:"offset,omitzero" doc:"how many entries to pass over, as an earlier result says" schema:"minimum=0"`
}

// A listing is a part of a directory; the entries are in the content.
type listing struct {
	Path       string `json:"path" doc:"where the directory really is"`
	Entries    int    `json:"entries" doc:"how many there are in all"`
	NextOffset int    `json:"nextOffset,omitzero" doc:"the offset with which to go on, if there are more than were shown"`
	text       string
}

func (l listing) MCPText() string { return l.text }

// page joins lines from an offset on, as many as the budget allows, and says
// where to go on.
func page(lines []string, offset, budget int) (text string, next int) {
	size := 0
	for i := offset; i < len(lines); i++ {
		if size += len(lines[i]) + 1; size > budget && i > offset {
			return strings.Join(lines[offset:i], "\n") + fmt.Sprintf("\n[%d more. Go on with offset=%d.]", len(lines)-i, i), i
		}
	}
	return strings.Join(lines[min(offset, len(lines)):], "\n"), 0
}

func (c *call) directory(name string) (place, []fs.DirEntry, error) {
	p, info, err := c.existing(name)
	if err != nil {
		return p, nil, err
	}
	if !info.IsDir() {
		return p, nil, fmt.Errorf("%s is %s and not a directory", name, kind(info.Mode()))
	}
	entries, err := readDir(p)
	if err != nil {
		return p, nil, fmt.Errorf("%s: %w", name, err)
	}
	if p.rel == "." { // the root of everything has the kernel's directories in it
		entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return e.IsDir() && p.join(e.Name()).ofKernel() })
	}
	return p, entries, nil
}

// mark is how a list shows what something is.
func mark(info fs.FileInfo) string {
	switch {
	case info == nil:
		return "[LINK]"
	case info.Mode().IsRegular():
		return "[FILE]"
	}
	return markOf(info.Mode())
}

// markOf is the same for what is no link. What cannot be read says so.
func markOf(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "[DIR]"
	case m&fs.ModeNamedPipe != 0:
		return "[PIPE]"
	case m&fs.ModeSocket != 0:
		return "[SOCKET]"
	case m&fs.ModeDevice != 0:
		return "[DEVICE]"
	}
	return "[FILE]"
}

func listDirectory(_ context.Context, c *call, in listArgs) (listing, error) {
	p, entries, err := c.directory(in.Path)
	if err != nil {
		return listing{}, err
	}
	lines := make([]string, len(entries))
	for i, e := range entries {
		switch {
		case e.Type()&fs.ModeSymlink != 0:
			lines[i] = mark(c.target(p, e)) + " " + printable(e.Name())
		default:
			lines[i] = markOf(e.Type()) + " " + printable(e.Name())
		}
	}
	text, next := page(lines, in.Offset, c.MaxResult)
	return listing{p.String(), len(entries), next, text}, nil
}

// printable keeps a name on its line and in its direction. One that is not
// UTF-8 is told by its bytes.
func printable(name string) string {
	if strings.ContainsFunc(name, misleading) || !utf8.ValidString(name) {
		return fmt.Sprintf("%q", name)
	}
	return name
}

// misleading are characters of control, and those that break lines or turn
// text around.
func misleading(r rune) bool {
	return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069'
}

type sizesArgs struct {
	Path   string `json:"path" doc:"the directory"`
	SortBy string `json:"sortBy,omitzero" doc:"by name, or the largest first" schema:"enum=name|size,default=name"`
	Offset int    `json:"offset,omitzero" doc:"how many entries to pass over, as an earlier result says" schema:"minimum=0"`
}

// A sizes is a part of a directory with what its files come to.
type sizes struct {
	Path        string `json:"path" doc:"where the directory really is"`
	Files       int    `json:"files"`
	Directories int    `json:"directories"`
	Bytes       int64  `json:"bytes" doc:"of all files in it, without those in directories below"`
	NextOffset  int    `json:"nextOffset,omitzero" doc:"the offset with which to go on, if there are more than were shown"`
	text        string
}

func (s sizes) MCPText() string { return s.text }

type sized struct {
	name, order, mark string
	dir               bool
	size              int64
}

func listWithSizes(_ context.Context, c *call, in sizesArgs) (sizes, error) {
	p, entries, err := c.directory(in.Path)
	if err != nil {
		return sizes{}, err
	}
	out := sizes{Path: p.String()}
	all := make([]sized, len(entries))
	for i, e := range entries {
		info := c.target(p, e)
		s := sized{name: printable(e.Name()), order: collated(e.Name()), mark: mark(info)}
		if info != nil {
			s.dir, s.size = info.IsDir(), info.Size()
		}
		switch {
		case s.dir:
			out.Directories++
		case s.mark == "[FILE]" || s.mark == "[LINK]":
			out.Files++
			out.Bytes += s.size
		}
		all[i] = s
	}
	slices.SortStableFunc(all, func(a, b sized) int {
		if in.SortBy == "size" {
			if d := cmp.Compare(b.size, a.size); d != 0 {
				return d
			}
		}
		return cmp.Or(strings.Compare(a.order, b.order), strings.Compare(b.name, a.name)) // lower case first
	})
	lines := make([]string, len(all))
	for i, s := range all {
		size := ""
		if !s.dir {
			size = fmt.Sprintf("%10s", inWords(s.size))
		}
		lines[i] = s.mark + " " + padded(s.name, 30) + " " + size
	}
	text, next := page(lines, in.Offset, c.MaxResult)
	out.NextOffset = next
	if text != "" {
		text += "\n"
	}
	out.text = fmt.Sprintf("%s\nTotal: %d files, %d directories\nCombined size: %s", text, out.Files, out.Directories, inWords(out.Bytes))
	return out, nil
}

// signs are the characters that are neither letters nor digits, in the order in
// which people sort them, which is not that of their codes.
const signs = " _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$"

// collated is a key that sorts names as people do: signs before digits before
// letters, without regard to case and accents.
func collated(name string) string {
	var key []rune
	for _, r := range norm.NFD.String(name) {
		switch {
		case unicode.Is(unicode.Mn, r):
		case unicode.IsLetter(r):
			key = append(key, 0x200+unicode.ToLower(r))
		case unicode.IsDigit(r):
			key = append(key, 0x100+r)
		default:
			key = append(key, rune(1+max(0, strings.IndexRune(signs, r))))
		}
	}
	return string(key)
}

// padded fills a name up with spaces, counted as JavaScript counts.
func padded(name string, width int) string {
	return name + strings.Repeat(" ", max(0, width-len(utf16.Encode([]rune(name)))))
}

// inWords is a size as the reference server writes it.
func inWords(n int64) string {
	units := []string{"B", "KB", "MB", "GB", "TB"}
	if n < 1024 {
		return fmt.Sprintf("%d B", max(n, 0))
	}
	unit := min(int(math.Log(float64(n))/math.Log(1024)), len(units)-1)
	return fmt.Sprintf("%.2f %s", float64(n)/math.Pow(1024, float64(unit)), units[unit])
}
