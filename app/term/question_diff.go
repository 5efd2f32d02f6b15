package term

import (
	"fmt"
	"path/filepath"
	"strings"
)

// mostChanged is the number of lines of a difference that are shown while it is
// folded.
const mostChanged = 12

// edited shows what the call would change in a file: removed and added lines with
// those around them.
func (q *question) edited(width int, th *theme) []string {
	d := q.diff
	if d == nil {
		return nil
	}
	path := d.Path
	if rel, err := filepath.Rel(q.ask.Folder, path); q.ask.Folder != "" && err == nil && filepath.IsLocal(rel) {
		path = rel
	}
	head := "Changes " + line(path)
	if d.New {
		head = "Creates " + line(path)
	}
	if d.Text != "" {
		head += fmt.Sprintf(" (%s, %d removed):", count(d.Added, "line added", "lines added"), d.Removed)
	}
	var out []string
	for _, l := range wrap(head, width) {
		out = append(out, th.bold.Render(l))
	}
	for _, n := range d.Notes {
		out = append(out, styled(wrap(line(n), width), "", th.warn.Render)...)
	}
	if d.Text == "" {
		return out
	}
	lines := strings.Split(d.Text, "\n")
	left := d.Left
	if !q.full && len(lines) > mostChanged {
		left += len(lines) - mostChanged
		lines = lines[:mostChanged]
	}
	for _, l := range lines {
		render := func(s ...string) string { return strings.Join(s, "") }
		switch {
		case strings.HasPrefix(l, "+"):
			render = th.good.Render
		case strings.HasPrefix(l, "-"):
			render = th.bad.Render
		case strings.HasPrefix(l, "@@"), strings.HasPrefix(l, "\\"):
			render = th.dim.Render
		}
		rows := lay(l, width-2)
		if !q.full {
			rows = []string{cut(strings.ReplaceAll(l, "\t", "    "), width-2)}
		}
		out = append(out, styled(rows, "  ", render)...)
	}
	switch {
	case left > 0 && !q.full:
		out = append(out, th.dim.Render(cut(fmt.Sprintf("  … %s (ctrl+o)", count(left, "more line", "more lines")), width)))
	case left > 0:
		out = append(out, th.dim.Render(cut(fmt.Sprintf("  … %s not shown", count(left, "more line is", "more lines are")), width)))
	}
	return out
}
