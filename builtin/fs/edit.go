package fs

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// An edit replaces one piece of a text by another.
type edit struct {
	OldText    string `json:"oldText" doc:"the text to replace; it must be there exactly once"`
	NewText    string `json:"newText" doc:"the text to put in its place"`
	ReplaceAll bool   `json:"replaceAll,omitzero" doc:"replace it wherever it is"`
}

// A document is a text that is looked at with plain line breaks, and changed as
// it is: what an edit does not touch keeps its bytes.
type document struct {
	raw   string
	plain string // raw with every CR LF as LF
	crlf  []int  // where in plain the LFs are that were CR LF
	most  bool   // most line breaks are CR LF
}

func newDocument(raw string) *document {
	d := &document{raw: raw, plain: raw}
	if !strings.Contains(raw, "\r\n") {
		return d
	}
	var b strings.Builder
	b.Grow(len(raw))
	for rest := raw; ; {
		before, after, found := strings.Cut(rest, "\r\n")
		b.WriteString(before)
		if !found {
			break
		}
		d.crlf = append(d.crlf, b.Len())
		b.WriteByte('\n')
		rest = after
	}
	d.plain = b.String()
	d.most = 2*len(d.crlf) > strings.Count(d.plain, "\n")
	return d
}

// at is where a position in the plain text is in the raw one.
func (d *document) at(plain int) int {
	before, _ := slices.BinarySearch(d.crlf, plain)
	return plain + before
}

// replace puts text in the place of stretches of the plain text, all of one
// length. Its line breaks become those that are there: in the stretch, or else
// in most of the file.
func (d *document) replace(starts []int, length int, text string) *document {
	withCRLF := strings.ReplaceAll(text, "\n", "\r\n")
	var b strings.Builder
	done := 0
	for _, at := range starts {
		b.WriteString(d.raw[done:d.at(at)])
		if d.breaksCRLF(at, at+length) {
			b.WriteString(withCRLF)
		} else {
			b.WriteString(text)
		}
		done = d.at(at + length)
	}
	b.WriteString(d.raw[done:])
	return newDocument(b.String())
}

func (d *document) breaksCRLF(from, to int) bool {
	first, _ := slices.BinarySearch(d.crlf, from)
	last, _ := slices.BinarySearch(d.crlf, to)
	if n := strings.Count(d.plain[from:to], "\n"); n > 0 && 2*(last-first) != n {
		return 2*(last-first) > n
	}
	return d.most
}

// apply makes one edit, or says why it cannot be made. The text may not grow
// beyond most bytes by it.
func (d *document) apply(e edit, most int) (*document, error) {
	old := strings.ReplaceAll(e.OldText, "\r\n", "\n")
	text := strings.ReplaceAll(e.NewText, "\r\n", "\n")
	if old == "" {
		return nil, fmt.Errorf("oldText is empty: say which text to replace, or use write_file to fill an empty file")
	}
	found := occurrences(d.plain, old)
	if e.ReplaceAll {
		found = apart(found, len(old))
	}
	switch {
	case len(found) == 1 || len(found) > 1 && e.ReplaceAll:
		if grown := len(d.raw) + len(found)*(len(text)-len(old)); grown > most {
			return nil, tooLong(grown, most)
		}
		return d.replace(found, len(old), text), nil
	case len(found) > 1:
		return nil, fmt.Errorf("oldText is there %d times, %s: put more of the text around it into oldText, or say replaceAll\n%s", len(found), lineList(d.plain, found), shown(e.OldText))
	}
	return d.applyLoosely(e, old, text)
}

// occurrences finds a text wherever it is. If it is only there overlapping
// itself, as "xx" in "xxx", both places count, since either could be meant.
func occurrences(in, what string) []int {
	var found []int
	for from := 0; ; {
		i := strings.Index(in[from:], what)
		if i < 0 {
			break
		}
		found = append(found, from+i)
		from += i + len(what)
	}
	if len(found) == 1 {
		if i := strings.Index(in[found[0]+1:], what); i >= 0 {
			found = append(found, found[0]+1+i)
		}
	}
	return found
}

// apart leaves out places that overlap the one before.
func apart(found []int, length int) []int {
	end := 0
	return slices.DeleteFunc(found, func(at int) bool {
		if at < end {
			return true
		}
		end = at + length
		return false
	})
}

func tooLong(size, most int) error {
	return fmt.Errorf("the file would have %d bytes, and at most %d can be edited: nothing was changed", size, most)
}

// applyLoosely makes an edit whose old text differs from the file only in white
// space at the ends of its lines. The new text is indented as the file is.
func (d *document) applyLoosely(e edit, old, text string) (*document, error) {
	want, lines := strings.Split(old, "\n"), strings.Split(d.plain, "\n")
	sought, trimmed := allTrimmed(want), allTrimmed(lines)
	starts := make([]int, len(lines)) // of the lines, in the plain text
	for i, at := 0, 0; i < len(lines); i++ {
		starts[i] = at
		at += len(lines[i]) + 1
	}
	found := linesAt(trimmed, sought) // where it begins
	switch {
	case len(found) == 0 || strings.TrimSpace(old) == "":
		return nil, d.notFound(e, sought, trimmed)
	case len(found) > 1:
		positions := make([]int, len(found))
		for i, line := range found {
			positions[i] = starts[line]
		}
		return nil, fmt.Errorf("oldText is not there as it is, and without regard to white space it is there %d times, %s: put more of the text around it into oldText\n%s", len(found), lineList(d.plain, positions), shown(e.OldText))
	}
	first := found[0]
	last := first + len(want) - 1
	return d.replace(starts[first:first+1], starts[last]+len(lines[last])-starts[first], reindent(text, want, indentOf(lines[first]))), nil
}

// linesAt finds where lines follow each other as those that are sought do. It
// looks at each line a few times only, however often they nearly do.
func linesAt(lines, sought []string) []int {
	text := "\n" + strings.Join(lines, "\n") + "\n"
	what := "\n" + strings.Join(sought, "\n") + "\n"
	var found []int
	line := 0
	for at := 0; ; {
		i := strings.Index(text[at:], what)
		if i < 0 {
			return found
		}
		line += strings.Count(text[at:at+i], "\n")
		found = append(found, line)
		at, line = at+i+1, line+1
	}
}

func allTrimmed(lines []string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = strings.TrimSpace(l)
	}
	return out
}

func indentOf(line string) string {
	return line[:len(line)-len(strings.TrimLeftFunc(line, unicode.IsSpace))]
}

// reindent moves new lines to the indentation of the file. Lines that were and
// are indented keep the difference.
func reindent(text string, old []string, indent string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		bare := strings.TrimLeftFunc(line, unicode.IsSpace)
		if i == 0 {
			lines[i] = indent + bare
			continue
		}
		was, is := "", indentOf(line)
		if i < len(old) {
			was = indentOf(old[i])
		}
		if was != "" && is != "" {
			lines[i] = indent + strings.Repeat(" ", max(0, len(is)-len(was))) + bare
		}
	}
	return strings.Join(lines, "\n")
}

// notFound says that a text is not there, and where something like it is.
func (d *document) notFound(e edit, want, trimmed []string) error {
	hint := ""
	for _, w := range want {
		if len(w) < 3 {
			continue
		}
		for i, line := range trimmed {
			if line == w {
				hint = fmt.Sprintf("\nIts line %q is line %d of the file, but what is around it differs: read the file again", shown(w), i+1)
				break
			}
		}
		break
	}
	//lint:ignore ST1005 the words of the reference server
	return fmt.Errorf("Could not find exact match for edit:\n%s%s", shown(e.OldText), hint)
}

// shown is what an error repeats of a text.
func shown(text string) string {
	const most = 2000
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + fmt.Sprintf("… (%d bytes more)", len(text)-most)
}

// lineList names the lines at which positions are.
func lineList(text string, positions []int) string {
	const most = 20
	var names []string
	line, at := 1, 0
	for i, p := range positions {
		if i == most {
			names = append(names, "…")
			break
		}
		line += strings.Count(text[at:p], "\n")
		at = p
		names = append(names, fmt.Sprint(line))
	}
	if len(names) == 1 {
		return "in line " + names[0]
	}
	return "in lines " + strings.Join(names, ", ")
}
