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

// ask asks the user a question and answers it with the typed line. At the end of
// the input the answer is no.
func (p *plain) ask(a host.Ask) {
	p.flush()
	q := p.t.question(a)
	th := newTheme("plain", true)
	th.loud = th.bold
	fmt.Fprintln(p.out, "\n? "+q.title())
	var answer host.Reply
	if a.Kind == host.AskForm {
		answer = p.askForm(q)
	} else {
		body, _ := q.body(p.width, &th)
		for _, l := range body {
			fmt.Fprintln(p.out, "  "+l)
		}
		answer = p.askWord(q)
	}
	if err := p.t.w.Host.Reply(a.ID, answer); err != nil {
		p.say("! " + err.Error())
		if _, invalid := errors.AsType[*host.InvalidReplyError](err); invalid { // the question is still open
			p.ask(a)
		}
	}
}

func (p *plain) askForm(q *question) host.Reply {
	for _, l := range q.secretWarning(p.width, &theme{}) {
		fmt.Fprintln(p.out, "  "+l)
	}
	for _, l := range quoteMessage(q.ask.Message, p.width, &theme{}) {
		fmt.Fprintln(p.out, "  "+l)
	}
	if q.wrong != "" {
		p.say("! " + q.wrong)
		return host.Reply{Action: "decline"}
	}
	p.keepAhead()
	for {
		err := p.sheet(p.t.ctx, q.sheet.sheet)
		switch {
		case errors.Is(err, form.ErrDeclined):
			return host.Reply{Action: "decline"}
		case err != nil:
			if errors.Is(err, errInterrupted) {
				p.t.stop()
			}
			return host.Reply{Action: "cancel"}
		}
		content, err := q.sheet.content()
		if err == nil {
			return host.Reply{Action: "accept", Content: content}
		}
		p.say("! " + err.Error())
	}
}

// words returns the answers that a question accepts as lines, and the one that
// means no. They are whole words, so that no letter typed ahead is an answer.
func (q *question) words() (all map[string]string, text, no string) {
	switch q.ask.Kind {
	case host.AskApproval:
		all, labels := map[string]string{"never": "never"}, []string{}
		for _, o := range q.approvalOptions() {
			if host := o.action; host != doReason && host != doChange && host != doSimilar {
				all[host], all[strings.ToLower(o.label)] = host, host
				labels = append(labels, o.label)
			}
		}
		return all, strings.Join(labels, ", ") + q.alsoWritten(), "deny"
	case host.AskFlow:
		if q.ask.EachTime {
			return map[string]string{"once": "once", "deny": "deny", "allow once": "once"}, "Allow once, Deny" + q.alsoWritten(), "deny"
		}
		return map[string]string{"once": "once", "session": "session", "deny": "deny", "allow once": "once", "allow for this session": "session"}, "Allow once, Allow for this session, Deny" + q.alsoWritten(), "deny"
	case host.AskURL:
		return map[string]string{"opened": "accept", "decline": "decline", "cancel": "cancel", "mute": "mute"}, "opened, decline, cancel, mute", "cancel"
	}
	if q.ask.Draft != nil {
		return map[string]string{"accept": "accept", "decline": "decline", "mute": "mute"}, "accept, decline, mute, or = and other text to send instead", "decline"
	}
	return map[string]string{"accept": "accept", "decline": "decline", "mute": "mute"}, "accept, decline, mute", "decline"
}

// alsoWritten names the answers that have a text of the user.
func (q *question) alsoWritten() string {
	text := ""
	for _, o := range q.options() {
		switch o.action {
		case doReason:
			text += ", Deny because …"
		case doChange:
			text += ", or = and other arguments as JSON"
		}
	}
	return text
}

// writtenReply returns the reply of a line that has a text of the user.
func (q *question) writtenReply(typed string) (r host.Reply, ok bool) {
	also := q.alsoWritten()
	const because = "deny because "
	if len(typed) > len(because) && strings.EqualFold(typed[:len(because)], because) && strings.Contains(also, "because") {
		return host.Reply{Action: "deny", Reason: typed[len(because):]}, true
	}
	if other, is := strings.CutPrefix(typed, "="); is && strings.Contains(also, "=") {
		return host.Reply{Action: "once", Arguments: json.RawMessage(strings.TrimSpace(other))}, true
	}
	return host.Reply{}, false
}

// keepAhead keeps lines typed before a question for the prompt after it: they do
// not answer the question.
func (p *plain) keepAhead() {
	for _, text := range p.in.typedAhead() {
		p.keep(text)
	}
}

func (p *plain) keep(text string) {
	p.ahead = append(p.ahead, text)
	p.say("  (saved for later: " + clip(text, 60) + ")")
}

// askWord reads lines until one is an answer. At a terminal, lines typed before
// the question, and lines that are not an answer, are kept for the prompt after
// it.
func (p *plain) askWord(q *question) host.Reply {
	all, text, no := q.words()
	p.keepAhead()
	for {
		typed, err := p.prompt(p.t.ctx, text+": ")
		if err != nil {
			if errors.Is(err, errInterrupted) {
				p.t.stop()
			}
			return host.Reply{Action: no}
		}
		typed = strings.TrimSpace(typed)
		if other, ok := strings.CutPrefix(typed, "="); ok && q.ask.Draft != nil {
			content, err := mcp.Marshal(strings.TrimSpace(other))
			if err != nil {
				p.say("! " + err.Error())
				continue
			}
			return host.Reply{Action: "accept", Content: json.RawMessage(content)}
		}
		if r, ok := q.writtenReply(typed); ok {
			return r
		}
		if action := all[strings.ToLower(typed)]; action != "" {
			return host.Reply{Action: action}
		}
		if p.typed && typed != "" {
			p.keep(typed)
		}
		p.say("  answer with one of: " + text)
	}
}
