package term

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/tenon-mcp/tenon/app/host"
	"github.com/tenon-mcp/tenon/internal/visible"
)

// A question is an ask that is open, as the person sees it. It stands at the
// bottom, in the place of the input.
type question struct {
	ask    host.Ask
	where  string // what the server is: a program, an address, or a part of this one
	armed  bool   // keys count; right after it appeared they may have been meant for something else
	scroll int
	sheet  *sheetView // form
	edit   *editor    // sampling: the draft, while it is being changed
	wrong  string     // why an answer was not taken
}

func newQuestion(a host.Ask) *question {
	q := &question{ask: a}
	if a.Kind == host.AskForm {
		s, err := questionSheet(a.Schema)
		if err != nil {
			q.wrong = "The form cannot be read: " + err.Error()
			s = &sheet{schema: a.Schema}
		}
		q.sheet = newSheetView(s)
	}
	return q
}

// title says who asks what; it is never the server's own text.
func (q *question) title() string {
	server := line(q.ask.Server)
	switch q.ask.Kind {
	case host.AskApproval:
		return "May " + callName(q.ask.Call) + " run?"
	case host.AskFlow:
		return fmt.Sprintf("May data of %s go to %s?", line(q.ask.From), server)
	case host.AskForm:
		return server + " asks you to fill in a form"
	case host.AskURL:
		return server + " asks you to open a page"
	case host.AskSampling:
		if q.ask.Draft != nil {
			return "May this be sent to " + server + "?"
		}
		return server + " asks the model to write something"
	}
	return server + " asks"
}

// body is the question itself. Cursor is the line that must be seen; -1 if any
// will do.
func (q *question) body(width int, th *theme) (lines []string, cursor int) {
	cursor = -1
	switch q.ask.Kind {
	case host.AskApproval:
		lines = q.approval(width, th)
	case host.AskFlow:
		lines = append(wrap(visible.Text(q.ask.Message), width), q.call(width, th)...)
	case host.AskForm:
		lines = quoteMessage(q.ask.Message, width, th)
		var fields []string
		fields, cursor = q.sheet.lines(width, th)
		cursor += len(lines)
		lines = append(lines, fields...)
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

// quoteMessage sets a server's words apart from ours.
func quoteMessage(text string, width int, th *theme) []string {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	return append(indented(wrap(visible.Text(text), width-2), "│ ", "│ "), "")
}

// call is what would run, with what.
func (q *question) call(width int, th *theme) []string {
	c := q.ask.Call
	if c == nil {
		return nil
	}
	var out []string
	if q.where != "" {
		out = append(out, indented(wrap(visible.Text(q.where), width-3), th.dim.Render("on")+" ", "   ")...)
	}
	out = append(out, th.dim.Render("with"))
	args := structured(c.Arguments, width-2, false)
	if s := compact(c.Arguments); s == "{}" || s == "" {
		args = []string{"no arguments"}
	}
	return append(out, indented(args, "  ", "  ")...)
}

// approval is all that a person should know before a tool runs: warnings first,
// then what would run, why they are asked, and what it says about itself.
func (q *question) approval(width int, th *theme) []string {
	var out []string
	for _, w := range q.ask.Warnings {
		for _, l := range wrap("! "+line(w), width) {
			out = append(out, th.loud.Render(l))
		}
	}
	if len(q.ask.Changes) > 0 {
		out = append(out, th.loud.Render(cut("Its definition has changed since you approved it:", width)))
		for _, c := range q.ask.Changes {
			out = append(out, "  "+th.bold.Render(cut(line(c.What), width-2)))
			for _, l := range wrap("was: "+visible.Text(c.Before), width-4) {
				out = append(out, "    "+th.bad.Render(l))
			}
			for _, l := range wrap("now: "+visible.Text(c.After), width-4) {
				out = append(out, "    "+th.good.Render(l))
			}
		}
	}
	out = append(out, q.call(width, th)...)
	about := "asked because " + line(q.ask.Message)
	if q.ask.Loud {
		about += "; it may change or destroy things, or reach beyond this machine"
	}
	for _, l := range wrap(about, width) {
		if q.ask.Loud {
			l = th.warn.Render(l)
		} else {
			l = th.dim.Render(l)
		}
		out = append(out, l)
	}
	if q.ask.Tool != nil && (q.ask.First || len(q.ask.Changes) > 0) {
		label := "first use; this is what " + line(q.ask.Server) + " says about it:"
		if !q.ask.First {
			label = "the definition now:"
		}
		out = append(out, th.dim.Render(cut(label, width)))
		out = append(out, indented(toolLines(q.ask.Tool, width-2, false), "│ ", "│ ")...)
	}
	return out
}

// page shows an address in full, and whose it is apart from what the server
// says about it.
func (q *question) page(width int, th *theme) []string {
	out := quoteMessage(q.ask.Message, width, th)
	out = append(out, th.dim.Render("the address in full:"))
	for _, l := range lay(line(q.ask.URL), width-2) {
		out = append(out, "  "+l)
	}
	if u, err := url.Parse(q.ask.URL); err == nil && u.Host != "" {
		out = append(out, th.dim.Render("on the machine ")+th.bold.Render(line(u.Host)))
	}
	for _, s := range visible.Suspicious(q.ask.URL) {
		out = append(out, th.loud.Render(cut("! "+line(s), width)))
	}
	return out
}

// keys is what can be pressed.
func (q *question) keys() string {
	if q.edit != nil {
		return "ctrl+s send this instead · esc back"
	}
	switch q.ask.Kind {
	case host.AskApproval:
		return "o once · s this session · a always · d deny · n never"
	case host.AskFlow:
		return "o once · s this session · d deny"
	case host.AskForm:
		return "enter next · ctrl+s send · ctrl+x decline · esc cancel"
	case host.AskURL:
		return "o open it · y I have opened it · n decline · esc cancel"
	case host.AskSampling:
		if q.ask.Draft != nil {
			return "y send · e change it · n decline"
		}
		return "y let it · n decline"
	}
	return ""
}

// answer is what a key says to a question; empty if nothing.
func (q *question) answer(stroke string) string {
	var by map[string]string
	switch q.ask.Kind {
	case host.AskApproval:
		by = map[string]string{"o": "once", "s": "session", "a": "always", "d": "deny", "n": "never"}
	case host.AskFlow:
		by = map[string]string{"o": "once", "s": "session", "d": "deny"}
	case host.AskForm:
		by = map[string]string{"ctrl+s": "accept", "ctrl+x": "decline", "esc": "cancel"}
	case host.AskURL:
		by = map[string]string{"o": "accept", "y": "accept", "n": "decline", "esc": "cancel"}
	case host.AskSampling:
		by = map[string]string{"y": "accept", "n": "decline"}
	}
	return by[stroke]
}
