package notes

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxFront is the maximum number of bytes of frontmatter.
const maxFront = 64 << 10

// A front is the frontmatter of a note: YAML between two lines of three
// hyphens. It is parsed line by line: the keys at the left margin and, of
// their values, strings and lists of strings. Everything else is kept as
// written. Anchors, aliases and tags are refused, so nothing can expand.
type front struct {
	found   bool
	start   int    // position of inner
	inner   string // the text between the marks
	entries []frontEntry
	err     error // why it cannot be parsed; nil if there is none
}

// A frontEntry is a key with all of its lines.
type frontEntry struct {
	key        string
	start, end int    // position of its lines in inner
	value      string // the text after the colon
	more       string // the lines after the first
}

// splitFront returns the frontmatter of a note and the position of its body.
func splitFront(text string) (f front, body int) {
	at := 0
	if strings.HasPrefix(text, "\ufeff") {
		at = len("\ufeff")
	}
	first, next := cutLine(text, at)
	if strings.TrimRight(first, " \t") != "---" || next == at+len(first) {
		return front{}, at
	}
	f.found, f.start = true, next
	for pos := next; pos < len(text); {
		if pos-next > maxFront {
			f.err = fmt.Errorf("its frontmatter is longer than %d KiB", maxFront>>10)
			return f, at
		}
		line, after := cutLine(text, pos)
		if mark := strings.TrimRight(line, " \t"); mark == "---" || mark == "..." {
			f.inner = text[next:pos]
			f.read()
			return f, after
		}
		pos = after
	}
	f.err = errors.New("it begins with ---, but the closing --- is missing")
	return f, at
}

// cutLine returns the line at a position without its end, and the position
// of the next one.
func cutLine(text string, at int) (line string, next int) {
	end := strings.IndexByte(text[at:], '\n')
	if end < 0 {
		return strings.TrimSuffix(text[at:], "\r"), len(text)
	}
	return strings.TrimSuffix(text[at:at+end], "\r"), at + end + 1
}

func (f *front) read() {
	if !utf8.ValidString(f.inner) {
		f.err = errors.New("its frontmatter is not UTF-8")
		return
	}
	last := -1 // the entry that indented lines belong to
	for at, number := 0, 2; at < len(f.inner) && f.err == nil; number++ {
		line, next := cutLine(f.inner, at)
		trimmed := strings.TrimLeft(line, " \t")
		switch {
		case trimmed == "" || trimmed[0] == '#':
			// It belongs to the next entry, unless more of this one follows.
		case line[0] == ' ' || line[0] == '\t' || line[0] == '-' && (len(line) == 1 || line[1] == ' '):
			if last < 0 {
				f.err = fmt.Errorf("line %d of its frontmatter is indented without a key", number)
				break
			}
			e := &f.entries[last]
			e.end = next
			e.more = f.inner[e.start+strings.IndexByte(f.inner[e.start:], '\n')+1 : next]
			f.refuse(strings.TrimLeft(trimmed, "- "), number)
		default:
			key, value, ok := cutKey(line)
			if !ok {
				f.err = fmt.Errorf("line %d of its frontmatter is not \"key: value\"", number)
				break
			}
			f.entries = append(f.entries, frontEntry{key: key, start: at, end: next, value: value})
			last = len(f.entries) - 1
			f.refuse(value, number)
		}
		at = next
	}
}

// refuse records an error for an anchor, an alias or a tag, which YAML bombs
// and objects are made of.
func (f *front) refuse(value string, number int) {
	if value == "" {
		return
	}
	items := []string{value}
	if value[0] == '[' || value[0] == '{' {
		items = strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune("[]{},", r) })
	}
	for _, item := range items {
		if item = strings.TrimLeft(item, " \t"); item != "" && strings.IndexByte("&*!", item[0]) >= 0 {
			f.err = fmt.Errorf("line %d of its frontmatter has an anchor, an alias or a tag, which are not supported", number)
			return
		}
	}
}

// cutKey splits a line at its first colon that is followed by a space.
func cutKey(line string) (key, value string, ok bool) {
	if q := line[0]; q == '"' || q == '\'' {
		end := strings.IndexByte(line[1:], q)
		if end < 0 {
			return "", "", false
		}
		rest, found := strings.CutPrefix(strings.TrimLeft(line[end+2:], " "), ":")
		return line[1 : end+1], strings.TrimSpace(rest), found && (rest == "" || rest[0] == ' ')
	}
	if strings.HasSuffix(line, ":") && !strings.Contains(line, ": ") {
		return line[:len(line)-1], "", true
	}
	key, value, ok = strings.Cut(line, ": ")
	return strings.TrimSpace(key), strings.TrimSpace(value), ok
}

// entry returns the entry of a key, ignoring case, or nil.
func (f *front) entry(key string) *frontEntry {
	for i := range f.entries {
		if strings.EqualFold(f.entries[i].key, key) {
			return &f.entries[i]
		}
	}
	return nil
}

// scalar returns the string value of a key, or "".
func (f *front) scalar(key string) string {
	if e := f.entry(key); e != nil && e.more == "" && !strings.HasPrefix(e.value, "[") && !strings.HasPrefix(e.value, "{") {
		return unquote(e.value)
	}
	return ""
}

// list returns the strings of a key: a list in either style, or one string,
// split at commas and, if spaced is set, at spaces.
func (f *front) list(key string, spaced bool) []string {
	e := f.entry(key)
	if e == nil {
		return nil
	}
	var items []string
	add := func(item string) {
		if item = unquote(strings.TrimSpace(item)); item != "" {
			items = append(items, item)
		}
	}
	value := stripComment(e.value)
	switch {
	case strings.HasPrefix(value, "["):
		all := value + " " + strings.ReplaceAll(e.more, "\n", " ")
		inner, _, _ := strings.Cut(all[1:], "]")
		for _, item := range splitFlow(inner) {
			add(item)
		}
	case value != "":
		parts := strings.Split(unquote(value), ",")
		if spaced {
			parts = strings.FieldsFunc(unquote(value), func(r rune) bool { return r == ',' || r == ' ' })
		}
		for _, item := range parts {
			if item = strings.TrimSpace(item); item != "" {
				items = append(items, item)
			}
		}
	default:
		for line := range strings.Lines(e.more) {
			if item, ok := strings.CutPrefix(strings.TrimSpace(line), "- "); ok {
				add(item)
			}
		}
	}
	return items
}

// splitFlow splits a flow list at commas outside of quotes.
func splitFlow(s string) []string {
	var items []string
	quote := byte(0)
	start := 0
	for i := range len(s) {
		switch c := s[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == ',':
			items = append(items, s[start:i])
			start = i + 1
		}
	}
	return append(items, s[start:])
}

// stripComment removes the comment after a value.
func stripComment(value string) string { return value[:commentAt(value)] }

// commentAt returns the position of the comment after a value, including the
// space before it, or the length of the value.
func commentAt(value string) int {
	quote := byte(0)
	for i := range len(value) {
		switch c := value[i]; {
		case quote != 0:
			if c == quote && (c == '\'' || value[i-1] != '\\') {
				quote = 0
			}
		case i == 0 && (c == '"' || c == '\''):
			quote = c
		case c == '#' && (i == 0 || value[i-1] == ' ' || value[i-1] == '\t'):
			return len(strings.TrimRight(value[:i], " \t"))
		}
	}
	return len(value)
}

// unquote returns the text of a one-line YAML string.
func unquote(value string) string {
	value = stripComment(value)
	if len(value) >= 2 && value[0] == '\'' && value[len(value)-1] == '\'' {
		return strings.ReplaceAll(value[1:len(value)-1], "''", "'")
	}
	if len(value) >= 2 && value[0] == '"' && value[len(value)-1] == '"' {
		return strings.NewReplacer(`\"`, `"`, `\\`, `\`, `\n`, "\n", `\t`, "\t", `\/`, "/").Replace(value[1 : len(value)-1])
	}
	switch value {
	case "null", "~", "|", ">", "|-", ">-":
		return ""
	}
	return value
}
