package term

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/app/permit"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/internal/visible"
)

// approval lays out what the user should know before a tool runs, the most
// important first: warnings, the risk, the targets, the other arguments, changes,
// the reason of the question, and the tool's definition.
func (q *question) approval(width int, th *theme) []string {
	var out []string
	if q.scope {
		label := "all calls in this project"
		if q.chosen != nil {
			label = line(q.chosen.Label)
		}
		out = append(out, styled(wrap("Allow "+callName(q.ask.Call)+" "+label+":", width), "", th.warn.Render)...)
	}
	for _, w := range q.ask.Warnings {
		for _, l := range wrap("! "+line(w), width) {
			out = append(out, th.loud.Render(l))
		}
	}
	if risk := q.risk(); risk != "" {
		style := th.dim
		if q.ask.Loud {
			style = th.warn
		}
		for _, l := range wrap(risk, width) {
			out = append(out, style.Render(l))
		}
	}
	out = append(out, q.call(width, th)...)
	out = append(out, q.edited(width, th)...)
	out = append(out, q.changes(width, th)...)
	for _, l := range wrap(line(q.ask.Message), width) {
		out = append(out, th.dim.Render(l))
	}
	if n := q.ask.Repeat; n > 0 {
		out = append(out, th.warn.Render(cut(fmt.Sprintf("You were asked about the same call %s before in this turn.", count(n, "time", "times")), width)))
	}
	if q.ask.Tool != nil && (q.ask.First || len(q.ask.Changes) > 0) {
		label := "First use. " + line(q.ask.Server) + " describes it:"
		if !q.ask.First {
			label = "Current definition:"
		}
		out = append(out, th.dim.Render(cut(label, width)))
		out = append(out, indented(toolLines(q.ask.Tool, width-2, false), "│ ", "│ ")...)
	}
	return out
}

// risk returns the worst effect of the tool according to its annotations.
func (q *question) risk() string {
	if q.ask.Tool == nil {
		if q.ask.Loud {
			return "Can delete or overwrite · Reaches outside"
		}
		return ""
	}
	if q.ask.Skill {
		return "Gives the model instructions that " + line(q.ask.Server) + " wrote"
	}
	a := q.ask.Tool.Annotations
	if a.ReadOnly() {
		text := "Only reads (" + line(q.ask.Server) + " says so)"
		if a.OpenWorld() {
			text += " · Reaches outside"
		}
		return text
	}
	var parts []string
	if a.Destructive() {
		parts = append(parts, "Can delete or overwrite")
	} else {
		parts = append(parts, "Changes things")
	}
	if a.OpenWorld() {
		parts = append(parts, "Reaches outside")
	}
	return strings.Join(parts, " · ")
}

// changes shows the differences to what was approved.
func (q *question) changes(width int, th *theme) []string {
	if len(q.ask.Changes) == 0 {
		return nil
	}
	out := []string{th.loud.Render(cut("Changed since you approved it:", width))}
	for _, c := range q.ask.Changes {
		out = append(out, "  "+th.bold.Render(cut(line(c.What), width-2)))
		before, after := visible.Text(c.Before), visible.Text(c.After)
		if !q.full {
			before, after = differing(before, after)
		}
		out = append(out, styled(q.folded("was: "+before, width-4, 3), "    ", th.bad.Render)...)
		out = append(out, styled(q.folded("now: "+after, width-4, 3), "    ", th.good.Render)...)
	}
	return out
}

func styled(lines []string, margin string, style func(...string) string) []string {
	for i, l := range lines {
		lines[i] = margin + style(l)
	}
	return lines
}

// differing removes the common beginning of two long texts, so that the
// difference is visible in a few lines.
func differing(a, b string) (string, string) {
	const lead = 40 // kept of it, for orientation
	same := 0
	for same < len(a) && same < len(b) && a[same] == b[same] {
		same++
	}
	if same < 2*lead {
		return a, b
	}
	from := strings.LastIndexByte(a[:same-lead], ' ') + 1
	if from == 0 {
		return a, b
	}
	return "… " + a[from:], "… " + b[from:]
}

// call shows the server, the tool and the arguments of the call: targets first,
// long values folded.
func (q *question) call(width int, th *theme) []string {
	c := q.ask.Call
	if c == nil {
		return nil
	}
	var out []string
	if q.where != "" {
		where := wrap(visible.Text(q.where), width-3)
		if len(where) > 2 && !q.full {
			where = append(where[:1], cut(where[1], width-5)+" …")
		}
		out = append(out, indented(where, th.dim.Render("on")+" ", "   ")...)
	}
	if q.changed != nil {
		out = append(out, th.warn.Render(cut("You changed the arguments:", width)))
	}
	arguments := bytes.TrimSpace(q.arguments())
	if !rawjson.IsObject(arguments) {
		if len(arguments) == 0 {
			return append(out, "no arguments")
		}
		return append(out, q.folded(visible.Text(string(arguments)), width, 3)...)
	}
	all := argumentsOf(arguments)
	if len(all) == 0 {
		return append(out, "no arguments")
	}
	for i, a := range all {
		if left := len(all) - i; !q.full && left > 1 && i >= mostArguments {
			var names []string
			for _, a := range all[i:] {
				names = append(names, line(a.name))
			}
			return append(out, indented(q.folded(fmt.Sprintf("and %d more: %s", left, strings.Join(names, ", ")), width-2, 1), "  ", "  ")...)
		}
		name := line(a.name) + ":"
		rows := q.folded(name+" "+a.text, width-4, a.rows())
		if rest, ok := strings.CutPrefix(rows[0], name); ok {
			rows[0] = th.bold.Render(name) + rest
		}
		out = append(out, indented(rows, "  ", "    ")...)
	}
	return out
}

// mostArguments is the number of arguments shown while they are folded.
const mostArguments = 8

// An argument is an argument of the call.
type argument struct {
	name, text string
	target     bool // what the call acts on
}

func (a *argument) rows() int {
	if a.target {
		return 3
	}
	return 2
}

// argumentsOf returns the arguments of a call: targets first, then short values,
// then long ones.
func argumentsOf(raw json.RawMessage) []argument {
	var all []argument
	for o := rawjson.Object(raw); o.Next(); {
		name, ok := rawjson.String(o.Name)
		if !ok {
			name = string(o.Name)
		}
		text, ok := rawjson.String(o.Value)
		if !ok {
			text = compact(slices.Clone(o.Value))
		}
		all = append(all, argument{name, visible.Text(text), permit.IsTarget(name)})
	}
	rank := func(a argument) int {
		switch {
		case a.target:
			return 0
		case len(a.text) <= 60:
			return 1
		}
		return 2
	}
	slices.SortStableFunc(all, func(a, b argument) int { return rank(a) - rank(b) })
	return all
}

// folded wraps a text into at most most rows, and says how much is left out.
func (q *question) folded(text string, width, most int) []string {
	width = max(width, 4)
	if q.full {
		return wrap(text, width)
	}
	beginning := text
	if limit := (most + 1) * width * 4; len(text) > limit { // a character has at most 4 bytes
		beginning = strings.ToValidUTF8(text[:limit], "")
	}
	rows := wrap(beginning, width)
	if len(rows) <= most && len(beginning) == len(text) {
		return rows
	}
	rows = rows[:min(most, len(rows))]
	shown := 0
	for _, r := range rows {
		shown += len([]rune(r))
	}
	note := fmt.Sprintf(" … %d more characters (ctrl+o)", max(1, len([]rune(text))-shown))
	last := len(rows) - 1
	rows[last] = cut(rows[last], max(1, width-columns(note))) + note
	return rows
}
