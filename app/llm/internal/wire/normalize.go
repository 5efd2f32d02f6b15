package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/app/llm"
)

// IDs describes the call IDs that a provider accepts.
type IDs struct {
	Pattern *regexp.Regexp // IDs that match are sent unchanged
	Length  int            // of generated IDs; at least 9
	Bare    bool           // generated IDs have no prefix "call_"
}

func (r IDs) fit(id string) string {
	if r.Pattern.MatchString(id) {
		return id
	}
	return r.generate(id)
}

func (r IDs) generate(from string) string {
	sum := sha256.Sum256([]byte(from))
	text := hex.EncodeToString(sum[:])
	if !r.Bare {
		text = "call_" + text
	}
	return text[:r.Length]
}

// lostResult replaces the missing result of a call.
const lostResult = "No result: the call was interrupted before it returned. It may or may not have been executed."

// Normalize returns a conversation in the form that all providers accept: no
// empty parts and messages; consecutive messages of one role merged; after an
// assistant message exactly one tool message with one result for each call, in
// order; call IDs unique and accepted by ids. Results without a call become text.
// The given messages are not changed.
func Normalize(messages []llm.Message, ids IDs) []llm.Message {
	t := normalizer{rule: ids, used: map[string]bool{}}
	for _, m := range messages {
		switch m.Role {
		case llm.RoleAssistant:
			t.flush()
			t.assistant(m)
		default:
			t.user(m)
		}
	}
	t.flush()
	return t.done
}

type normalizer struct {
	rule  IDs
	used  map[string]bool
	done  []llm.Message
	calls []pendingCall // of the last assistant message
	later []llm.Part    // user parts after it, to write after the results
}

// A pendingCall is a call and, once found, its result.
type pendingCall struct {
	id, newID string
	result    *llm.ToolResult
}

func (t *normalizer) assistant(m llm.Message) {
	var parts []llm.Part
	for _, p := range m.Parts {
		switch {
		case p.Kind == llm.PartText && strings.TrimSpace(p.Text) == "":
			continue
		case p.Kind == llm.PartToolCall && p.Call == nil, p.Kind == llm.PartToolResult:
			continue
		case p.Kind == llm.PartToolCall:
			call := *p.Call
			call.ID = t.unique(call.ID)
			if len(call.Arguments) == 0 {
				call.Arguments = llm.RawMessage("{}")
			}
			t.calls = append(t.calls, pendingCall{id: p.Call.ID, newID: call.ID})
			p.Call = &call
		}
		parts = append(parts, p)
	}
	t.add(llm.RoleAssistant, parts)
}

// unique returns an accepted ID that was not used before in this conversation.
func (t *normalizer) unique(id string) string {
	newID := t.rule.fit(id)
	for seed := id; t.used[newID]; newID = t.rule.generate(seed) {
		seed += "'"
	}
	t.used[newID] = true
	return newID
}

func (t *normalizer) user(m llm.Message) {
	for _, p := range m.Parts {
		switch {
		case p.Kind == llm.PartToolResult && p.Result == nil, p.Kind == llm.PartToolCall, p.Kind == llm.PartThinking:
			continue
		case p.Kind == llm.PartToolResult:
			t.result(p)
		case p.Kind != llm.PartText || strings.TrimSpace(p.Text) != "":
			t.later = append(t.later, p)
		}
	}
}

func (t *normalizer) result(p llm.Part) {
	for i := range t.calls {
		if c := &t.calls[i]; c.id == p.Result.CallID && c.result == nil {
			r := *p.Result
			r.CallID = c.newID
			if n := len(r.Parts); p.CacheMark && n > 0 { // a mark on the outer part applies to the result
				r.Parts = slices.Clone(r.Parts)
				r.Parts[n-1].CacheMark = true
			}
			c.result = &r
			return
		}
	}
	t.later = append(t.later, llm.Text("[Result of an earlier call:]"))
	t.later = append(t.later, p.Result.Parts...)
}

// flush appends the results of the last calls and then the user parts.
func (t *normalizer) flush() {
	if len(t.calls) > 0 {
		m := llm.Message{Role: llm.RoleTool}
		for _, c := range t.calls {
			if c.result == nil {
				c.result = &llm.ToolResult{CallID: c.newID, Parts: []llm.Part{llm.Text(lostResult)}, IsError: true}
			}
			m.Parts = append(m.Parts, llm.Part{Kind: llm.PartToolResult, Result: c.result})
		}
		t.done = append(t.done, m)
	}
	t.add(llm.RoleUser, t.later)
	t.calls, t.later = nil, nil
}

func (t *normalizer) add(role llm.Role, parts []llm.Part) {
	if len(parts) == 0 {
		return
	}
	if n := len(t.done); n > 0 && t.done[n-1].Role == role {
		t.done[n-1].Parts = append(slices.Clip(t.done[n-1].Parts), parts...)
		return
	}
	t.done = append(t.done, llm.Message{Role: role, Parts: parts})
}
