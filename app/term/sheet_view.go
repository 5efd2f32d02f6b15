package term

import (
	"strconv"
	"strings"

	"github.com/tenon-mcp/tenon/mcp"
)

// A sheetView is a sheet on the screen.
type sheetView struct {
	*sheet
	at     int  // the field with the focus
	idle   bool // has no focus
	editor editor
	wrong  map[int]string

	x, row int // the cursor, as last laid out
}

func newSheetView(s *sheet) *sheetView {
	v := &sheetView{sheet: s, wrong: map[int]string{}, editor: editor{single: true}}
	for i, f := range s.fields { // start at the first missing field
		if f.value == "" {
			v.at = i
			break
		}
	}
	v.load()
	return v
}

func (v *sheetView) load() {
	if v.at < len(v.fields) {
		v.editor.set(v.fields[v.at].value)
	}
}

// leave stores the text of the field and validates it.
func (v *sheetView) leave() bool {
	if v.at >= len(v.fields) {
		return true
	}
	f := &v.fields[v.at]
	f.value = strings.TrimSpace(v.editor.text)
	if f.Type == mcp.FieldString && !f.json {
		f.value = v.editor.text
	}
	delete(v.wrong, v.at)
	if err := f.check(); err != nil {
		v.wrong[v.at] = err.Error()
		return false
	}
	return true
}

// key handles a key. done reports that the user wants to send the sheet.
func (v *sheetView) key(stroke, text string) (done bool) {
	if len(v.fields) == 0 {
		return stroke == "enter"
	}
	f := &v.fields[v.at]
	switch stroke {
	case "enter":
		if !v.leave() {
			return false
		}
		if v.at == len(v.fields)-1 {
			return true
		}
		v.move(1)
	case "tab", "down":
		v.leave()
		v.move(1)
	case "shift+tab", "up":
		v.leave()
		v.move(-1)
	case "left", "right":
		if !v.choose(f, stroke == "right") {
			v.editor.key(stroke, text)
		}
	default:
		if (text == " " || stroke == "space") && v.choose(f, true) {
			return false
		}
		v.editor.key(stroke, text)
	}
	return false
}

// complete validates all fields and stops at the first invalid one.
func (v *sheetView) complete() bool {
	v.leave()
	for i := range v.fields {
		delete(v.wrong, i)
		if err := v.fields[i].check(); err != nil {
			v.wrong[i] = err.Error()
			v.at = i
			v.load()
			return false
		}
	}
	return true
}

func (v *sheetView) move(by int) {
	v.at = (v.at + by + len(v.fields)) % len(v.fields)
	v.load()
}

// choose selects the next option of a field that has some.
func (v *sheetView) choose(f *field, forward bool) bool {
	var all []string
	switch {
	case f.Type == mcp.FieldChoices || f.json:
		return false
	case len(f.Options) > 0:
		for _, o := range f.Options {
			all = append(all, o.Value)
		}
	case f.Type == mcp.FieldBoolean:
		all = []string{"yes", "no"}
	default:
		return false
	}
	at := -1
	for i, o := range all {
		if o == v.editor.text {
			at = i
		}
	}
	switch {
	case forward:
		at = (at + 1) % len(all)
	case at <= 0:
		at = len(all) - 1
	default:
		at--
	}
	v.editor.set(all[at])
	return true
}

// shown returns the value of a field that is not being edited.
func (v *sheetView) shown(i int) string {
	if i == v.at {
		return v.fields[i].shown(v.editor.text)
	}
	return v.fields[i].shown(v.fields[i].value)
}

// edited returns the editor for the screen.
func (v *sheetView) edited() *editor {
	if !v.fields[v.at].secret {
		return &v.editor
	}
	return &editor{text: masked(v.editor.text), at: len(masked(v.editor.text[:v.editor.at])), single: true}
}

// lines lays the sheet out; cursor is the line of the focused field.
func (v *sheetView) lines(width int, th *theme) (out []string, cursor int) {
	if len(v.fields) == 0 {
		return []string{th.dim.Render("Nothing to fill in. Enter accepts.")}, -1
	}
	for i := range v.fields {
		f := &v.fields[i]
		label := f.label()
		if f.Required {
			label += " *"
		}
		notes := line(f.kind)
		if f.secret {
			notes += ", hidden"
		}
		if f.Description != "" {
			notes = line(f.Description) + " (" + notes + ")"
		}
		head := "  " + label
		if i == v.at && !v.idle {
			head = "▶ " + th.accent.Render(label)
		}
		out = append(out, cut(head+"  "+th.dim.Render(notes), width))
		for n, o := range f.Options {
			title := o.Value
			if o.Title != "" && o.Title != o.Value {
				title = o.Title + " (" + o.Value + ")"
			}
			if i == v.at && !v.idle {
				out = append(out, cut("    "+th.dim.Render(strconv.Itoa(n+1)+" "+line(title)), width))
			}
		}
		if i == v.at && !v.idle {
			rows, x, y := v.edited().rows(width-6, 3)
			cursor = len(out) + y
			v.x, v.row = x+6, cursor
			out = append(out, indented(rows, "    > ", "      ")...)
		} else {
			out = append(out, cut("    "+line(v.shown(i)), width))
		}
		if why := v.wrong[i]; why != "" {
			for _, l := range wrap(line(why), width-4) {
				out = append(out, "    "+th.bad.Render(l))
			}
		}
	}
	return out, cursor
}
