package show

import "strings"

// A table is rows of cells, which may be styled. The last column takes the
// remaining width and is wrapped.
type table struct {
	rows [][]string
	// gap separates columns; empty means two spaces.
	gap string
	// most bounds the width of a column except the last; 0 means 32.
	most int
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// lines lays the table out.
func (t *table) lines(width int) []string {
	gap, most := t.gap, t.most
	if gap == "" {
		gap = "  "
	}
	if most == 0 {
		most = 32
	}
	var widths []int
	for _, row := range t.rows {
		for i, cell := range row[:len(row)-1] {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], min(columns(cell), most))
		}
	}
	var out []string
	for _, row := range t.rows {
		head, used := "", 0
		for i, cell := range row[:len(row)-1] {
			head += pad(cell, widths[i]) + gap
			used += max(widths[i], columns(cell)) + columns(gap)
		}
		last := row[len(row)-1]
		room := width - used
		if room < 24 && last != "" { // too narrow: the last column goes below
			out = append(out, strings.TrimRight(head, " "))
			for _, l := range wrapped(last, width-4) {
				out = append(out, "    "+l)
			}
			continue
		}
		for i, l := range wrapped(last, room) {
			if i == 0 {
				out = append(out, strings.TrimRight(head+l, " "))
			} else {
				out = append(out, strings.Repeat(" ", used)+l)
			}
		}
	}
	return out
}

func (p *Printer) table(t *table) {
	for _, l := range t.lines(p.width()) {
		p.line(l)
	}
}
