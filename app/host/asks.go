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

// An openAsk waits for its answer.
type openAsk struct {
	ask    Ask
	seq    int        // grows by one with each
	answer chan Reply // holds one
}

// person is who answers where nobody else is named.
const person = "person"

// ask puts a question to the person and waits for the answer. When ctx ends the
// question is over, too.
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
	told.Content = nil // what was filled in is for the server alone
	over.Reply = &told
	h.emit(Event{Kind: EventReplied, Session: a.Session, Server: a.Server, Ask: &over})
	return answer, err
}

// unattended is the answer where nobody is there.
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

// Reply answers an open ask. An ask that is over, or was answered already, is
// an error.
func (h *Host) Reply(id string, a Reply) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	open := h.asks[id]
	if open == nil {
		return fmt.Errorf("no open question %q: it was answered, or its call has ended", id)
	}
	if !slices.Contains(actions[open.ask.Kind], a.Action) {
		return fmt.Errorf("%q does not answer this question; choose %s", a.Action, strings.Join(actions[open.ask.Kind], ", "))
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

// Asks lists the open questions, the oldest first.
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
