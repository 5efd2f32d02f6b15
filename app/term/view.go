package term

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"github.com/tenon-mcp/tenon/internal/visible"
)

// mostRows bounds the rows of the input.
const mostRows = 6

// View lays the screen out:
//
//	the conversation, or a pane
//	a rule, with the keys
//	a question
//	the input, or a sheet
//	the status
func (s *screen) View() tea.View {
	lines, x, y := s.layout()
	s.placed = s.takePictures(lines)
	for i, l := range lines { // a margin may be wider than a small terminal
		if columns(l) > s.width {
			lines[i] = cut(l, s.width)
		}
	}
	v := tea.NewView(strings.Join(lines, "\n"))
	v.AltScreen = true
	v.WindowTitle = "tenon"
	if x >= 0 {
		v.Cursor = tea.NewCursor(x, y)
	}
	return v
}

// layout returns the lines of the screen and the cursor; x is -1 if there is
// none.
func (s *screen) layout() (lines []string, x, y int) {
	room := s.height - 1 // the status
	if s.pane != nil {
		lines = append(lines, s.rule(s.pane.title(), s.pane.keys()+s.waits()))
		lines = append(lines, fill(s.pane.view(s.width, room-1, &s.theme), room-1)...)
		return append(lines, s.status()), -1, 0
	}
	below, x, y := s.below(room)
	if over := len(below) - room; over > 0 && x >= 0 && y >= room { // the cursor is in a line that has no room
		below, y = below[over:], y-over
	} else if over > 0 {
		below = below[:room]
	}
	lines, total := s.talked.window(s.width, room-len(below), s.above, s.chosen, &s.theme)
	if most := max(0, total-(room-len(below))); s.above > most {
		s.above = most
		lines, _ = s.talked.window(s.width, room-len(below), s.above, s.chosen, &s.theme)
	}
	lines = fill(lines, room-len(below))
	if x >= 0 {
		y += len(lines)
	}
	lines = append(lines, below...)
	return append(lines, s.status()), x, y
}

// fill returns exactly n lines.
func fill(lines []string, n int) []string {
	n = max(n, 0)
	if len(lines) > n {
		return lines[:n]
	}
	for len(lines) < n {
		lines = append(lines, "")
	}
	return lines
}

// rule returns a line with a title and keys. The title says what the program
// waits for, unless a pane is open.
func (s *screen) rule(title, keys string) string {
	left, begins := "── "+title+" ", "── "
	switch {
	case title == "":
		left, begins = "──", "──"
	case s.pane == nil:
		begins = spinner(s.now()) + " "
		left = begins + title + " "
	}
	if columns(left)+columns(keys)+4 > s.width {
		keys = cut(keys, max(0, s.width-columns(left)-4))
	}
	gap := s.width - columns(left) - columns(keys)
	if keys != "" {
		keys = " " + keys
		gap--
	}
	if title != "" {
		style := s.theme.bold
		if s.pane == nil {
			style = s.theme.accent
		}
		title = style.Render(title) + " "
	}
	style := s.theme.faint
	if s.pane == nil && title != "" {
		style = s.theme.accent
	}
	return cut(style.Render(begins)+title+s.theme.faint.Render(strings.Repeat("─", max(0, gap)))+s.theme.dim.Render(keys), s.width)
}

// below returns the lines under the conversation.
func (s *screen) below(room int) (lines []string, x, y int) {
	switch {
	case len(s.questions) > 0 && (s.focused || s.sheet == nil):
		return s.questionView(room)
	case s.sheet != nil:
		body, cursor := s.sheet.lines(s.width-2, &s.theme)
		foot := wrap("enter next · ctrl+s call · esc close"+s.waits(), s.width-2)
		return s.panel(s.sheetFor.title, foot, body, cursor, 0, s.sheet.x, room, false)
	}
	keys := "/help"
	switch {
	case s.hint != "":
		keys = s.hint
	case s.chosen != nil:
		keys = "↑↓ select · enter expand · esc back"
	case s.above > 0:
		keys = fmt.Sprintf("%d more lines · pgdn", s.above)
	case s.turns > 0:
		keys = "esc stops"
	}
	lines = append(lines, s.rule(s.waitsFor(), keys))
	lines = append(lines, s.queueView()...)
	lines = append(lines, s.popup(room/3)...)
	rows, x, y := s.input.rows(s.width-3, max(1, min(mostRows, room/2)))
	y += len(lines)
	lines = append(lines, indented(rows, s.theme.accent.Render("> "), "  ")...)
	return lines, x + 2, y
}

// questionView returns the first question above the input.
func (s *screen) questionView(room int) (lines []string, x, y int) {
	q := s.questions[0]
	rows, inputX, inputY := s.input.rows(s.width-3, max(1, min(3, room/4)))
	popup := append(s.queueView(), s.popup(room/4)...)
	body, cursor := q.body(s.width-2, &s.theme)
	title := q.title()
	if n := len(s.questions); n > 1 {
		title += fmt.Sprintf(" (1 of %d)", n)
	}
	column := -1
	switch {
	case !q.inside:
	case q.edit != nil:
		_, at, _ := q.edit.rows(s.width-4, 1000)
		column = at + 2
	case q.sheet != nil:
		column = q.sheet.x
	}
	foot := q.foot(s.width-2, &s.theme, s.focused, s.input.text == "")
	if s.hint != "" && !s.focused {
		foot = append(foot[:len(foot)-1:len(foot)-1], s.theme.dim.Render(cut(s.hint, s.width-2)))
	}
	q.scroll = min(q.scroll, max(0, len(body)-1))
	switch most := max(1, room-2); { // a small terminal shows what has the focus
	case !s.focused && len(rows)+len(popup)+len(foot) > most:
		foot = foot[len(foot)-1:]
	case s.focused && len(foot) > most:
		at := max(0, slices.IndexFunc(foot, func(l string) bool { return strings.Contains(l, picked) }))
		from := min(at, len(foot)-most)
		foot = foot[from : from+most]
	}
	lines, x, y = s.panel(title, foot, body, cursor, q.scroll, column, room-len(rows)-len(popup), q.ask.Loud || len(q.ask.Warnings) > 0 || len(q.ask.Secret) > 0)
	lines = append(lines, popup...)
	if !s.focused {
		x, y = inputX+2, len(lines)+inputY
	}
	return append(lines, indented(rows, s.theme.accent.Render("> "), "  ")...), x, y
}

// panel frames a question or a sheet: a title, as much of the body as fits, and
// the keys at its foot. cursor is the line of the body that must be visible.
func (s *screen) panel(title string, foot, body []string, cursor, scroll, column, room int, loud bool) (lines []string, x, y int) {
	style := s.theme.accent
	if loud {
		style = s.theme.loud
	}
	most := max(1, min(max(room*3/4, 9), room-1)-1-len(foot))
	from := max(0, min(scroll, len(body)-most))
	if cursor >= 0 {
		from = max(0, min(from, cursor))
		if cursor >= from+most {
			from = cursor - most + 1
		}
	}
	to := min(len(body), from+most)
	more := ""
	if to < len(body) || from > 0 {
		more = fmt.Sprintf("%d%% pgup pgdn ", 100*to/len(body))
	}
	lines = append(lines, style.Render(pad(" "+title, max(0, s.width-columns(more)))+more))
	lines = append(lines, indented(body[from:to], " ", " ")...)
	lines = append(lines, indented(foot, " ", " ")...)
	if cursor < 0 || column < 0 {
		return lines, -1, 0
	}
	return lines, column + 1, 1 + cursor - from
}

// popup returns the completions, above the input.
func (s *screen) popup(most int) []string {
	all := s.completed.choices
	if len(all) == 0 {
		return nil
	}
	most = max(1, min(most, 8))
	from := max(0, min(s.picked-most+1, len(all)-most))
	to := min(len(all), from+most)
	wide := 8
	for _, c := range all[from:to] {
		wide = max(wide, min(columns(line(c.word)), s.width/2))
	}
	var out []string
	for i := from; i < to; i++ {
		c := all[i]
		about, _, _ := strings.Cut(strings.TrimSpace(c.about), "\n")
		row := "  " + pad(visible.Line(c.word), wide)
		if i == s.picked {
			out = append(out, s.theme.pick.Render(pad(row+"  "+visible.Line(about), s.width)))
			continue
		}
		out = append(out, cut(row+"  "+s.theme.dim.Render(visible.Line(about)), s.width))
	}
	if to < len(all) {
		out[len(out)-1] = cut(pad(out[len(out)-1], s.width-8)+s.theme.dim.Render(fmt.Sprintf(" +%d", len(all)-to)), s.width)
	}
	return out
}

// waits says that a question is open while something else has the focus.
func (s *screen) waits() string {
	if len(s.questions) == 0 {
		return ""
	}
	return " · " + count(len(s.questions), "open question", "open questions") + ": ctrl+g"
}

// A theme is a set of styles. Colors are never the only distinction.
type theme struct {
	name   string
	color  bool // false for the plain theme
	dim    lipgloss.Style
	faint  lipgloss.Style // rules
	bold   lipgloss.Style
	accent lipgloss.Style // messages of the user, and what is chosen
	good   lipgloss.Style
	bad    lipgloss.Style
	warn   lipgloss.Style
	loud   lipgloss.Style // an important question
	pick   lipgloss.Style // the line with the focus

	pictures *gallery // nil: images are not shown
}

// darkTerminal reports whether the terminal has a dark background, as far as the
// environment says: COLORFGBG ends with the number of the background. The terminal's
// answer, if there is one, replaces it.
func darkTerminal() bool {
	value := os.Getenv("COLORFGBG")
	n, err := strconv.Atoi(value[strings.LastIndexByte(value, ';')+1:])
	return err != nil || n != 7 && (n < 9 || n > 15)
}

// newTheme returns the theme with a name; auto follows the terminal's background.
func newTheme(name string, dark bool) theme {
	if name == "" || name == "auto" {
		switch {
		case os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb":
			name = "plain"
		case dark:
			name = "dark"
		default:
			name = "light"
		}
	}
	style := lipgloss.NewStyle
	if name == "plain" {
		none := style()
		return theme{name: name, dim: none, faint: none, bold: none, accent: none, good: none, bad: none, warn: none,
			loud: none.Reverse(true), pick: none.Reverse(true)}
	}
	pick := lipgloss.LightDark(name == "dark")
	fore := func(light, dark string) lipgloss.Style {
		return style().Foreground(pick(lipgloss.Color(light), lipgloss.Color(dark)))
	}
	return theme{
		name: name, color: true,
		dim:    fore("#6b6b6b", "#8a8a8a"),
		faint:  fore("#c4c4c4", "#4a4a4a"),
		bold:   style().Bold(true),
		accent: fore("#0b5cad", "#7fb8ff").Bold(true),
		good:   fore("#1a7f37", "#67c97f"),
		bad:    fore("#b42318", "#ff7b72"),
		warn:   fore("#8a5a00", "#e3b341"),
		loud:   style().Bold(true).Foreground(lipgloss.Color("#ffffff")).Background(lipgloss.Color("#b42318")),
		pick:   style().Bold(true).Foreground(pick(lipgloss.Color("#000000"), lipgloss.Color("#ffffff"))).Background(pick(lipgloss.Color("#cfe3fb"), lipgloss.Color("#2f4a6d"))),
	}
}
