package show

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/tenon-mcp/tenon/mcp"
)

const (
	mostRows = 200 // of a table; scripts use another format
	mostCell = 40  // columns of one cell
)

// rowsOf reads a value that is a list of flat objects, or an object whose only
// list is one, as results of queries and searches often are.
func rowsOf(raw json.RawMessage) (head []string, rows [][]string, ok bool) {
	var items []json.RawMessage
	if mcp.Unmarshal(raw, &items) != nil {
		all := members(raw)
		if len(all) != 1 || mcp.Unmarshal(all[0].value, &items) != nil {
			return nil, nil, false
		}
	}
	if len(items) < 2 {
		return nil, nil, false
	}
	at := map[string]int{}
	for _, item := range items {
		fields := members(item)
		if fields == nil {
			return nil, nil, false
		}
		row := make([]string, len(head))
		for _, f := range fields {
			if f.value[0] == '{' || f.value[0] == '[' && len(f.value) > mostCell {
				return nil, nil, false
			}
			i, known := at[f.name]
			if !known {
				i = len(head)
				at[f.name] = i
				head = append(head, f.name)
				row = append(row, "")
			}
			row[i] = cell(f.value)
		}
		rows = append(rows, row)
	}
	return head, rows, len(head) <= 12
}

func cell(raw json.RawMessage) string {
	var s string
	if mcp.Unmarshal(raw, &s) == nil {
		return clean(s)
	}
	return clean(string(raw))
}

// Table prints rows below their column names, and none if there are no rows. It is
// for format text.
func (p *Printer) Table(head []string, rows [][]string, none string) error {
	if len(rows) == 0 {
		return p.none(none)
	}
	p.gridOf(head, rows, p.width())
	return p.err
}

// grid writes rows of results below their column names.
func (p *Printer) grid(head []string, rows [][]string) { p.gridOf(head, rows, mostCell) }

// gridOf is grid with a maximum width of cells.
func (p *Printer) gridOf(head []string, rows [][]string, most int) {
	widths := make([]int, len(head))
	for i, h := range head {
		widths[i] = min(columns(clean(h)), most)
	}
	for _, row := range rows[:min(len(rows), mostRows)] {
		for i, c := range row {
			widths[i] = max(widths[i], min(columns(c), most))
		}
	}
	fit(widths, p.width())
	write := func(row []string, style func(string) string) {
		var line strings.Builder
		gap := 0
		for i := range head {
			c := ""
			if i < len(row) {
				c = cut(clean(row[i]), widths[i])
			}
			line.WriteString(strings.Repeat(" ", gap) + style(c))
			gap = widths[i] - columns(c) + 2
		}
		p.line(strings.TrimRight(line.String(), " "))
	}
	write(head, p.Bold)
	for _, row := range rows[:min(len(rows), mostRows)] {
		write(row, func(s string) string { return s })
	}
	if len(rows) > mostRows {
		p.line(p.Dim("… more rows; --format json shows all"))
	}
}

// fit narrows the widest columns until all fit into a width, or are too narrow to
// read.
func fit(widths []int, width int) {
	for {
		sum, widest := 2*(len(widths)-1), 0
		for i, w := range widths {
			sum += w
			if w > widths[widest] {
				widest = i
			}
		}
		if sum <= width || widths[widest] <= 4 {
			return
		}
		widths[widest]--
	}
}

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
	gap = cmp.Or(gap, "  ")
	most = cmp.Or(most, 32)
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

// Terms writes what terms mean, below a heading: one term in each row, and its
// explanation in as many lines as it takes.
func (p *Printer) Terms(heading string, rows [][2]string) {
	p.line("")
	p.line(p.Bold(heading))
	t := table{most: 40}
	for _, r := range rows {
		t.add(clean(r[0]), clean(r[1]))
	}
	p.table(&t)
}

func (p *Printer) table(t *table) {
	for _, l := range t.lines(p.width()) {
		p.line(l)
	}
}
