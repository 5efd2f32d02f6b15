package term

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/tenon-mcp/tenon/app/form"
	"github.com/tenon-mcp/tenon/app/host"
	"github.com/tenon-mcp/tenon/mcp"
)

// ask puts a question to the person and answers it with what they type. Where
// nobody types any more, the answer is no.
func (p *plain) ask(a host.Ask) {
	p.flush()
	q := p.t.question(a)
	th := newTheme("plain", true)
	th.loud = th.bold
	fmt.Fprintln(p.out, "\n? "+q.title())
	var answer host.Answer
	if a.Kind == host.AskForm {
		answer = p.askForm(q)
	} else {
		body, _ := q.body(p.width, &th)
		for _, l := range body {
			fmt.Fprintln(p.out, "  "+l)
		}
		answer = p.askWord(q)
	}
	if err := p.t.w.Host.Answer(a.ID, answer); err != nil {
		p.say("! " + err.Error())
	}
}

func (p *plain) askForm(q *question) host.Answer {
	for _, l := range quoteMessage(q.ask.Message, p.width, &theme{}) {
		fmt.Fprintln(p.out, "  "+l)
	}
	if q.wrong != "" {
		p.say("! " + q.wrong)
		return host.Answer{Action: "decline"}
	}
	for {
		err := p.sheet(p.t.ctx, q.sheet.sheet)
		switch {
		case errors.Is(err, form.ErrDeclined):
			return host.Answer{Action: "decline"}
		case err != nil:
			if errors.Is(err, errInterrupted) {
				p.t.stop()
			}
			return host.Answer{Action: "cancel"}
		}
		content, err := q.sheet.content()
		if err == nil {
			return host.Answer{Action: "accept", Content: content}
		}
		p.say("! " + err.Error())
	}
}

// words are the answers that a question takes, and the one for no.
func (q *question) words() (all map[string]string, text, no string) {
	switch q.ask.Kind {
	case host.AskApproval:
		return map[string]string{"o": "once", "s": "session", "a": "always", "d": "deny", "n": "never"}, "[o]nce, [s]ession, [a]lways, [d]eny, [n]ever", "deny"
	case host.AskFlow:
		return map[string]string{"o": "once", "s": "session", "d": "deny"}, "[o]nce, [s]ession, [d]eny", "deny"
	case host.AskURL:
		return map[string]string{"y": "accept", "n": "decline", "c": "cancel"}, "[y]es I have opened it, [n]o, [c]ancel", "cancel"
	}
	if q.ask.Draft != nil {
		return map[string]string{"y": "accept", "n": "decline"}, "[y]es, [n]o, or = and other words to send instead", "decline"
	}
	return map[string]string{"y": "accept", "n": "decline"}, "[y]es, [n]o", "decline"
}

func (p *plain) askWord(q *question) host.Answer {
	all, text, no := q.words()
	for {
		typed, err := p.prompt(p.t.ctx, text+": ")
		if err != nil {
			if errors.Is(err, errInterrupted) {
				p.t.stop()
			}
			return host.Answer{Action: no}
		}
		typed = strings.TrimSpace(typed)
		if other, ok := strings.CutPrefix(typed, "="); ok && q.ask.Draft != nil {
			content, err := mcp.Marshal(strings.TrimSpace(other))
			if err != nil {
				p.say("! " + err.Error())
				continue
			}
			return host.Answer{Action: "accept", Content: json.RawMessage(content)}
		}
		for short, action := range all {
			if low := strings.ToLower(typed); low == short || low == action || low == "yes" && short == "y" || low == "no" && short == "n" && all["y"] != "" {
				return host.Answer{Action: action}
			}
		}
		p.say("  answer with one of: " + text)
	}
}
