package notes

import (
	"net/url"
	"path"
	"slices"
	"strings"
	"unique"
)

// facts are the properties of a note found in its text.
type facts struct {
	title    string // from the frontmatter; else the first heading of level 1; else empty
	tags     []string
	aliases  []string
	links    []string
	headings []string // slices of the text
}

// Limits on the properties of one note.
const (
	maxTags    = 200
	maxLinks   = 2000
	maxAliases = 50
	maxTitle   = 200
)

// parse reads the properties of a note. Only the headings refer to the text.
func parse(name, text string) *facts {
	f := &facts{}
	front, body := splitFront(text)
	if front.err == nil {
		f.title = clipTitle(front.scalar("title"))
		for _, key := range []string{"tags", "tag"} {
			for _, tag := range front.list(key, true) {
				f.addTag(tag)
			}
		}
		for _, key := range []string{"aliases", "alias"} {
			for _, alias := range front.list(key, false) {
				if len(f.aliases) < maxAliases && alias != "" {
					f.aliases = append(f.aliases, strings.Clone(alias))
				}
			}
		}
	}
	dir := path.Dir(name)
	eachLine(text[body:], func(line string, _ int, code bool) {
		if code {
			return
		}
		if level, heading := headingOf(line); level > 0 {
			f.headings = append(f.headings, heading)
			if level == 1 && f.title == "" {
				f.title = clipTitle(heading)
			}
		}
		if strings.IndexByte(line, '`') >= 0 {
			line = withoutCode(line)
		}
		if strings.IndexByte(line, '#') >= 0 {
			f.findTags(line)
		}
		if strings.IndexByte(line, '[') >= 0 {
			f.findLinks(line, dir)
		}
	})
	slices.Sort(f.tags)
	f.tags = slices.Clip(slices.Compact(f.tags))
	slices.Sort(f.links)
	f.links = slices.Clip(slices.Compact(f.links))
	return f
}

func clipTitle(s string) string {
	s = strings.TrimSpace(strings.ToValidUTF8(s, "\ufffd"))
	if len(s) > maxTitle {
		s = strings.ToValidUTF8(s[:maxTitle], "") + "…"
	}
	return strings.Clone(s)
}

// eachLine calls see for every line of a text with its position and whether
// it belongs to a code fence.
func eachLine(text string, see func(line string, at int, code bool)) {
	fence := "" // end mark of the current code fence
	for at := 0; at < len(text); {
		end := strings.IndexByte(text[at:], '\n')
		next := at + end + 1
		if end < 0 {
			end, next = len(text)-at, len(text)
		}
		line := strings.TrimSuffix(text[at:at+end], "\r")
		mark := fenceOf(line)
		switch {
		case fence == "" && mark != "":
			fence = mark
			see(line, at, true)
		case fence != "":
			see(line, at, true)
			if strings.HasPrefix(mark, fence) && strings.Trim(line, " \t") == mark {
				fence = ""
			}
		default:
			see(line, at, false)
		}
		at = next
	}
}

// fenceOf returns the marks that begin a code fence, or "".
func fenceOf(line string) string {
	s := strings.TrimLeft(line, " ")
	if len(line)-len(s) > 3 || len(s) < 3 || s[0] != '`' && s[0] != '~' {
		return ""
	}
	n := 0
	for n < len(s) && s[n] == s[0] {
		n++
	}
	if n < 3 || s[0] == '`' && strings.IndexByte(s[n:], '`') >= 0 {
		return ""
	}
	return s[:n]
}

// headingOf returns the level and text of a heading; other lines have level 0.
func headingOf(line string) (level int, text string) {
	if line == "" || line[0] != '#' {
		return 0, ""
	}
	for level < len(line) && line[level] == '#' {
		level++
	}
	if level > 6 || level < len(line) && line[level] != ' ' && line[level] != '\t' {
		return 0, ""
	}
	text = strings.TrimSpace(line[level:])
	if closed := strings.TrimRight(text, "#"); closed == "" || strings.HasSuffix(closed, " ") {
		text = strings.TrimSpace(closed)
	}
	return level, text
}

// withoutCode blanks code spans.
func withoutCode(line string) string {
	var b strings.Builder
	for {
		start := strings.IndexByte(line, '`')
		if start < 0 {
			break
		}
		n := 1
		for start+n < len(line) && line[start+n] == '`' {
			n++
		}
		marks := line[start : start+n]
		end := strings.Index(line[start+n:], marks)
		if end < 0 {
			break
		}
		b.WriteString(line[:start])
		b.WriteByte(' ')
		line = line[start+n+end+n:]
	}
	b.WriteString(line)
	return b.String()
}

// findTags finds #tags in a line: at its beginning or after a space, with at
// least one character that is not a digit.
func (f *facts) findTags(line string) {
	for _, span := range tagSpans(line) {
		f.addTag(line[span[0]+1 : span[1]])
	}
}

func (f *facts) addTag(text string) {
	if tag := cleanTag(text); tag != "" && len(tag) <= 100 && len(f.tags) < maxTags {
		f.tags = append(f.tags, unique.Make(tag).Value())
	}
}

// findLinks finds [[wiki links]] and [links](to.md) in a line.
func (f *facts) findLinks(line, dir string) {
	rest := line
	for {
		i := strings.Index(rest, "[[")
		if i < 0 {
			break
		}
		end := strings.Index(rest[i+2:], "]]")
		if end < 0 {
			break
		}
		f.addLink(wikiKey(rest[i+2 : i+2+end]))
		rest = rest[i+2+end+2:]
	}
	rest = line
	for {
		i := strings.Index(rest, "](")
		if i < 0 {
			return
		}
		rest = rest[i+2:]
		if end := strings.IndexByte(rest[:min(len(rest), 2*maxPath)], ')'); end >= 0 {
			f.addLink(markdownKey(rest[:end], dir))
		}
	}
}

func (f *facts) addLink(key string) {
	if key != "" && len(f.links) < maxLinks {
		f.links = append(f.links, unique.Make(key).Value())
	}
}

// wikiKey returns the key of the note that a wiki link names, without
// heading, block and alias.
func wikiKey(link string) string {
	link, _, _ = strings.Cut(link, "|")
	link, _, _ = strings.Cut(link, "#")
	link = strings.TrimSuffix(strings.TrimSpace(link), `\`) // in tables, | is written \|
	link = strings.Trim(path.Clean("/"+link), "/")
	if len(link) > maxPath {
		return ""
	}
	return key(link)
}

// attached is the prefix of the key of a Markdown link to a file that is not
// a note.
const attached = "!"

// markdownKey returns the key of a Markdown link: a path with a slash before
// it for a note, with attached before it for another file, and "" for a
// target outside the vault.
func markdownKey(link, dir string) string {
	link = strings.TrimSpace(link)
	if inner, ok := strings.CutPrefix(link, "<"); ok {
		link, _, _ = strings.Cut(inner, ">")
	} else {
		link, _, _ = strings.Cut(link, " ") // a title may follow
	}
	link, _, _ = strings.Cut(link, "#")
	if link == "" || len(link) > maxPath || strings.Contains(link, ":") {
		return ""
	}
	target, err := url.PathUnescape(link)
	if err != nil || path.Ext(target) == "" {
		return ""
	}
	if !strings.HasPrefix(target, "/") {
		target = path.Join("/", dir, target)
	}
	target = path.Clean(target)
	if !strings.EqualFold(path.Ext(target), extension) {
		return attached + key(target[1:])
	}
	return key(target)
}
