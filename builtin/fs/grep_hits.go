package fs

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

// hits formats the matches in one file.
type hits struct {
	grep   *grep
	name   string
	line   int // number of the first line of the chunk; 0 before the first chunk
	count  int // matches in this file
	headed bool
	last   int // number of the last line written
}

// maxLine is the maximum number of bytes shown of a line.
const maxLine = 400

// search writes the matches in a chunk of complete lines.
func (h *hits) search(data []byte) {
	number, counted := h.line, 0 // the line number at offset counted
	for at := 0; at < len(data) && !h.grep.full; {
		m := h.grep.re.FindIndex(data[at:])
		if m == nil {
			break
		}
		start, end := at+m[0], at+m[1]
		if start == len(data) { // an empty match after the last line
			break
		}
		from := bytes.LastIndexByte(data[:start], '\n') + 1
		to := len(data)
		if i := bytes.IndexByte(data[start:], '\n'); i >= 0 {
			to = start + i
		}
		number += bytes.Count(data[counted:from], []byte("\n"))
		counted = from
		h.hit(data, from, to, number, start-from, min(end, to)-from)
		at = to + 1
	}
	h.line += bytes.Count(data, []byte("\n"))
}

// hit records one matching line.
func (h *hits) hit(data []byte, from, to, number, start, end int) {
	g := h.grep
	h.count++
	if g.in.FilesOnly {
		return
	}
	if g.passed < g.in.Offset {
		g.passed++
		return
	}
	most := g.in.MaxMatches
	if g.out.Shown >= most || g.out.Shown > 0 && g.b.Len() > g.call.MaxResult {
		g.full = true
		return
	}
	g.out.Shown++
	if !h.headed {
		if g.b.Len() > 0 {
			g.b.WriteByte('\n')
		}
		g.b.WriteString(printable(h.name) + "\n")
		h.headed = true
	}
	h.around(data, from, number, true)
	h.write(number, ':', data[from:to], start, end)
	h.around(data, to+1, number, false)
}

// around writes the context lines before or after a match.
func (h *hits) around(data []byte, at, number int, before bool) {
	n := h.grep.in.Context
	if n == 0 {
		return
	}
	if before {
		lines := linesBefore(data[:at], n)
		for i, line := range lines {
			h.write(number-len(lines)+i, '-', line, 0, 0)
		}
		return
	}
	if at >= len(data) {
		return
	}
	lines := bytes.SplitN(bytes.TrimSuffix(data[at:], []byte("\n")), []byte("\n"), n+1)
	for i, line := range lines[:min(n, len(lines))] {
		if h.grep.re.Match(line) {
			return // it is a match itself
		}
		h.write(number+1+i, '-', line, 0, 0)
	}
}

// linesBefore returns the last n lines of data, which ends with a line
// break, without scanning the rest.
func linesBefore(data []byte, n int) [][]byte {
	if len(data) == 0 {
		return nil
	}
	start, end := 0, len(data)-1 // without the last line break
	for at := end; n > 0; n-- {
		i := bytes.LastIndexByte(data[:at], '\n')
		if start = i + 1; i < 0 {
			break
		}
		at = i
	}
	return bytes.Split(data[start:end], []byte("\n"))
}

// write writes a line with its number, once. A long line is cut around the
// match.
func (h *hits) write(number int, mark byte, line []byte, start, end int) {
	if number <= h.last {
		return
	}
	if h.last > 0 && number > h.last+1 && h.grep.in.Context > 0 {
		h.grep.b.WriteString("--\n")
	}
	h.last = number
	fmt.Fprintf(&h.grep.b, "%d%c %s\n", number, mark, excerpt(line, start, end))
}

// excerpt returns a line, or the part of it around the match.
func excerpt(line []byte, start, end int) string {
	if len(line) <= maxLine {
		return strings.ToValidUTF8(string(line), "\uFFFD")
	}
	room := max(0, maxLine-(end-start)) / 2
	from := max(0, start-room)
	to := min(len(line), from+maxLine)
	for from > 0 && !utf8.RuneStart(line[from]) {
		from--
	}
	for to < len(line) && !utf8.RuneStart(line[to]) {
		to--
	}
	text := strings.ToValidUTF8(string(line[from:to]), "\uFFFD")
	if from > 0 {
		text = "…" + text
	}
	if to < len(line) {
		text += "…"
	}
	return text
}

// finish writes the count of the file for filesOnly.
func (h *hits) finish() {
	g := h.grep
	if !g.in.FilesOnly || h.count == 0 {
		return
	}
	if g.passed < g.in.Offset {
		g.passed++
		return
	}
	if g.out.Shown >= g.in.MaxMatches || g.out.Shown > 0 && g.b.Len() > g.call.MaxResult {
		g.full = true
		return
	}
	g.out.Shown++
	fmt.Fprintf(&g.b, "%s (%d)\n", printable(h.name), h.count)
}
