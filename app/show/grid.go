package show

import (
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

// grid writes rows below their column names.
func (p *Printer) grid(head []string, rows [][]string) {
	widths := make([]int, len(head))
	for i, h := range head {
		widths[i] = min(columns(clean(h)), mostCell)
	}
	for _, row := range rows[:min(len(rows), mostRows)] {
		for i, c := range row {
			widths[i] = max(widths[i], min(columns(c), mostCell))
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
