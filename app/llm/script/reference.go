package script

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/internal/rawjson"
)

// reference is ${result}, ${result.a.0.b}, ${results.1.a}, or ${last}.
var reference = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$\{(last|result|results\.\d+)((?:\.[^.{}]+)*)\}`) })

// resolve replaces the references of an event by values of the last message.
func resolve(e llm.Event, r *llm.Request) (llm.Event, error) {
	var failed error
	find := func(m []string) []byte {
		v, err := lookUp(r, m[1], m[2])
		if err != nil && failed == nil {
			failed = fmt.Errorf("%s: %w", m[0], err)
		}
		return v
	}
	e.Text = inText(e.Text, find)
	if e.Call != nil && reference().Match(e.Call.Arguments) {
		call := *e.Call
		call.Arguments = resolveIn(e.Call.Arguments, find)
		e.Call = &call
	}
	return e, failed
}

// resolveIn replaces references in the strings of a JSON value. A string that is
// only a reference becomes the value; within a longer string the value becomes
// text.
func resolveIn(raw []byte, find func([]string) []byte) []byte {
	switch {
	case rawjson.IsObject(raw):
		out := []byte{'{'}
		for m := rawjson.Object(raw); m.Next(); {
			if len(out) > 1 {
				out = append(out, ',')
			}
			out = append(rawjson.AppendString(out, string(m.Name)), ':')
			out = append(out, resolveIn(m.Value, find)...)
		}
		return append(out, '}')
	case rawjson.IsArray(raw):
		out := []byte{'['}
		for e := rawjson.Array(raw); e.Next(); {
			if len(out) > 1 {
				out = append(out, ',')
			}
			out = append(out, resolveIn(e.Value, find)...)
		}
		return append(out, ']')
	case !rawjson.IsString(raw):
		return raw
	}
	s, _ := rawjson.String(raw)
	if m := reference().FindStringSubmatch(s); m != nil && m[0] == s {
		return find(m)
	}
	return rawjson.AppendString(nil, inText(s, find))
}

// inText replaces references in a text.
func inText(s string, find func([]string) []byte) string {
	return reference().ReplaceAllStringFunc(s, func(r string) string {
		v := find(reference().FindStringSubmatch(r))
		if text, ok := rawjson.String(v); ok {
			return text
		}
		return string(v)
	})
}

// lookUp returns the value of a reference as JSON.
func lookUp(r *llm.Request, what, path string) ([]byte, error) {
	if len(r.Messages) == 0 {
		return nil, errors.New("the request has no message")
	}
	last := r.Messages[len(r.Messages)-1]
	text := last.Text()
	if what != "last" {
		var results []string
		for _, p := range last.Parts {
			if p.Result != nil {
				results = append(results, llm.Message{Parts: p.Result.Parts}.Text())
			}
		}
		n := len(results) - 1
		if _, number, ok := strings.Cut(what, "."); ok {
			n, _ = strconv.Atoi(number)
		}
		if n < 0 || n >= len(results) {
			return nil, fmt.Errorf("the last message has %d results", len(results))
		}
		text = results[n]
	}
	if path == "" {
		return rawjson.AppendString(nil, text), nil
	}
	return dig(text, strings.Split(path[1:], "."))
}

// dig returns the value at a path in the first JSON object or array in a text.
func dig(text string, path []string) ([]byte, error) {
	start := strings.IndexAny(text, "{[")
	if start < 0 {
		return nil, fmt.Errorf("the result is not JSON: %s", show(text))
	}
	end, err := rawjson.Scan([]byte(text), start)
	if err != nil {
		return nil, fmt.Errorf("the result is not JSON: %s", show(text))
	}
	at := []byte(text[start:end])
	for _, step := range path {
		var next []byte
		if n, err := strconv.Atoi(step); err == nil && rawjson.IsArray(at) {
			for e := rawjson.Array(at); n >= 0 && e.Next(); n-- {
				if n == 0 {
					next = e.Value
				}
			}
		} else {
			next = rawjson.Lookup(at, step)
		}
		if next == nil {
			return nil, fmt.Errorf("no %q in %s", step, show(string(at)))
		}
		at = next
	}
	return at, nil
}

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
