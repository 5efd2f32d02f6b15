package term

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/app/host"
	"github.com/tenon-mcp/tenon/app/permit"
	"github.com/tenon-mcp/tenon/internal/visible"
)

// A question is an open ask on the screen, above the input. It takes no keys
// until the user goes to it; see [screen.questionKey].
type question struct {
	ask    host.Ask
	where  string // the server's program or address
	scroll int
	full   bool       // long values are shown in full
	picked int        // the option for Enter; -1: none
	inside bool       // keys go to the fields or the draft instead of the options
	ready  bool       // form: the fields are filled in
	sheet  *sheetView // form
	edit   *editor    // sampling: the draft, while it is being changed
	wrong  string     // why an answer was not accepted
}

func newQuestion(a host.Ask) *question {
	q := &question{ask: a, picked: -1}
	if a.Kind == host.AskForm {
		s, err := questionSheet(a.Schema, a.Secret)
		if err != nil {
			q.wrong = "The form is invalid: " + err.Error()
			s = &sheet{schema: a.Schema}
		}
		q.sheet = newSheetView(s)
		q.ready = len(s.fields) == 0
	}
	return q
}

// title says who asks what. It never has text of the server.
func (q *question) title() string {
	server := line(q.ask.Server)
	switch q.ask.Kind {
	case host.AskApproval:
		return "Allow " + callName(q.ask.Call) + "?"
	case host.AskFlow:
		return fmt.Sprintf("Allow data from %s to go to %s?", line(q.ask.From), server)
	case host.AskForm:
		return server + " asks you to fill in a form"
	case host.AskURL:
		return server + " asks you to open a page"
	case host.AskSampling:
		if q.ask.Draft != nil {
			return "Send this to " + server + "?"
		}
		return server + " asks to use the model"
	}
	return server + " asks"
}

// body returns the question. cursor is a line that must be visible; -1: any.
func (q *question) body(width int, th *theme) (lines []string, cursor int) {
	cursor = -1
	switch q.ask.Kind {
	case host.AskApproval:
		lines = q.approval(width, th)
	case host.AskFlow:
		lines = append(wrap(visible.Text(q.ask.Message), width), q.call(width, th)...)
	case host.AskForm:
		lines = append(q.secretWarning(width, th), quoteMessage(q.ask.Message, width, th)...)
		var fields []string
		q.sheet.idle = !q.inside
		fields, cursor = q.sheet.lines(width, th)
		cursor += len(lines)
		lines = append(lines, fields...)
		if !q.inside {
			cursor = -1
		}
	case host.AskURL:
		lines = q.page(width, th)
	case host.AskSampling:
		lines, cursor = q.sampling(width, th)
	}
	if q.wrong != "" {
		for _, l := range wrap(visible.Text(q.wrong), width) {
			lines = append(lines, th.bad.Render(l))
		}
	}
	return lines, cursor
}

// secretWarning warns of fields that seem to ask for secrets.
func (q *question) secretWarning(width int, th *theme) []string {
	if len(q.ask.Secret) == 0 {
		return nil
	}
	return styled(wrap("! "+line(permit.SecretWarning(q.ask.Server, q.ask.Secret)), width), "", th.loud.Render)
}

// quoteMessage marks text of a server as a quotation.
func quoteMessage(text string, width int, th *theme) []string {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	return append(indented(wrap(visible.Text(text), width-2), "│ ", "│ "), "")
}

// page shows a URL in full, and its host apart from the server's message.
func (q *question) page(width int, th *theme) []string {
	var out []string
	at := visible.AddressOf(q.ask.URL)
	warnings := append(at.Warnings, visible.Suspicious(q.ask.URL)...)
	if at.Refused != "" {
		warnings = append([]string{"Do not open this page: " + at.Refused}, warnings...)
	}
	for _, s := range warnings {
		for i, l := range lay(line(s), width-2) {
			out = append(out, th.loud.Render([]string{"! ", "  "}[min(i, 1)]+l))
		}
	}
	if at.Machine != "" {
		out = append(out, th.dim.Render("on host ")+th.bold.Render(line(at.Machine)))
	}
	out = append(out, th.dim.Render("full address:"))
	for _, l := range lay(line(q.ask.URL), width-2) {
		out = append(out, "  "+l)
	}
	out = append(out, quoteMessage(q.ask.Message, width, th)...)
	return out
}

// An option is an answer that the user can pick.
type option struct {
	action string // of host.Reply, or one of those below
	label  string
}

// Actions of the terminal itself.
const (
	doFill = "fill" // go to the fields of a form
	doOpen = "open" // open the page
	doEdit = "edit" // change the draft
)

// options returns the answers that a question accepts.
func (q *question) options() []option {
	mute := option{"mute", "Mute " + cut(line(q.ask.Server), 20)}
	switch q.ask.Kind {
	case host.AskApproval:
		if q.ask.EachTime {
			return []option{{"once", "Allow once"}, {"deny", "Deny"}, {"never", "Always deny"}}
		}
		return []option{{"once", "Allow once"}, {"session", "Allow for this session"}, {"always", "Always allow"}, {"deny", "Deny"}, {"never", "Always deny"}}
	case host.AskFlow:
		if q.ask.EachTime {
			return []option{{"once", "Allow once"}, {"deny", "Deny"}}
		}
		return []option{{"once", "Allow once"}, {"session", "Allow for this session"}, {"deny", "Deny"}}
	case host.AskForm:
		all := []option{{doFill, "Fill in"}, {"decline", "Decline"}, {"cancel", "Cancel"}, mute}
		switch {
		case len(q.sheet.fields) == 0:
			all[0] = option{"accept", "Accept"}
		case q.ready:
			all = slices.Insert(all, 0, option{"accept", "Send"})
			all[1].label = "Change"
		}
		return all
	case host.AskURL:
		return []option{{doOpen, "Open the page"}, {"accept", "I have opened it"}, {"decline", "Decline"}, {"cancel", "Cancel"}, mute}
	case host.AskSampling:
		if q.ask.Draft != nil {
			return []option{{"accept", "Send"}, {doEdit, "Change"}, {"decline", "Decline"}, mute}
		}
		return []option{{"accept", "Allow"}, {"decline", "Decline"}, mute}
	}
	return nil
}

// pick moves to the next or previous option; if none is picked, to the first or
// last.
func (q *question) pick(by int) {
	n := len(q.options())
	switch {
	case n == 0:
	case q.picked < 0 && by > 0:
		q.picked = 0
	case q.picked < 0:
		q.picked = n - 1
	default:
		q.picked = (q.picked + by + n) % n
	}
}

// menu lays the options out in rows, with a mark at the picked one.
func (q *question) menu(width int, th *theme, focused bool) []string {
	var rows []string
	row, used := "", 0
	for i, c := range q.options() {
		text, style := " "+c.label+" ", th.bold
		switch {
		case focused && i == q.picked:
			text, style = "▶"+c.label+" ", th.pick
		case !focused:
			style = th.dim
		}
		if w := columns(text) + 1; used > 0 && used+w-1 > width {
			rows, row, used = append(rows, row), "", 0
		}
		if used > 0 {
			row, used = row+th.dim.Render("·"), used+1
		}
		row, used = row+style.Render(text), used+columns(text)
	}
	return append(rows, row)
}

// foot explains the keys.
func (q *question) foot(width int, th *theme, focused, empty bool) []string {
	help := "→ ← select · enter · ctrl+o all · esc"
	switch {
	case focused && q.edit != nil && q.inside:
		return wrap("ctrl+s send this instead · esc back", width)
	case focused && q.inside:
		return wrap("enter next · ctrl+s send · ctrl+x decline · esc back", width)
	case !focused && empty:
		help = "Enter to answer · typing goes below"
	case !focused:
		help = "Ctrl-G to answer · typing goes below"
	}
	out := q.menu(width, th, focused)
	for _, l := range wrap(help, width) {
		out = append(out, th.dim.Render(l))
	}
	return out
}
