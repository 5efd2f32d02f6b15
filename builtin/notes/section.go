package notes

import (
	"fmt"
	"strings"
)

// A heading is the beginning of a section. Positions are in bytes from the
// beginning of the note.
type heading struct {
	level int
	text  string
	line  int // counted from 1
	at    int // start of the heading's line
	body  int // start of the next line
	end   int // start of the next heading of the same or a higher level
	above int // index of the parent heading; -1 if none
}

// headingsOf returns the headings of a note.
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
	var open []int // the headings of the enclosing sections
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

// chainOf returns a heading with its parents, such as Project#Tasks.
func chainOf(all []heading, i int) string {
	chain := clip(all[i].text)
	for i = all[i].above; i >= 0; i = all[i].above {
		chain = clip(all[i].text) + "#" + chain
	}
	return chain
}

// findSection returns the section that a caller names: by its heading, as
// "Tasks" or "## Tasks", or with its parents, as "Project#Tasks".
func findSection(text, title string) (heading, error) {
	want := strings.TrimSpace(title)
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
		return heading{}, fmt.Errorf("no section %q; %s", clip(title), sectionList(all))
	}
	return heading{}, fmt.Errorf("there are %s %q (%s); add the parent heading, as in %q", plural(len(found), "section"), clip(title), lineList(found), "Above#"+clip(want))
}

// named reports whether a heading has a name: its text, or that of its
// parents and its own with # between them.
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

// replaceSection replaces the text under a heading. The heading is kept; if
// the new text begins with it, it is not repeated.
func replaceSection(text, title, body string) (string, error) {
	h, err := findSection(text, title)
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
	// Keep the empty lines around the text.
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

// trailing returns the empty lines at the end of a text.
func trailing(text string) string {
	body := strings.TrimRight(text, "\r\n \t")
	rest := text[len(body):]
	_, next := cutLine(rest, 0)
	if body == "" {
		return rest
	}
	return rest[next:]
}

// insert adds text at the end of the note or of a section, or at its
// beginning: after the frontmatter or the heading.
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

// lineBreak returns the line break needed before the next line.
func lineBreak(before, eol string) string {
	if before == "" || strings.HasSuffix(before, "\n") || before == "\ufeff" {
		return ""
	}
	return eol
}

// replaceText replaces one occurrence of a text.
func replaceText(text, old, now string) (string, error) {
	if old == "" {
		return "", fmt.Errorf("old_text is empty; give the text to replace")
	}
	eol := newlineOf(text)
	old, now = withNewlines(old, eol), withNewlines(now, eol)
	first := strings.Index(text, old)
	if first < 0 {
		return "", fmt.Errorf("old_text is not in the note; it must match exactly, including spaces. Read the note again")
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
		return "", fmt.Errorf("old_text occurs %d times or more (%s); include more of the surrounding text", n, strings.Join(lines, ", "))
	}
	return text[:first] + now + text[first+len(old):], nil
}
