package script

import (
	"errors"
	"fmt"
	"regexp"
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
