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

func (f *files) addListTools() {
	addTool(f, "list_directory", "List Directory",
		"List a directory, sorted by name. Entries are marked [DIR] or [FILE]; [LINK] is a link that is broken or leads outside the allowed directories; [PIPE], [SOCKET] and [DEVICE] cannot be read.", reading, listDirectory)
	addTool(f, "list_directory_with_sizes", "List Directory with Sizes",
		"List a directory with file sizes and their total, sorted by name or size.", reading, listWithSizes)
	addTool(f, "directory_tree", "Directory Tree",
		"Show a directory and everything below it as a JSON tree: name, type and, for directories, children. Files ignored by git are left out unless gitignore is false. "+
			"A tree that is too large loses its deepest levels first; directories with \"more\": true are incomplete.", reading, directoryTree)
	addTool(f, "search_files", "Search Files",
		"Find files and directories by name. The pattern is matched with the path below the directory: *.go matches files in it, **/*.go files at any depth. To search file contents use grep_files.", reading, searchFiles)
	addTool(f, "grep_files", "Search File Contents",
		"Search the contents of the files below a directory, or of one file, with a regular expression (RE2). Shows path, line number and line. "+
			"Binary files and files ignored by git are left out.", reading, grepFiles)
}

type listArgs struct {
	Path   string `json:"path" doc:"the directory"`
	Offset int    `json:"offset,omitzero" doc:"number of entries to skip: nextOffset of an earlier result" schema:"minimum=0"`
}

// A listing is a part of a directory. The entries are in the content.
type listing struct {
	Path       string `json:"path" doc:"absolute path of the directory, with links resolved"`
	Entries    int    `json:"entries" doc:"number of entries in the directory"`
	NextOffset int    `json:"nextOffset,omitzero" doc:"offset for the next call, if there are more entries"`
	text       string
}

func (l listing) MCPText() string { return l.text }

// page joins as many lines from offset on as budget bytes allow, and adds a
// notice with the next offset.
func page(lines []string, offset, budget int) (text string, next int) {
	size := 0
	for i := offset; i < len(lines); i++ {
		if size += len(lines[i]) + 1; size > budget && i > offset {
			return strings.Join(lines[offset:i], "\n") + fmt.Sprintf("\n[%d more. Continue with offset=%d.]", len(lines)-i, i), i
		}
	}
	return strings.Join(lines[min(offset, len(lines)):], "\n"), 0
}

func (c *call) directory(name string) (location, []fs.DirEntry, error) {
	p, info, err := c.existing(name)
	if err != nil {
		return p, nil, err
	}
	if !info.IsDir() {
		return p, nil, fmt.Errorf("%s is %s, not a directory", name, kind(info.Mode()))
	}
	entries, err := readDir(p)
	if err != nil {
		return p, nil, fmt.Errorf("%s: %w", name, err)
	}
	if p.rel == "." { // "/" contains the kernel file systems
		entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return e.IsDir() && p.join(e.Name()).inKernelFS() })
	}
	return p, entries, nil
}

// mark returns the mark of a directory entry.
func mark(info fs.FileInfo) string {
	switch {
	case info == nil:
		return "[LINK]"
	case info.Mode().IsRegular():
		return "[FILE]"
	}
	return markOf(info.Mode())
}

// markOf returns the mark for a mode that is not a link.
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

// printable quotes a name that contains control or direction characters or
// is not valid UTF-8.
func printable(name string) string {
	if strings.ContainsFunc(name, misleading) || !utf8.ValidString(name) {
		return fmt.Sprintf("%q", name)
	}
	return name
}

// misleading reports whether r is a control character, breaks lines, or
// changes the direction of text.
func misleading(r rune) bool {
	return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069'
}

type sizesArgs struct {
	Path   string `json:"path" doc:"the directory"`
	SortBy string `json:"sortBy,omitzero" doc:"sort by name, or by size with the largest first" schema:"enum=name|size,default=name"`
	Offset int    `json:"offset,omitzero" doc:"number of entries to skip: nextOffset of an earlier result" schema:"minimum=0"`
}

// A sizes is a part of a directory with the total size of its files.
type sizes struct {
	Path        string `json:"path" doc:"absolute path of the directory, with links resolved"`
	Files       int    `json:"files"`
	Directories int    `json:"directories"`
	Bytes       int64  `json:"bytes" doc:"total size of the files in it, without subdirectories"`
	NextOffset  int    `json:"nextOffset,omitzero" doc:"offset for the next call, if there are more entries"`
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
			size = fmt.Sprintf("%10s", formatSize(s.size))
		}
		lines[i] = s.mark + " " + padded(s.name, 30) + " " + size
	}
	text, next := page(lines, in.Offset, c.MaxResult)
	out.NextOffset = next
	if text != "" {
		text += "\n"
	}
	out.text = fmt.Sprintf("%s\nTotal: %d files, %d directories\nCombined size: %s", text, out.Files, out.Directories, formatSize(out.Bytes))
	return out, nil
}

// signs are the characters that are neither letters nor digits, in collation
// order.
const signs = " _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$"

// collated returns a sort key: punctuation before digits before letters,
// ignoring case and accents.
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

// padded fills a name up with spaces. The width counts UTF-16 units, as the
// reference server does.
func padded(name string, width int) string {
	return name + strings.Repeat(" ", max(0, width-len(utf16.Encode([]rune(name)))))
}

// formatSize formats a size like the reference server.
func formatSize(n int64) string {
	units := []string{"B", "KB", "MB", "GB", "TB"}
	if n < 1024 {
		return fmt.Sprintf("%d B", max(n, 0))
	}
	unit := min(int(math.Log(float64(n))/math.Log(1024)), len(units)-1)
	return fmt.Sprintf("%.2f %s", float64(n)/math.Pow(1024, float64(unit)), units[unit])
}
