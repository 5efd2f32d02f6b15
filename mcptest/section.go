package mcptest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
)

// A section is one conversation of a file.
type section struct {
	name  string
	file  string // for error texts
	lines []line
}

// A line is one line of a conversation, including its continuations.
type line struct {
	text string // without the final newline
	no   int    // counted from 1

	only []mcp.Revision // the revisions in brackets; nil means all
	word string         // empty for comments and blank lines
	arg  string         // the rest
}

// words maps the first word of a line to the kind of conversation.
var words = map[string]string{
	">": "frames", "<": "frames", "<~": "frames", "<none": "frames", "wait": "frames",
	"eras": "calls", "call": "calls", "with": "calls", "asked": "calls", "answer": "calls",
	"note": "calls", "result": "calls", "error": "calls",
}

// readSections splits a txtar archive into sections. head is the text before
// the first one. Without sections, the whole text is one unnamed section.
func readSections(file, text string) (head string, sections []*section, err error) {
	var now *section
	if !hasSections(text) {
		now = &section{file: file}
		sections = append(sections, now)
	}
	no := 0
	for raw := range strings.Lines(text) {
		no++
		raw = strings.TrimSuffix(strings.TrimSuffix(raw, "\n"), "\r")
		name, begins := sectionName(raw)
		switch {
		case begins:
			now = &section{name: name, file: file}
			sections = append(sections, now)
		case now == nil:
			head += raw + "\n"
		case now.continues(raw):
		default:
			l, err := readLine(raw, no)
			if err != nil {
				return "", nil, now.wrong(l, "%v", err)
			}
			now.lines = append(now.lines, l)
		}
	}
	return head, sections, nil
}

func hasSections(text string) bool {
	for raw := range strings.Lines(text) {
		if _, ok := sectionName(strings.TrimRight(raw, "\r\n")); ok {
			return true
		}
	}
	return false
}

// continues adds an indented line to the previous one.
func (s *section) continues(raw string) bool {
	if len(s.lines) == 0 || strings.TrimSpace(raw) == "" || raw[0] != ' ' && raw[0] != '\t' {
		return false
	}
	last := &s.lines[len(s.lines)-1]
	if last.word == "" {
		return false
	}
	last.text += "\n" + raw
	last.arg = strings.TrimSpace(last.arg + " " + strings.TrimSpace(raw))
	return true
}

func sectionName(raw string) (string, bool) {
	if len(raw) < 7 || !strings.HasPrefix(raw, "-- ") || !strings.HasSuffix(raw, " --") {
		return "", false
	}
	return strings.TrimSpace(raw[3 : len(raw)-3]), true
}

func readLine(raw string, no int) (line, error) {
	l := line{text: raw, no: no}
	rest := strings.TrimSpace(raw)
	if rest == "" || rest[0] == '#' {
		return l, nil
	}
	if inside, after, ok := strings.Cut(rest, "]"); ok && rest[0] == '[' {
		revs, err := readRevisions(inside[1:])
		if err != nil {
			return l, err
		}
		l.only, rest = revs, strings.TrimSpace(after)
	}
	word, arg, _ := strings.Cut(rest, " ")
	kind, known := words[word]
	switch {
	case !known:
		return l, fmt.Errorf("unknown word %q", clip(word))
	case kind == "frames" && l.only != nil:
		return l, fmt.Errorf("brackets are not allowed before %q: frames belong to one revision", word)
	case word == "call" && l.only != nil:
		return l, fmt.Errorf("brackets are not allowed before call: use eras")
	}
	l.word, l.arg = word, strings.TrimSpace(arg)
	return l, nil
}

// readRevisions parses a list of revisions and ranges such as "..2025-03-26".
func readRevisions(s string) ([]mcp.Revision, error) {
	all := mcp.Revisions()
	slices.Reverse(all) // the oldest first
	var out []mcp.Revision
	for _, item := range strings.Fields(s) {
		from, to, isRange := strings.Cut(item, "..")
		if !isRange {
			to = from
		}
		first, last := 0, len(all)-1
		if from != "" {
			first = slices.Index(all, mcp.Revision(from))
		}
		if to != "" {
			last = slices.Index(all, mcp.Revision(to))
		}
		if first < 0 || last < first {
			return nil, fmt.Errorf("%q is not a revision: use one of %v", item, all)
		}
		out = append(out, all[first:last+1]...)
	}
	if out == nil {
		return nil, fmt.Errorf("missing revision: use one of %v", all)
	}
	return out, nil
}

// kind returns the kind of conversation: "frames", "calls" or "".
func (s *section) kind() (string, error) {
	kind := ""
	for _, l := range s.lines {
		switch k := words[l.word]; {
		case k == "":
		case kind == "":
			kind = k
		case k != kind:
			return "", s.wrong(l, "a conversation cannot mix frames and calls; this one started with %s", kind)
		}
	}
	return kind, nil
}

// revisions returns the revisions of the conversation, newest first.
func (s *section) revisions() ([]mcp.Revision, error) {
	for _, l := range s.lines {
		if l.word == "eras" {
			revs, err := readRevisions(l.arg)
			if err != nil {
				return nil, s.wrong(l, "%v", err)
			}
			return slices.DeleteFunc(mcp.Revisions(), func(r mcp.Revision) bool { return !slices.Contains(revs, r) }), nil
		}
	}
	return mcp.Revisions(), nil
}

// wrong returns an error with the position in the file.
func (s *section) wrong(l line, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %s", s.file, l.no, fmt.Sprintf(format, args...))
}

// A mistake is an error that -update cannot correct: an invalid conversation,
// or a failed connection.
type mistake struct{ error }

func (m mistake) Unwrap() error { return m.error }

func (s *section) mistaken(l line, format string, args ...any) error {
	return mistake{s.wrong(l, format, args...)}
}

func (s *section) duration(l line) (time.Duration, error) {
	d, err := time.ParseDuration(l.arg)
	if err != nil {
		return 0, s.mistaken(l, "%q is not a duration such as 5s", l.arg)
	}
	return d, nil
}

// format formats the sections of a file.
func format(head string, sections []*section) string {
	var b strings.Builder
	b.WriteString(head)
	for _, s := range sections {
		if s.name != "" {
			b.WriteString("-- " + s.name + " --\n")
		}
		for _, l := range s.lines {
			b.WriteString(l.text + "\n")
		}
	}
	return b.String()
}
