package draw

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// The sequences that are written.
const (
	altScreen  = "\x1b[?1049h"
	mainScreen = "\x1b[?1049l"
	beginSync  = "\x1b[?2026h"
	endSync    = "\x1b[?2026l"
	showCursor = "\x1b[?25h"
	hideCursor = "\x1b[?25l"
	noWrap     = "\x1b[?7l" // a line that is too wide for the terminal is cut, not continued on the next
	wraps      = "\x1b[?7h"
	noStyle    = "\x1b[m"
	eraseLine  = "\x1b[K" // from the cursor
	allLines   = "\x1b[r" // ends a scroll region
)

// moveTo writes the sequence that moves the cursor; both count from 0.
func moveTo(w *bytes.Buffer, x, y int) {
	w.WriteString("\x1b[")
	w.WriteString(strconv.Itoa(y + 1))
	if x > 0 {
		w.WriteByte(';')
		w.WriteString(strconv.Itoa(x + 1))
	}
	w.WriteByte('H')
}

// A differ writes the lines of a frame that differ from those before.
type differ struct {
	w      *bytes.Buffer
	adapt  func(string) string
	scroll bool
	width  int
}

// lines turns the lines before into now; before is nil if it is not known.
func (d *differ) lines(before, now []string) {
	if before == nil {
		for y, l := range now {
			d.line(y, l, 0)
		}
		return
	}
	if d.scroll {
		before = d.scrolled(before, now)
	}
	for y, l := range now {
		if l != before[y] {
			d.line(y, l, same(before[y], l))
		}
	}
}

// same returns how many characters at the beginning of two lines are the same and
// need not be written again: printable ASCII without a style.
func same(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] && a[n] >= ' ' && a[n] < 0x7f {
		n++
	}
	if n > 0 && (n < len(a) && a[n] >= 0x80 || n < len(b) && b[n] >= 0x80) {
		n-- // what follows may belong to it
	}
	return n
}

// line writes a line from a column on. Every line begins and ends without a style, so
// that no line depends on another.
func (d *differ) line(y int, l string, from int) {
	if from >= d.width { // it is too wide, and begins in its last column
		from = 0
	}
	moveTo(d.w, from, y)
	wide := ansi.StringWidth(l)
	if wide >= d.width && !narrow(l) {
		// The terminal may find the line shorter than we do, and erasing after it would
		// erase its last character if it does not.
		d.w.WriteString(eraseLine)
	}
	d.w.WriteString(d.adapt(l[from:]))
	if strings.Contains(l, "\x1b") {
		d.w.WriteString(noStyle)
	}
	if wide < d.width {
		d.w.WriteString(eraseLine)
	}
}

// narrow reports whether all characters of a line are certainly at least one column
// wide in every terminal, and stand alone.
func narrow(l string) bool {
	for _, r := range l {
		switch {
		case r == 0xad:
			return false
		case r < 0x300, r >= 0x2010 && r <= 0x2027, r >= 0x2190 && r <= 0x23ff, r >= 0x2500 && r <= 0x25ff, r >= 0x2800 && r <= 0x28ff:
		default:
			return false
		}
	}
	return true
}

// leastMoved is how many lines must be saved for a scroll region.
const leastMoved = 4

// scrolled moves lines that are on the screen already to where they belong, if that
// saves some. It returns the lines that are on the screen afterwards.
func (d *differ) scrolled(before, now []string) []string {
	best, from, to, by := leastMoved-1, 0, 0, 0
	for k := 1; k <= len(now)/2; k++ {
		for _, shift := range []int{k, -k} {
			saved, start := 0, -1
			for y := 0; y <= len(now); y++ {
				if y < len(now) && y+shift >= 0 && y+shift < len(now) && now[y] == before[y+shift] {
					if start < 0 {
						saved, start = 0, y
					}
					if now[y] != before[y] {
						saved++
					}
					continue
				}
				if start >= 0 && saved > best {
					best, from, to, by = saved, start, y, shift
				}
				start = -1
			}
		}
	}
	if by == 0 {
		return before
	}
	// The lines from..to-1 come from those by lines below (above, if by is negative).
	first, last := min(from, from+by), max(to, to+by)-1
	d.w.WriteString("\x1b[" + strconv.Itoa(first+1) + ";" + strconv.Itoa(last+1) + "r")
	moveTo(d.w, 0, first)
	if by > 0 {
		d.w.WriteString("\x1b[" + strconv.Itoa(by) + "M")
	} else {
		d.w.WriteString("\x1b[" + strconv.Itoa(-by) + "L")
	}
	d.w.WriteString(allLines)
	after := append([]string(nil), before...)
	for y := first; y <= last; y++ {
		after[y] = ""
		if y+by >= first && y+by <= last {
			after[y] = before[y+by]
		}
	}
	return after
}
