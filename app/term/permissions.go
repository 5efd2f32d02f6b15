package term

import (
	"context"
	"errors"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/permit"
	"github.com/tenon-mcp/tenon/app/show"
	"github.com/tenon-mcp/tenon/internal/visible"
)

// runPermissions lists the rules and answers in force, or changes one.
func runPermissions(_ context.Context, t *talk, words []string, _ *show.Printer) (outcome, error) {
	if len(words) == 0 {
		a := outcome{list: "permissions"}
		for _, e := range t.w.Book.List(t.now().ID) {
			a.items = append(a.items, listItem{value: e.ID, text: permissionText(&e), about: line(e.From)})
		}
		return a, nil
	}
	if len(words) != 2 {
		return outcome{}, errors.New("write /permissions remove ID, or allow, ask or deny in place of remove; /permissions lists the ids")
	}
	said, err := t.permit(words[0], words[1])
	if err != nil {
		return outcome{}, err
	}
	return outcome{notes: []string{said}}, nil
}

// permit changes or removes a rule or answer, and says what it did.
func (t *talk) permit(action, id string) (string, error) {
	var e permit.Entry
	var err error
	switch action {
	case "remove":
		e, err = t.w.Book.Remove(id, t.now().ID)
	case "allow", "ask", "deny":
		e, err = t.w.Book.Change(id, t.now().ID, config.Effect(action))
	default:
		return "", fmt.Errorf("unknown action %q; use remove, allow, ask or deny", action)
	}
	if err != nil {
		return "", err
	}
	if action == "remove" {
		return "Removed: " + permissionText(&e) + ".", nil
	}
	e.Effect = config.Effect(action)
	return "Now: " + permissionText(&e) + ".", nil
}

var effectTexts = map[config.Effect]string{config.Allow: "allow", config.Ask: "ask about", config.Deny: "deny"}

// permissionText says what a rule or answer decides.
func permissionText(e *permit.Entry) string {
	name := e.Name()
	switch {
	case e.Server == "*" && e.Tool == "*":
		name = "all tools"
	case e.Tool == "*":
		name = "all tools of " + e.Server
	}
	text := e.Scope + ": " + effectTexts[e.Effect] + " " + name
	if e.About != "" {
		text += " " + e.About
	}
	if e.Off != "" {
		text += " (not here: " + e.Off + ")"
	}
	return line(text)
}

// A permissionsPane shows the rules and answers in force by scope. A change needs
// the same key twice, so that no single key widens what is allowed.
type permissionsPane struct {
	list
	t       *talk
	seen    int
	said    string // the outcome of the last key
	pending string // the action and id that the same key would carry out
}

func (p *permissionsPane) title() string { return "Permissions" }

func (p *permissionsPane) keys() string {
	return "x remove · a allow · s ask · d deny (twice) · esc close"
}

var permissionKeys = map[string]string{"x": "remove", "delete": "remove", "a": "allow", "s": "ask", "d": "deny"}

func (p *permissionsPane) all() []permit.Entry { return p.t.w.Book.List(p.t.now().ID) }

func (p *permissionsPane) view(width, height int, th *theme) []string {
	all := p.all()
	below := p.details(all[max(0, min(p.at, len(all)-1))], width, th)
	rows := max(3, height-len(below)-1)
	p.seen = rows
	from, to := p.window(len(all), rows)
	var out []string
	for i := from; i < to; i++ {
		row := pad(" "+permissionText(&all[i]), width)
		switch {
		case i == p.at:
			row = th.pick.Render("▶" + strings.TrimPrefix(row, " "))
		case all[i].Off != "" || all[i].Scope == permit.ScopeDefault:
			row = th.dim.Render(row)
		}
		out = append(out, row)
	}
	out = append(out, "")
	return append(out, below[:max(0, min(len(below), height-len(out)))]...)
}

func (p *permissionsPane) details(e permit.Entry, width int, th *theme) []string {
	var out []string
	if p.said != "" {
		out = indented(wrap(visible.Text(p.said), width-2), "! ", "  ")
	}
	add := func(label, text string) {
		if text != "" {
			out = append(out, indented(wrap(visible.Text(text), width-12), th.dim.Render(pad(label, 11))+" ", strings.Repeat(" ", 12))...)
		}
	}
	from := e.From
	if !e.Since.IsZero() {
		from += " of " + e.Since.Local().Format("2006-01-02 15:04")
	}
	add("from", from)
	add("folder", e.Folder)
	if e.Fixed != "" {
		add("to change", e.Fixed)
	}
	add("id", e.ID)
	return out
}

func (p *permissionsPane) key(stroke, _ string) (tea.Cmd, bool) {
	all := p.all()
	action := permissionKeys[stroke]
	switch {
	case stroke == "esc", stroke == "q":
		return nil, true
	case action == "":
		p.pending, p.said = "", ""
		p.list.key(stroke, len(all), p.seen)
		return nil, false
	case p.at >= len(all):
		return nil, false
	}
	e := all[p.at]
	if e.Fixed != "" {
		p.pending, p.said = "", "This cannot be changed here: "+e.Fixed+"."
		return nil, false
	}
	if want := action + " " + e.ID; p.pending != want {
		p.pending, p.said = want, fmt.Sprintf("Press %s again to %s: %s", stroke, map[string]string{"remove": "remove", "allow": "change to allow", "ask": "change to ask", "deny": "change to deny"}[action], permissionText(&e))
		return nil, false
	}
	said, err := p.t.permit(action, e.ID)
	if p.pending, p.said = "", said; err != nil {
		p.said = err.Error()
	}
	p.at = max(0, min(p.at, len(p.all())-1))
	return nil, false
}
