package script

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/app/llm"
)

// Expect is a condition on a request. Unset fields are not checked.
type Expect struct {
	Role   llm.Role `json:"role,omitzero"`   // of the last message
	Text   string   `json:"text,omitzero"`   // text of the last message
	Has    string   `json:"has,omitzero"`    // substring of the last message, ignoring case
	Match  string   `json:"match,omitzero"`  // regular expression for the last message
	Error  *bool    `json:"error,omitzero"`  // whether the last message has a result that is an error
	Tools  []string `json:"tools,omitzero"`  // tools that must be offered
	Absent []string `json:"absent,omitzero"` // tools that must not be offered
	System string   `json:"system,omitzero"` // substring of the system prompt

	match *regexp.Regexp
}

func (e *Expect) compile() error {
	if e == nil || e.Match == "" {
		return nil
	}
	m, err := regexp.Compile(e.Match)
	if err != nil {
		return fmt.Errorf("match: %w", err)
	}
	e.match = m
	return nil
}

// mismatches returns what is wrong with a request; nothing if it matches.
func (e *Expect) mismatches(r *llm.Request) []string {
	if e == nil {
		return nil
	}
	var last llm.Message
	if n := len(r.Messages); n > 0 {
		last = r.Messages[n-1]
	}
	text := last.Text()
	var wrong []string
	add := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	if e.Role != "" && e.Role != last.Role {
		add("the last message must have role %q, but has %q", e.Role, last.Role)
	}
	if e.Text != "" && e.Text != text {
		add("the last message must be %s\n    but is %s", show(e.Text), show(text))
	}
	if e.Has != "" && !strings.Contains(strings.ToLower(text), strings.ToLower(e.Has)) {
		add("the last message must contain %s\n    but is %s", show(e.Has), show(text))
	}
	if e.match != nil && !e.match.MatchString(text) {
		add("the last message must match %s\n    but is %s", show(e.Match), show(text))
	}
	if e.Error != nil && *e.Error != hasError(last) {
		add("the last message must have a failed result: %v; it is %s", *e.Error, show(text))
	}
	if e.System != "" && !strings.Contains(r.System, e.System) {
		add("the system prompt must contain %s\n    but is %s", show(e.System), show(r.System))
	}
	return append(wrong, e.toolMismatches(r)...)
}

func (e *Expect) toolMismatches(r *llm.Request) []string {
	var names, wrong []string
	for _, t := range r.Tools {
		names = append(names, t.Name)
	}
	for _, t := range e.Tools {
		if !slices.Contains(names, t) {
			wrong = append(wrong, fmt.Sprintf("the tool %s must be offered; offered: %s", t, strings.Join(names, ", ")))
		}
	}
	for _, t := range e.Absent {
		if slices.Contains(names, t) {
			wrong = append(wrong, fmt.Sprintf("the tool %s must not be offered", t))
		}
	}
	return wrong
}

func hasError(m llm.Message) bool {
	return slices.ContainsFunc(m.Parts, func(p llm.Part) bool { return p.Result != nil && p.Result.IsError })
}

// show quotes a text for an error, at most 300 characters of it.
func show(s string) string {
	if r := []rune(s); len(r) > 300 {
		s = string(r[:300]) + fmt.Sprintf("… (%d characters)", len(r))
	}
	return fmt.Sprintf("%q", s)
}
