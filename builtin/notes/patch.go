package notes

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/tenon-mcp/tenon/mcp"
)

var goodKey = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[\p{L}\p{N}_][\p{L}\p{N}_. -]{0,99}$`) })

// patchFront sets and removes keys of the frontmatter. Other keys and all
// comments are kept. A null removes a key.
func patchFront(text string, changes map[string]json.RawMessage) (string, error) {
	f, _ := splitFront(text)
	if f.err != nil {
		return "", fmt.Errorf("the frontmatter can only be changed in an editor: %w", f.err)
	}
	eol := newlineOf(text)
	inner := f.inner
	for _, name := range slices.Sorted(maps.Keys(changes)) {
		if !goodKey().MatchString(name) {
			return "", fmt.Errorf("%q is not a valid frontmatter key; use letters, digits, spaces and . - _", clip(name))
		}
		lines := ""
		if string(changes[name]) != "null" {
			value, err := yamlValue(changes[name])
			if err != nil {
				return "", fmt.Errorf("frontmatter %s: %w", name, err)
			}
			lines = name + ":" + value + "\n"
		}
		var err error
		if inner, err = patchKey(inner, name, strings.ReplaceAll(lines, "\n", eol), eol); err != nil {
			return "", err
		}
	}
	if f.found {
		return text[:f.start] + inner + text[f.start+len(f.inner):], nil
	}
	if inner == "" {
		return text, nil
	}
	body := strings.TrimPrefix(text, "\ufeff")
	return text[:len(text)-len(body)] + "---" + eol + inner + "---" + eol + body, nil
}

// patchKey replaces the lines of a key, or appends them.
func patchKey(inner, name, lines, eol string) (string, error) {
	f := front{inner: inner}
	f.read()
	if f.err != nil {
		return "", fmt.Errorf("the frontmatter can only be changed in an editor: %w", f.err)
	}
	var at *frontEntry
	for i := range f.entries {
		if e := &f.entries[i]; strings.EqualFold(e.key, name) {
			if at != nil {
				return "", fmt.Errorf("the frontmatter has the key %q twice; remove one in an editor", name)
			}
			at = e
		}
	}
	if at == nil {
		if inner != "" && !strings.HasSuffix(inner, "\n") {
			inner += eol
		}
		return inner + lines, nil
	}
	if lines != "" {
		lines = at.keepSpelling(inner, lines)
	}
	return inner[:at.start] + lines + inner[at.end:], nil
}

// keepSpelling keeps the spelling of an existing key, and the comment after
// a value that stays on its line.
func (e *frontEntry) keepSpelling(inner, lines string) string {
	old, _ := cutLine(inner[e.start:e.end], 0)
	_, value, _ := strings.Cut(lines, ":")
	spelled := e.key
	if old[0] == '"' || old[0] == '\'' {
		spelled = old[:len(e.key)+2]
	}
	if c := commentAt(e.value); c < len(e.value) && e.more == "" {
		line, rest, _ := strings.Cut(value, "\n")
		cr := ""
		if strings.HasSuffix(line, "\r") {
			line, cr = line[:len(line)-1], "\r"
		}
		value = line + " " + strings.TrimSpace(e.value[c:]) + cr + "\n" + rest
	}
	return spelled + ":" + value
}

// plainText matches values that need no quotes: words and dates.
var plainText = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(\p{L}[\p{L}\p{N}_/.,-]*( [\p{L}\p{N}_/.,-]+)*|\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?)?)$`)
})

var notPlain = []string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"}

// yamlValue returns a JSON value as YAML, starting after the colon.
func yamlValue(raw json.RawMessage) (string, error) {
	switch raw[0] {
	case '[':
		var items []json.RawMessage
		if err := mcp.Unmarshal(raw, &items); err != nil {
			return "", err
		}
		if len(items) == 0 {
			return " []", nil
		}
		var b strings.Builder
		for _, item := range items {
			value, err := yamlScalar(item)
			if err != nil {
				return "", err
			}
			b.WriteString("\n  - " + value)
		}
		return b.String(), nil
	default:
		value, err := yamlScalar(raw)
		return " " + value, err
	}
}

// yamlScalar returns a string, number or boolean as YAML. Nested values stay
// JSON, which is valid YAML.
func yamlScalar(raw json.RawMessage) (string, error) {
	if len(raw) > maxFront {
		return "", errors.New("the value is too large")
	}
	if raw[0] != '"' {
		var b bytes.Buffer
		err := json.Compact(&b, raw) // on one line
		return b.String(), err
	}
	var s string
	if err := mcp.Unmarshal(raw, &s); err != nil {
		return "", err
	}
	if plainText().MatchString(s) && !slices.Contains(notPlain, strings.ToLower(s)) {
		return s, nil
	}
	quoted, err := mcp.Marshal(s)
	return string(quoted), err
}

// newlineOf returns the line ending of a text.
func newlineOf(text string) string {
	if i := strings.IndexByte(text, '\n'); i > 0 && text[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// withNewlines converts the line endings of a text.
func withNewlines(text, eol string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	if eol != "\n" {
		text = strings.ReplaceAll(text, "\n", eol)
	}
	return text
}
