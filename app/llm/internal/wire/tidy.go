package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/app/llm"
)

// IDs says what a provider takes as the id of a call.
type IDs struct {
	Pattern *regexp.Regexp // what fits as it is
	Length  int            // how long one is that we make; at least 9
	Bare    bool           // without the prefix "call_"
}

func (r IDs) fit(id string) string {
	if r.Pattern.MatchString(id) {
		return id
	}
	return r.made(id)
}

func (r IDs) made(from string) string {
	sum := sha256.Sum256([]byte(from))
	text := hex.EncodeToString(sum[:])
	if !r.Bare {
		text = "call_" + text
	}
	return text[:r.Length]
}

// lostResult stands for the result of a call that was never made.
const lostResult = "No result: the call was interrupted before it was answered, and may or may not have happened."

// Tidy brings a conversation into the form that all providers take, without
// changing what it says: no empty parts and messages; one message where the
// same side speaks twice; after an assistant's message exactly one tool message
// with exactly one result for each of its calls, in their order; ids of calls
// that are unique and fit. Results that belong to no call are kept as text.
// The given messages are not changed.
func Tidy(messages []llm.Message, ids IDs) []llm.Message {
	t := tidier{rule: ids, used: map[string]bool{}}
	for _, m := range messages {
		switch m.Role {
		case llm.RoleAssistant:
			t.settle()
			t.assistant(m)
		default:
			t.user(m)
		}
	}
	t.settle()
	return t.done
}

type tidier struct {
	rule  IDs
	used  map[string]bool
	done  []llm.Message
	calls []owed     // of the last assistant message
	later []llm.Part // what a user says after it, before the results are all known
}

// owed is a call that waits for its result.
type owed struct {
	was, now string
	result   *llm.ToolResult
}

func (t *tidier) assistant(m llm.Message) {
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
			t.calls = append(t.calls, owed{was: p.Call.ID, now: call.ID})
			p.Call = &call
		}
		parts = append(parts, p)
	}
	t.add(llm.RoleAssistant, parts)
}

// unique gives an id that fits and was not used before in this conversation.
func (t *tidier) unique(id string) string {
	now := t.rule.fit(id)
	for n := id; t.used[now]; now = t.rule.made(n) {
		n += "'"
	}
	t.used[now] = true
	return now
}

func (t *tidier) user(m llm.Message) {
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

func (t *tidier) result(p llm.Part) {
	for i := range t.calls {
		if c := &t.calls[i]; c.was == p.Result.CallID && c.result == nil {
			r := *p.Result
			r.CallID = c.now
			c.result = &r
			if p.CacheMark { // a mark on the outer part counts for the result
				r.Parts = slices.Clone(r.Parts)
				if n := len(r.Parts); n > 0 {
					r.Parts[n-1].CacheMark = true
				}
				c.result = &r
			}
			return
		}
	}
	t.later = append(t.later, llm.Text("[The result of an earlier call:]"))
	t.later = append(t.later, p.Result.Parts...)
}

// settle writes down the results that are owed and then what the user said.
func (t *tidier) settle() {
	if len(t.calls) > 0 {
		m := llm.Message{Role: llm.RoleTool}
		for _, c := range t.calls {
			if c.result == nil {
				c.result = &llm.ToolResult{CallID: c.now, Parts: []llm.Part{llm.Text(lostResult)}, IsError: true}
			}
			m.Parts = append(m.Parts, llm.Part{Kind: llm.PartToolResult, Result: c.result})
		}
		t.done = append(t.done, m)
	}
	t.add(llm.RoleUser, t.later)
	t.calls, t.later = nil, nil
}

func (t *tidier) add(role llm.Role, parts []llm.Part) {
	if len(parts) == 0 {
		return
	}
	if n := len(t.done); n > 0 && t.done[n-1].Role == role {
		t.done[n-1].Parts = append(slices.Clip(t.done[n-1].Parts), parts...)
		return
	}
	t.done = append(t.done, llm.Message{Role: role, Parts: parts})
}
