package host

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/app/config"
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
	told.Content = nil // the form's content is for the server only
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

var actions = map[AskKind][]string{
	AskApproval: {"once", "session", "always", "deny", "never"},
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
// with an *InvalidReplyError if the ask does not have the action, or if the content
// does not fit the schema of the form.
func (h *Host) Reply(id string, a Reply) error {
	h.mu.Lock()
	open := h.asks[id]
	h.mu.Unlock()
	if open == nil {
		return fmt.Errorf("no open question %q: it was answered, or its call has ended", id)
	}
	if !slices.Contains(actions[open.ask.Kind], a.Action) {
		return &InvalidReplyError{fmt.Errorf("%q does not answer this question; choose %s", a.Action, strings.Join(actions[open.ask.Kind], ", "))}
	}
	if a.Action == "accept" && open.ask.check != nil {
		if err := open.ask.check(a.Content); err != nil {
			return &InvalidReplyError{fmt.Errorf("the form is not complete: %w", err)}
		}
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
