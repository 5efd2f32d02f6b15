package notes

import (
	"fmt"
	"strings"
)

// A heading is where a section of a note begins. All positions are in bytes
// from the beginning of the note.
type heading struct {
	level int
	text  string
	line  int // counted from 1
	at    int // where the line of the heading begins
	body  int // where the line after it begins
	end   int // where the next heading of the same or a higher level begins
	above int // the heading that it belongs under, by its place in the list; -1 if none
}

// headingsOf finds the headings of a note.
func headingsOf(text string) []heading {
	_, body := splitFront(text)
	first := 1 + strings.Count(text[:body], "\n")
	var all []heading
	number := first - 1
	eachLine(text[body:], func(line string, at int, code bool) {
		number++
		if code {
			return
		}
		level, title := headingOf(line)
		if level == 0 {
			return
		}
		_, next := cutLine(text, body+at)
		all = append(all, heading{level: level, text: title, line: number, at: body + at, body: next, end: len(text), above: -1})
	})
	var open []int // the headings whose sections we are in
	for i := range all {
		for len(open) > 0 && all[open[len(open)-1]].level >= all[i].level {
			all[open[len(open)-1]].end = all[i].at
			open = open[:len(open)-1]
		}
		if len(open) > 0 {
			all[i].above = open[len(open)-1]
		}
		open = append(open, i)
	}
	return all
}

// chainOf is a heading with those above it, as a caller names it.
func chainOf(all []heading, i int) string {
	chain := clip(all[i].text)
	for i = all[i].above; i >= 0; i = all[i].above {
		chain = clip(all[i].text) + "#" + chain
	}
	return chain
}

// findSection finds the section that a caller means: by its heading, as "Tasks"
// or "## Tasks", or with those above it, as "Project#Tasks".
func findSection(text, said string) (heading, error) {
	want := strings.TrimSpace(said)
	level := 0
	if n, title := headingOf(want); n > 0 {
		level, want = n, title
	}
	want = strings.Trim(want, "# ")
	all := headingsOf(text)
	var found []heading
	same := func(a, b string) bool { return a == b }
	for range 2 {
		for i, h := range all {
			if (level == 0 || level == h.level) && named(all, i, want, same) {
				found = append(found, h)
			}
		}
		if len(found) > 0 {
			break
		}
		same = strings.EqualFold
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return heading{}, fmt.Errorf("there is no section %q: %s", clip(said), sectionList(all))
	}
	return heading{}, fmt.Errorf("there are %s %q (%s): name the heading above it too, as %q", plural(len(found), "section"), clip(said), lineList(found), "Above#"+clip(want))
}

// named reports whether a heading has a name: its text, or that of those above
// it, with # between them, and then its text.
func named(all []heading, i int, want string, same func(a, b string) bool) bool {
	for ; i >= 0; i = all[i].above {
		text := all[i].text
		if same(want, text) {
			return true
		}
		cut := len(want) - len(text)
		if cut < 1 || want[cut-1] != '#' || !same(want[cut:], text) {
			return false
		}
		want = want[:cut-1]
	}
	return false
}

func sectionList(all []heading) string {
	if len(all) == 0 {
		return "the note has no headings"
	}
	var names []string
	for _, h := range all[:min(len(all), 20)] {
		names = append(names, strings.Repeat("#", h.level)+" "+clip(h.text))
	}
	if len(all) > 20 {
		names = append(names, "…")
	}
	return "the note has " + strings.Join(names, ", ")
}

func lineList(found []heading) string {
	var lines []string
	for _, h := range found[:min(len(found), 10)] {
		lines = append(lines, fmt.Sprintf("line %d", h.line))
	}
	return strings.Join(lines, ", ")
}

// replaceSection puts new text under a heading. The heading stays; if the new
// text begins with it, it is not written twice.
func replaceSection(text, said, body string) (string, error) {
	h, err := findSection(text, said)
	if err != nil {
		return "", err
	}
	eol := newlineOf(text)
	body = withNewlines(body, "\n")
	first, next := cutLine(body, 0)
	if level, title := headingOf(first); level == h.level && strings.EqualFold(title, h.text) {
		body = body[next:]
	}
	body = strings.Trim(body, "\n")
	head := text[h.at:h.body]
	if !strings.HasSuffix(head, "\n") {
		head += eol
	}
	if body != "" {
		body = withNewlines(body, eol) + eol
	}
	// The empty lines that were around the text stay.
	old := text[h.body:h.end]
	lead := old[:len(old)-len(strings.TrimLeft(old, "\r\n"))]
	if strings.Trim(old, "\r\n \t") == "" {
		lead = ""
	}
	tail := trailing(old)
	if h.end < len(text) && tail == "" {
		tail = eol
	}
	if body == "" {
		lead = ""
	}
	return text[:h.at] + head + lead + body + tail + text[h.end:], nil
}

// trailing is the empty lines at the end of a text.
func trailing(text string) string {
	body := strings.TrimRight(text, "\r\n \t")
	rest := text[len(body):]
	_, next := cutLine(rest, 0)
	if body == "" {
		return rest
	}
	return rest[next:]
}

// insert adds text at the end of the note, or of a section (append), or at the
// beginning (prepend): behind the frontmatter, or behind the heading.
func insert(text, section, added string, atEnd bool) (string, error) {
	_, start := splitFront(text)
	end := len(text)
	if section != "" {
		h, err := findSection(text, section)
		if err != nil {
			return "", err
		}
		start, end = h.body, h.end
	}
	eol := newlineOf(text)
	added = withNewlines(added, eol)
	if !strings.HasSuffix(added, "\n") {
		added += eol
	}
	if !atEnd {
		return text[:start] + lineBreak(text[:start], eol) + added + text[start:], nil
	}
	end -= len(trailing(text[start:end]))
	return text[:end] + lineBreak(text[:end], eol) + added + text[end:], nil
}

// lineBreak is what is needed for the next line to be one.
func lineBreak(before, eol string) string {
	if before == "" || strings.HasSuffix(before, "\n") || before == "\ufeff" {
		return ""
	}
	return eol
}

// replaceText changes one place of a note.
func replaceText(text, old, now string) (string, error) {
	if old == "" {
		return "", fmt.Errorf("old_text is empty: say which text is to be replaced")
	}
	eol := newlineOf(text)
	old, now = withNewlines(old, eol), withNewlines(now, eol)
	first := strings.Index(text, old)
	if first < 0 {
		return "", fmt.Errorf("old_text is not in the note: it must be there exactly as given, with the same spaces. Read the note again")
	}
	var lines []string
	for at := first; len(lines) < 10; {
		lines = append(lines, fmt.Sprintf("line %d", 1+strings.Count(text[:at], "\n")))
		next := strings.Index(text[at+1:], old)
		if next < 0 {
			break
		}
		at += 1 + next
	}
	if n := len(lines); n > 1 {
		return "", fmt.Errorf("old_text is in the note %d times or more (%s): give more of the text around it, so that it is there once", n, strings.Join(lines, ", "))
	}
	return text[:first] + now + text[first+len(old):], nil
}
