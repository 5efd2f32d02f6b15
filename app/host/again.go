package host

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/tenon-mcp/tenon/app/permit"
	"github.com/tenon-mcp/tenon/internal/rawjson"
)

// turnAnswers are the answers of the user in one turn, so that nothing is asked
// twice. It is safe for concurrent use; nil has no answers and keeps none.
type turnAnswers struct {
	mu       sync.Mutex
	calls    map[string]turnAnswer
	declined map[string]bool // questions of servers
}

// A turnAnswer is the last answer about a call.
type turnAnswer struct {
	action, reason string
	asked          int // how often
}

type turnKey struct{}

// withTurnAnswers returns the context of a new turn.
func withTurnAnswers(ctx context.Context) context.Context {
	return context.WithValue(ctx, turnKey{}, &turnAnswers{calls: map[string]turnAnswer{}, declined: map[string]bool{}})
}

// answersOf returns the answers of the turn of ctx; nil outside of a turn.
func answersOf(ctx context.Context) *turnAnswers {
	t, _ := ctx.Value(turnKey{}).(*turnAnswers)
	return t
}

// callKey identifies a call: the server, the tool as it is defined now, and the
// arguments.
func callKey(e *toolEntry, arguments json.RawMessage) string {
	return strings.Join([]string{e.server.name, e.tool.Name, permit.Digest(e.tool), string(rawjson.AppendCanonical(nil, arguments))}, "\x00")
}

// about returns the answer about a call in this turn, and how often the user was
// asked.
func (t *turnAnswers) about(e *toolEntry, call *ToolCall) turnAnswer {
	if t == nil {
		return turnAnswer{}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.calls[callKey(e, call.Arguments)]
}

// answered keeps an answer of the user about a call as it was made: if the
// arguments were changed, the model's own count as asked, but not as answered.
func (t *turnAnswers) answered(e *toolEntry, call *ToolCall, r Reply) {
	if t == nil || r.By != person {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	set := func(arguments json.RawMessage, r Reply) {
		k := callKey(e, arguments)
		t.calls[k] = turnAnswer{r.Action, r.Reason, t.calls[k].asked + 1}
	}
	set(call.Arguments, r)
	if call.Proposed != nil {
		set(call.Proposed, Reply{})
	}
}

// alreadyDenied is the rule of a call that was denied in the same turn.
const alreadyDenied = "Already denied in this turn"

// repeated decides about a call that the user has decided in this turn: a denial
// counts for identical calls, and so does Allow once if the tool only reads
// according to its server and no rule asks each time. An annotation spares a second
// question about the same call, never the first.
func (a turnAnswer) repeated(e *toolEntry, call *ToolCall, v permit.Verdict) (ok, decided bool) {
	switch {
	case a.action == permit.Deny:
		call.Rule, call.reason = alreadyDenied, a.reason
		return false, true
	case a.action == permit.Once && e.tool.Annotations.ReadOnly() && !v.EachTime:
		call.Rule = "Allowed once, earlier in this turn"
		return true, true
	}
	return false, false
}

// declinedBefore reports whether the user declined the same form or page of a
// server in the same call.
func (t *turnAnswers) declinedBefore(k string) bool {
	if t == nil || k == "" {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.declined[k]
}

// serverAnswered keeps that the user declined a question of a server.
func (t *turnAnswers) serverAnswered(k string, r Reply) {
	if t == nil || k == "" || r.By != person || r.Action != "decline" {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.declined[k] = true
}

// questionKey identifies a form or page of a server within a call; empty for other
// questions.
func questionKey(ctx context.Context, a *Ask) string {
	if a.Kind != AskForm && a.Kind != AskURL {
		return ""
	}
	in := sessionOf(ctx)
	return strings.Join([]string{fmt.Sprint(in), string(a.Kind), a.Server, a.Message, a.URL, string(rawjson.AppendCanonical(nil, a.Schema))}, "\x00")
}
