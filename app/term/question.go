package term

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/app/editdiff"
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
	edit   *editor    // what is being written; nil: nothing
	write  string     // doEdit: the draft (sampling); doReason, doChange (approval, flow)
	wrong  string     // why an answer was not accepted

	similar bool             // approval: the options are the proposals
	chosen  *permit.Proposal // the proposal whose scope is asked for; nil with scope: all calls
	scope   bool             // the options are scopes

	changed json.RawMessage // approval: the arguments as the user changed them; nil: not changed
	diff    *editdiff.Diff  // approval: what the call would change in a file; nil: not known
}

func newQuestion(a host.Ask) *question {
	q := &question{ask: a, picked: -1, diff: a.Diff}
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
	if q.edit != nil && q.write != doEdit {
		return q.written(width, th)
	}
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

// written returns the text that the user writes into the question, in place of its
// body: changed arguments, or a reason below the arguments.
func (q *question) written(width int, th *theme) (lines []string, cursor int) {
	label := "The arguments of this call, as JSON:"
	if q.write == doReason {
		label = "Why? The model gets this text:"
		lines = q.call(width, th)
	}
	lines = append(lines, th.dim.Render(cut(label, width)))
	if q.wrong != "" {
		lines = append(lines, styled(wrap(visible.Text(q.wrong), width), "", th.bad.Render)...)
	}
	rows, _, y := q.edit.rows(width-2, 1000)
	return append(lines, indented(rows, "> ", "> ")...), len(lines) + y
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

	doReason = "reason" // write why the call is denied
	doChange = "change" // change the arguments
	doRevert = "revert" // take the model's arguments again

	doSimilar = "similar" // list the proposals
	doPropose = "propose" // and an index: choose a proposal
	doBack    = "back"    // go back to the answers
)

// options returns the answers that a question accepts.
func (q *question) options() []option {
	mute := option{"mute", "Mute " + cut(line(q.ask.Server), 20)}
	switch q.ask.Kind {
	case host.AskApproval:
		return q.approvalOptions()
	case host.AskFlow:
		if q.ask.EachTime {
			return []option{{"once", "Allow once"}, {"deny", "Deny"}, {doReason, "Deny because…"}}
		}
		return []option{{"once", "Allow once"}, {"session", "Allow for this session"}, {"deny", "Deny"}, {doReason, "Deny because…"}}
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

// approvalOptions returns the answers about a call. Changed arguments count for
// this call only, and a view gets no reason.
func (q *question) approvalOptions() []option {
	if q.similar {
		return q.similarOptions()
	}
	denials := []option{{"deny", "Deny"}, {doReason, "Deny because…"}}
	if q.ask.Call != nil && q.ask.Call.View != "" {
		denials = denials[:1]
	}
	if q.changed != nil {
		return append([]option{{"once", "Allow once as changed"}, {doChange, "Edit again…"}, {doRevert, "Undo the changes"}}, denials...)
	}
	all := []option{{"once", "Allow once"}}
	if !q.ask.EachTime {
		all = append(all, option{"session", "Allow for this session"}, option{"always", "Always allow"})
	}
	all = append(append(all, denials...), option{"never", "Always deny"})
	if len(q.ask.Proposals) > 0 || q.ask.Folder != "" {
		all = append(all, option{doSimilar, "Allow similar…"})
	}
	if !q.ask.Skill {
		all = append(all, option{doChange, "Edit…"})
	}
	return all
}

// similarOptions returns the proposals, and then the scopes of the chosen one.
func (q *question) similarOptions() []option {
	var all []option
	if !q.scope {
		for i, p := range q.ask.Proposals {
			all = append(all, option{doPropose + strconv.Itoa(i), upper(line(p.Label))})
		}
		if q.ask.Folder != "" {
			all = append(all, option{doPropose, "All calls in this project"})
		}
		return append(all, option{doBack, "Back"})
	}
	if q.chosen != nil {
		all = append(all, option{"session", "For this session"})
	}
	if q.ask.Folder != "" {
		all = append(all, option{"project", "For the project " + line(q.ask.Folder)})
	}
	if q.chosen != nil {
		all = append(all, option{"always", "Always"})
	}
	return append(all, option{doBack, "Back"})
}

// upper returns a text that begins with a capital letter.
func upper(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[n:]
}

// leaveSimilar goes back to the answers. Nothing is picked.
func (q *question) leaveSimilar() { q.similar, q.scope, q.chosen, q.picked = false, false, nil, -1 }

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
			text, style = picked+c.label+" ", th.pick
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

// picked marks the selected answer.
const picked = "▶"

// foot explains the keys.
func (q *question) foot(width int, th *theme, focused, empty bool) []string {
	help := "→ ← select · enter · ctrl+o all · esc"
	switch {
	case focused && q.edit != nil && q.inside:
		return wrap(map[string]string{
			doEdit:   "ctrl+s send this instead · esc back",
			doReason: "enter deny, and tell the model why · esc back",
			doChange: "ctrl+s use these arguments · esc back",
		}[q.write], width)
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
