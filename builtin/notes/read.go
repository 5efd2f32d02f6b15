package notes

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

type readArgs struct {
	Path    string `json:"path" doc:"the path of the note in the vault, or its name if it is unique" schema:"minLength=1,maxLength=1024"`
	Section string `json:"section,omitzero" doc:"read only the section with this heading; if there are several, put the parent heading before it, as in Project#Tasks" schema:"maxLength=1000"`
	Offset  int    `json:"offset,omitzero" doc:"start at this byte" schema:"minimum=0"`
	Limit   int    `json:"limit,omitzero" doc:"maximum number of bytes" schema:"minimum=1,maximum=262144,default=32768"`
	From    int    `json:"from_line,omitzero" doc:"the first line to read, counted from 1; not with section" schema:"minimum=1"`
	To      int    `json:"to_line,omitzero" doc:"the last line to read; default the end of the note" schema:"minimum=1"`
	Outline bool   `json:"outline,omitzero" doc:"return only the headings with their line numbers"`
}

// A page is a part of a note. Its text is in the content of the result only,
// so that it is sent once.
type page struct {
	Path       string    `json:"path"`
	URI        string    `json:"uri"`
	Version    string    `json:"version" doc:"pass it to update_note or delete_note"`
	Modified   time.Time `json:"modified"`
	Size       int       `json:"size" doc:"size of the note, or of the requested section, in bytes"`
	Offset     int       `json:"offset"`
	NextOffset *int      `json:"next_offset,omitempty" doc:"offset for the next call; absent at the end"`
	Sections   []outline `json:"sections,omitempty" doc:"the headings of a note that was cut"`
	FromLine   int       `json:"from_line,omitzero" doc:"the first line read, if lines were requested"`
	Lines      int       `json:"lines" doc:"number of lines of the note"`
	Remark     string    `json:"remark,omitzero" doc:"a warning about the note"`
	text       string
}

type outline struct {
	Section string `json:"section"`
	Level   int    `json:"level"`
	Line    int    `json:"line" doc:"counted from 1"`
	Size    int    `json:"size"`
}

// MCPText returns the text that a model reads.
func (p page) MCPText() string {
	if p.NextOffset == nil {
		return p.text
	}
	return fmt.Sprintf("%s\n[%s bytes %d to %d of %d. Continue with offset=%d]", p.text, p.Path, p.Offset, *p.NextOffset, p.Size, *p.NextOffset)
}

func (v *vault) read(ctx context.Context, c *mcp.Call, in readArgs) (page, error) {
	name, err := v.find(ctx, c, in.Path)
	if err != nil {
		return page{}, err
	}
	st, err := v.load(name)
	if err != nil {
		return page{}, err
	}
	if err := isText(st.bytes); err != nil {
		return page{}, fmt.Errorf("note %q cannot be shown: %w", name, err)
	}
	whole := string(st.bytes)
	text, err := in.part(whole)
	if err != nil {
		return page{}, err
	}
	p := page{Path: name, URI: uriOf(name), Version: st.version.String(), Modified: st.modified.UTC().Truncate(time.Second), Size: len(text), Offset: in.Offset, Lines: linesOf(whole), FromLine: in.From}
	if in.Outline {
		p.Sections = outlineOf(whole)
		p.text = outlineText(p)
		return p, nil
	}
	if in.Offset > len(text) {
		return page{}, fmt.Errorf("offset %d is after the end; there are %d bytes", in.Offset, len(text))
	}
	part := cut(text[in.Offset:], in.Limit)
	if next := in.Offset + len(part); next < len(text) {
		p.NextOffset = &next
		if in.Offset == 0 && in.Section == "" {
			p.Sections = outlineOf(whole)
		}
	}
	p.text = part
	if !utf8.ValidString(whole) {
		p.text = strings.ToValidUTF8(part, "\ufffd")
		p.Remark = "the note is not valid UTF-8: invalid bytes are shown as \ufffd, and an update keeps them"
	}
	return p, nil
}

// part returns the requested part of a note: a section, some lines, or all.
func (in *readArgs) part(text string) (string, error) {
	lines := in.From > 0 || in.To > 0
	switch {
	case lines && in.Section != "":
		return "", errors.New("section and lines cannot be combined; use one of them")
	case in.Section != "":
		h, err := findSection(text, in.Section)
		if err != nil {
			return "", err
		}
		return text[h.at:h.end], nil
	case !lines:
		return text, nil
	}
	in.From = max(in.From, 1)
	if in.To > 0 && in.To < in.From {
		return "", fmt.Errorf("to_line %d is before from_line %d", in.To, in.From)
	}
	start, end, at := -1, len(text), 0
	for line := 1; at < len(text); line++ {
		if line == in.From {
			start = at
		}
		if _, at = cutLine(text, at); line == in.To {
			end = at
			break
		}
	}
	if start < 0 {
		return "", fmt.Errorf("no line %d; the note has %s", in.From, plural(linesOf(text), "line"))
	}
	return text[start:end], nil
}

// linesOf returns the number of lines of a text.
func linesOf(text string) int {
	n := strings.Count(text, "\n")
	if text != "" && !strings.HasSuffix(text, "\n") {
		n++
	}
	return n
}

func outlineText(p page) string {
	if len(p.Sections) == 0 {
		return fmt.Sprintf("%s has no headings and %s.", p.Path, plural(p.Lines, "line"))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s:\n", p.Path, plural(p.Lines, "line"))
	for _, s := range p.Sections {
		name := s.Section[strings.LastIndexByte(s.Section, '#')+1:]
		fmt.Fprintf(&b, "%5d  %s %s\n", s.Line, strings.Repeat("#", s.Level), name)
	}
	return b.String()
}

type readManyArgs struct {
	Paths []string `json:"paths" doc:"the notes, by path, or by name if it is unique" schema:"minItems=1,maxItems=20"`
	Limit int      `json:"limit,omitzero" doc:"maximum number of bytes of each note" schema:"minimum=1,maximum=65536,default=8192"`
}

// pages is the result of read_notes.
type pages struct {
	Notes []page `json:"notes"`
	// Failed lists the notes that cannot be read, with the reasons.
	Failed []string `json:"failed,omitempty" doc:"the notes that could not be read, with the reasons"`
}

// MCPText returns the text that a model reads.
func (p pages) MCPText() string {
	var b strings.Builder
	for _, n := range p.Notes {
		fmt.Fprintf(&b, "=== %s (version %s)\n%s\n", n.Path, n.Version, strings.TrimSuffix(n.MCPText(), "\n"))
	}
	for _, why := range p.Failed {
		b.WriteString("=== " + why + "\n")
	}
	return b.String()
}

// readMany reads several notes. A note that cannot be read does not affect
// the others.
func (v *vault) readMany(ctx context.Context, c *mcp.Call, in readManyArgs) (pages, error) {
	out := pages{Notes: []page{}}
	for _, name := range in.Paths {
		p, err := v.read(ctx, c, readArgs{Path: name, Limit: in.Limit})
		if ctx.Err() != nil {
			return pages{}, ctx.Err()
		}
		if err != nil {
			out.Failed = append(out.Failed, fmt.Sprintf("%s: %v", clip(name), err))
			continue
		}
		out.Notes = append(out.Notes, p)
	}
	return out, nil
}

// cut returns the beginning of a text, at least one character, up to the end
// of a line if one is near.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	if i := strings.LastIndexByte(text[:limit], '\n'); i >= limit*3/4 {
		return text[:i+1]
	}
	end := limit
	for end > 0 && limit-end < utf8.UTFMax && !utf8.RuneStart(text[end]) {
		end--
	}
	if end == 0 { // the limit is smaller than the first character
		_, end = utf8.DecodeRuneInString(text)
	}
	return text[:end]
}

func outlineOf(text string) []outline {
	var all []outline
	headings := headingsOf(text)
	for i, h := range headings[:min(len(headings), 100)] {
		all = append(all, outline{strings.ToValidUTF8(chainOf(headings, i), "\ufffd"), h.level, h.line, h.end - h.at})
	}
	return all
}

// template is the URI template of notes.
const template = uriPrefix + "{+path}"

func (v *vault) addResources(s *server.Server) error {
	err := s.AddTemplate(mcp.ResourceTemplate{
		URITemplate: template, Name: "note", Title: "Note", MIMEType: "text/markdown",
		Description: "A note by its path in the vault, such as Projects/Garden.md",
	}, v.readResource, nil)
	return errors.Join(err, s.CompleteTemplate(template, "path", v.completePath))
}

// readResource reads a whole note. A note that the caller may not read does
// not exist.
func (v *vault) readResource(_ context.Context, c *mcp.Call, uri string, _ map[string]string) ([]mcp.ResourceContents, error) {
	name, ok := pathOf(uri)
	if !ok || !v.access(&c.Caller).reads(name) {
		return nil, mcp.ResourceNotFound(uri)
	}
	st, err := v.load(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, mcp.ResourceNotFound(uri)
	}
	if err == nil {
		err = isText(st.bytes)
	}
	if err != nil {
		return nil, mcp.Errorf(mcp.CodeInternal, "%v", err)
	}
	return server.TextResource("", strings.ToValidUTF8(string(st.bytes), "\ufffd")), nil
}

// completePath returns the paths that begin with value, then those that
// contain it.
func (v *vault) completePath(ctx context.Context, c *mcp.Call, value string, _ map[string]string) ([]string, error) {
	if len(value) > maxPath {
		return nil, nil
	}
	if err := v.wait(ctx, c); err != nil {
		return nil, err
	}
	typed := strings.ToLower(value)
	var begin, within []string
	for _, n := range v.visible(v.access(&c.Caller), nil) {
		lower := strings.ToLower(n.path)
		switch {
		case strings.HasPrefix(lower, typed):
			begin = append(begin, n.path)
		case strings.Contains(lower, typed):
			within = append(within, n.path)
		}
	}
	return append(sorted(begin), sorted(within)...), nil
}
