package script

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/app/llm"
)

// Expect is what a request must look like. What is unset is not looked at.
type Expect struct {
	Role   llm.Role `json:"role,omitzero"`   // of the last message
	Text   string   `json:"text,omitzero"`   // what the last message must say, as a whole
	Has    string   `json:"has,omitzero"`    // what the last message must contain, in any case of letters
	Match  string   `json:"match,omitzero"`  // a regular expression that the last message must match
	Error  *bool    `json:"error,omitzero"`  // whether the last message must hold a result that is an error
	Tools  []string `json:"tools,omitzero"`  // tools that must be offered
	Absent []string `json:"absent,omitzero"` // tools that must not be offered
	System string   `json:"system,omitzero"` // what the system prompt must contain

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

// unmet says what a request lacks, in words; nothing means that it fits.
func (e *Expect) unmet(r *llm.Request) []string {
	if e == nil {
		return nil
	}
	var last llm.Message
	if n := len(r.Messages); n > 0 {
		last = r.Messages[n-1]
	}
	text := last.Text()
	var wrong []string
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	if e.Role != "" && e.Role != last.Role {
		say("the last message must be of role %q, it is of role %q", e.Role, last.Role)
	}
	if e.Text != "" && e.Text != text {
		say("the last message must say %s\n    it says %s", show(e.Text), show(text))
	}
	if e.Has != "" && !strings.Contains(strings.ToLower(text), strings.ToLower(e.Has)) {
		say("the last message must contain %s\n    it says %s", show(e.Has), show(text))
	}
	if e.match != nil && !e.match.MatchString(text) {
		say("the last message must match %s\n    it says %s", show(e.Match), show(text))
	}
	if e.Error != nil && *e.Error != hasError(last) {
		say("the last message must hold a failed result: %v; it says %s", *e.Error, show(text))
	}
	if e.System != "" && !strings.Contains(r.System, e.System) {
		say("the system prompt must contain %s\n    it is %s", show(e.System), show(r.System))
	}
	return append(wrong, e.unmetTools(r)...)
}

func (e *Expect) unmetTools(r *llm.Request) []string {
	var names, wrong []string
	for _, t := range r.Tools {
		names = append(names, t.Name)
	}
	for _, t := range e.Tools {
		if !slices.Contains(names, t) {
			wrong = append(wrong, fmt.Sprintf("the tool %s must be offered; offered are: %s", t, strings.Join(names, ", ")))
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

// show is a text as an error shows it.
func show(s string) string {
	if r := []rune(s); len(r) > 300 {
		s = string(r[:300]) + fmt.Sprintf("… (%d characters)", len(r))
	}
	return fmt.Sprintf("%q", s)
}
