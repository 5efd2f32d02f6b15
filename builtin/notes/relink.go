package notes

import (
	"net/url"
	"path"
	"strings"
)

// A relinker rewrites the links of one note after a file has moved. It
// changes only links to that file and keeps their headings, blocks, aliases
// and titles.
type relinker struct {
	from, to string // the old and new path of the file
	unique   bool   // no other file has the same name as to
	hits     func(key string) bool
	old, now string // the old and new folder of the note with the links
}

// rewrite returns the text with its links changed, and the number of changes.
func (r *relinker) rewrite(text string) (string, int) {
	_, body := splitFront(text)
	var b strings.Builder
	done, changed := 0, 0
	eachLine(text[body:], func(line string, at int, code bool) {
		if code || strings.IndexByte(line, '[') < 0 {
			return
		}
		now, n := r.line(line)
		if n == 0 {
			return
		}
		b.WriteString(text[done : body+at])
		b.WriteString(now)
		done = body + at + len(line)
		changed += n
	})
	b.WriteString(text[done:])
	return b.String(), changed
}

// line rewrites the links of a line outside of code spans.
func (r *relinker) line(line string) (string, int) {
	masked := maskCode(line)
	var b strings.Builder
	done, changed := 0, 0
	put := func(from, to int, text string) {
		if text == line[from:to] {
			return
		}
		b.WriteString(line[done:from])
		b.WriteString(text)
		done = to
		changed++
	}
	for at := 0; at < len(masked); {
		switch {
		case strings.HasPrefix(masked[at:], "[["):
			end := strings.Index(masked[at+2:], "]]")
			if end < 0 {
				at += 2
				break
			}
			put(at+2, at+2+end, r.wiki(line[at+2:at+2+end]))
			at += end + 4
		case strings.HasPrefix(masked[at:], "]("):
			end := strings.IndexByte(masked[at+2:min(len(masked), at+2+2*maxPath)], ')')
			if end < 0 {
				at += 2
				break
			}
			put(at+2, at+2+end, r.markdown(line[at+2:at+2+end]))
			at += end + 3
		default:
			at++
		}
	}
	return b.String() + line[done:], changed
}

// wiki rewrites the text between [[ and ]].
func (r *relinker) wiki(link string) string {
	end := strings.IndexAny(link, "#|")
	if end < 0 {
		end = len(link)
	}
	target := strings.TrimSuffix(strings.TrimSpace(link[:end]), `\`)
	k := wikiKey(target)
	if target == "" || k == "" || !r.hits(k) || !endsWith(key(r.from), k) {
		return link // another file, or an alias, which moves with the file
	}
	withPath := strings.Contains(target, "/")
	if !withPath && r.unique && key(path.Base(r.from)) == key(path.Base(r.to)) {
		return link // the link is still right
	}
	name := path.Base(r.to)
	if withPath || !r.unique {
		name = r.to
	}
	if isNote(path.Base(r.to)) && !strings.EqualFold(path.Ext(target), extension) {
		name = name[:len(name)-len(path.Ext(name))]
	}
	if strings.HasPrefix(target, "/") {
		name = "/" + name
	}
	return strings.Replace(link, target, name, 1)
}

// markdown rewrites the text between ]( and ).
func (r *relinker) markdown(link string) string {
	target, angled := link, false
	lead := len(link) - len(strings.TrimLeft(link, " "))
	target = link[lead:]
	if inner, ok := strings.CutPrefix(target, "<"); ok {
		angled = true
		target, _, _ = strings.Cut(inner, ">")
		lead++
	} else {
		target, _, _ = strings.Cut(target, " ")
	}
	file, _, _ := strings.Cut(target, "#")
	if file == "" || len(file) > maxPath || strings.Contains(file, ":") {
		return link
	}
	plain, err := url.PathUnescape(file)
	if err != nil {
		return link
	}
	rooted := strings.HasPrefix(plain, "/")
	at := strings.TrimPrefix(path.Clean(plain), "/")
	if !rooted {
		at = path.Join(r.old, plain)
	}
	if key(at) == key(r.from) {
		at = r.to
	} else if rooted || r.old == r.now {
		return link
	}
	now := "/" + at
	if !rooted {
		now = relative(r.now, at)
	}
	if !angled {
		now = escapeLink(now)
	}
	return link[:lead] + now + link[lead+len(file):]
}

// relative returns the path of a file relative to a folder.
func relative(folder, file string) string {
	if folder == "." {
		return file
	}
	up := ""
	for folder != "." && !inside(file, folder) {
		up += "../"
		folder = path.Dir(folder)
	}
	if folder != "." {
		file = file[len(folder)+1:]
	}
	return up + file
}

// escapeLink escapes the characters that would end a Markdown link.
func escapeLink(name string) string {
	return strings.NewReplacer("%", "%25", " ", "%20", "(", "%28", ")", "%29", "<", "%3C", ">", "%3E", "#", "%23", "?", "%3F").Replace(name)
}

// maskCode blanks code spans and keeps every position.
func maskCode(line string) string {
	if strings.IndexByte(line, '`') < 0 {
		return line
	}
	b := []byte(line)
	for at := 0; at < len(b); {
		if b[at] != '`' {
			at++
			continue
		}
		n := 1
		for at+n < len(b) && b[at+n] == '`' {
			n++
		}
		end := strings.Index(line[at+n:], line[at:at+n])
		if end < 0 {
			at += n
			continue
		}
		stop := at + n + end + n
		for ; at < stop; at++ {
			b[at] = ' '
		}
	}
	return string(b)
}
