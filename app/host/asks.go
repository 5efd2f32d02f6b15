package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/permit"
	"github.com/tenon-mcp/tenon/internal/visible"
)

var noSettings config.Settings

// An openAsk waits for its reply.
type openAsk struct {
	ask    Ask
	seq    int        // increases by one with each ask
	answer chan Reply // holds one
}

// person is the By of a reply that names nobody.
const person = "person"

// ask asks the user and waits for the reply. The ask ends with ctx.
func (h *Host) ask(ctx context.Context, a Ask) (Reply, error) {
	if h.opts.Unattended {
		return h.unattended(a), nil
	}
	open := &openAsk{answer: make(chan Reply, 1)}
	h.mu.Lock()
	h.askSeq++
	a.ID, a.At = fmt.Sprintf("ask-%d", h.askSeq), time.Now()
	open.ask, open.seq = a, h.askSeq
	h.asks[a.ID] = open
	h.mu.Unlock()
	shown := a
	h.emit(Event{Kind: EventAsk, Session: a.Session, Server: a.Server, Ask: &shown})
	var answer Reply
	var err error
	select {
	case answer = <-open.answer:
	case <-ctx.Done():
		answer, err = Reply{Action: "cancel", By: "the call has ended"}, ctx.Err()
	}
	h.mu.Lock()
	delete(h.asks, a.ID)
	h.mu.Unlock()
	over, told := a, answer
	told.Content, told.Arguments = nil, nil // the form's content is for the server only, and the call has its arguments
	told.Reason = h.redact(told.Reason)
	over.Reply = &told
	h.emit(Event{Kind: EventReplied, Session: a.Session, Server: a.Server, Ask: &over})
	return answer, err
}

// unattended returns the reply for a host without a user.
func (h *Host) unattended(a Ask) Reply {
	by := "no person to ask"
	answer := Reply{Action: "decline", By: by}
	if a.Kind == AskApproval || a.Kind == AskFlow {
		answer.Action = "deny"
	}
	a.Reply = &answer
	h.emit(Event{Kind: EventReplied, Session: a.Session, Server: a.Server, Ask: &a})
	return answer
}

// fit checks that a reply fits its ask, and cleans its reason.
func (a *Reply) fit(q *Ask) error {
	if !slices.Contains(actions[q.Kind], a.Action) {
		return fmt.Errorf("%q does not answer this question; choose %s", a.Action, strings.Join(actions[q.Kind], ", "))
	}
	if a.Action == "accept" && q.check != nil {
		if err := q.check(a.Content); err != nil {
			return fmt.Errorf("the form is not complete: %w", err)
		}
	}
	switch {
	case a.Action == permit.Project && q.Folder == "":
		return errors.New("\"project\" does not answer this question: the folder of the project is not known")
	case a.Proposal != "" && !slices.ContainsFunc(q.Proposals, func(p permit.Proposal) bool { return p.ID == a.Proposal }):
		return fmt.Errorf("this question has no proposal %q", a.Proposal)
	case a.Proposal != "" && a.Action != permit.Session && a.Action != permit.Project && a.Action != permit.Always:
		return fmt.Errorf("a proposal is allowed with session, project or always, not with %q", a.Action)
	}
	a.Reason = visible.Text(strings.TrimSpace(a.Reason))
	switch n := utf8.RuneCountInString(a.Reason); {
	case n > 0 && a.Action != permit.Deny && a.Action != permit.Never:
		return fmt.Errorf("a reason belongs to a denial, not to %q", a.Action)
	case n > maxReason:
		return fmt.Errorf("the reason has %d characters; at most %d are possible", n, maxReason)
	}
	if a.Arguments = bytes.TrimSpace(a.Arguments); len(a.Arguments) == 0 || string(a.Arguments) == "null" {
		a.Arguments = nil
		return nil
	}
	switch {
	case q.checkArgs == nil:
		return errors.New("the arguments cannot be changed here")
	case a.Action != permit.Once:
		return fmt.Errorf("changed arguments are for this call only: answer with %q", permit.Once)
	}
	return q.checkArgs(a.Arguments)
}

// The bounds of a reply.
const (
	maxReason    = 2000    // characters
	maxArguments = 1 << 20 // bytes
)

var actions = map[AskKind][]string{
	AskApproval: {"once", "session", "project", "always", "deny", "never"},
	AskFlow:     {"once", "session", "deny"},
	AskForm:     {"accept", "decline", "cancel", "mute"},
	AskURL:      {"accept", "decline", "cancel", "mute"},
	AskSampling: {"accept", "decline", "mute"},
}

// An InvalidReplyError reports a reply that does not fit its ask, which stays open.
type InvalidReplyError struct{ err error }

func (e *InvalidReplyError) Error() string { return e.err.Error() }
func (e *InvalidReplyError) Unwrap() error { return e.err }

// Reply answers an open ask. It fails if the ask has ended or was answered, and
// with an *InvalidReplyError if the reply does not fit: the ask does not have the
// action, the content does not fit the schema of the form, or the changed arguments
// are invalid or denied by a rule.
func (h *Host) Reply(id string, a Reply) error {
	h.mu.Lock()
	open := h.asks[id]
	h.mu.Unlock()
	if open == nil {
		return fmt.Errorf("no open question %q: it was answered, or its call has ended", id)
	}
	if err := a.fit(&open.ask); err != nil {
		return &InvalidReplyError{err}
	}
	if a.By == "" {
		a.By = person
	}
	select {
	case open.answer <- a:
		return nil
	default:
		return fmt.Errorf("question %q was already answered", id)
	}
}

// Asks returns the open asks, oldest first.
func (h *Host) Asks() []Ask {
	h.mu.Lock()
	defer h.mu.Unlock()
	open := slices.SortedFunc(maps.Values(h.asks), func(a, b *openAsk) int { return a.seq - b.seq })
	var all []Ask
	for _, o := range open {
		all = append(all, o.ask)
	}
	return all
}
