package fs

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// An edit replaces one part of a text.
type edit struct {
	OldText    string `json:"oldText" doc:"the text to replace; it must occur exactly once"`
	NewText    string `json:"newText" doc:"the replacement"`
	ReplaceAll bool   `json:"replaceAll,omitzero" doc:"replace every occurrence"`
}

// A document is a text that is searched with LF line breaks and edited in
// its original form: bytes outside an edit do not change.
type document struct {
	raw   string
	plain string // raw with every CR LF as LF
	crlf  []int  // positions in plain of the LFs that were CR LF
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

// at converts a position in plain to one in raw.
func (d *document) at(plain int) int {
	before, _ := slices.BinarySearch(d.crlf, plain)
	return plain + before
}

// replace puts text in place of ranges of the plain text, all of the same
// length. Its line breaks become those of the range, or else those of most
// of the file.
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

// apply makes one edit, or returns an error. The text may not grow beyond
// most bytes.
func (d *document) apply(e edit, most int) (*document, error) {
	old := strings.ReplaceAll(e.OldText, "\r\n", "\n")
	text := strings.ReplaceAll(e.NewText, "\r\n", "\n")
	if old == "" {
		return nil, fmt.Errorf("oldText is empty; give the text to replace, or use write_file to fill an empty file")
	}
	found := occurrences(d.plain, old)
	if e.ReplaceAll {
		found = withoutOverlaps(found, len(old))
	}
	switch {
	case len(found) == 1 || len(found) > 1 && e.ReplaceAll:
		if grown := len(d.raw) + len(found)*(len(text)-len(old)); grown > most {
			return nil, tooLong(grown, most)
		}
		return d.replace(found, len(old), text), nil
	case len(found) > 1:
		return nil, fmt.Errorf("oldText occurs %d times, %s; include more of the surrounding text, or set replaceAll\n%s", len(found), lineList(d.plain, found), textForError(e.OldText))
	}
	return d.applyLoosely(e, old, text)
}

// occurrences returns the positions of what in in. A single occurrence that
// overlaps another, as "xx" in "xxx", counts as two, because either could be
// meant.
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

// withoutOverlaps removes positions that overlap the one before.
func withoutOverlaps(found []int, length int) []int {
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
	return fmt.Errorf("the file would have %d bytes, but at most %d can be edited; nothing was changed", size, most)
}

// applyLoosely makes an edit whose old text differs from the file only in
// white space at the ends of lines. The new text gets the indentation of the
// file.
func (d *document) applyLoosely(e edit, old, text string) (*document, error) {
	want, lines := strings.Split(old, "\n"), strings.Split(d.plain, "\n")
	sought, trimmed := allTrimmed(want), allTrimmed(lines)
	starts := make([]int, len(lines)) // positions of the lines in plain
	for i, at := 0, 0; i < len(lines); i++ {
		starts[i] = at
		at += len(lines[i]) + 1
	}
	found := linesAt(trimmed, sought) // first lines of the matches
	switch {
	case len(found) == 0 || strings.TrimSpace(old) == "":
		return nil, d.notFound(e, sought, trimmed)
	case len(found) > 1:
		positions := make([]int, len(found))
		for i, line := range found {
			positions[i] = starts[line]
		}
		return nil, fmt.Errorf("oldText has no exact match; ignoring white space it occurs %d times, %s; include more of the surrounding text\n%s", len(found), lineList(d.plain, positions), textForError(e.OldText))
	}
	first := found[0]
	last := first + len(want) - 1
	return d.replace(starts[first:first+1], starts[last]+len(lines[last])-starts[first], reindent(text, want, indentOf(lines[first]))), nil
}

// linesAt returns the positions where sought occurs as consecutive lines. It
// takes linear time.
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

// reindent gives new lines the indentation of the file. Lines that were and
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

// notFound returns the error for a text without a match, with the line of a
// similar one.
func (d *document) notFound(e edit, want, trimmed []string) error {
	hint := ""
	for _, w := range want {
		if len(w) < 3 {
			continue
		}
		for i, line := range trimmed {
			if line == w {
				hint = fmt.Sprintf("\nLine %q is line %d of the file, but the lines around it differ; read the file again", textForError(w), i+1)
				break
			}
		}
		break
	}
	//lint:ignore ST1005 the words of the reference server
	return fmt.Errorf("Could not find exact match for edit:\n%s%s", textForError(e.OldText), hint)
}

// textForError returns a text for an error message, cut if it is long.
func textForError(text string) string {
	const most = 2000
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + fmt.Sprintf("… (%d more bytes)", len(text)-most)
}

// lineList names the lines of positions.
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
