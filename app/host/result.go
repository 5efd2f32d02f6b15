package host

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/mcp"
)

const defaultBudget = 24 << 10

// A shaped is a tool's result for the model.
type shaped struct {
	parts  []llm.Part
	handle string // of the whole text, if it was cut
}

// shape turns a result into parts for the model. If text and structured content
// say the same, it uses the text, which servers write for models.
func (s *Session) shape(info llm.Info, server, tool string, r *mcp.CallToolResult) shaped {
	var texts []string
	var media []llm.Part
	for _, c := range r.Content {
		switch c := c.(type) {
		case *mcp.TextContent:
			texts = append(texts, c.Text)
		case *mcp.ImageContent:
			media, texts = medium(media, texts, info.Accepts.Images, llm.PartImage, c.Data, c.MIMEType)
		case *mcp.AudioContent:
			media, texts = medium(media, texts, info.Accepts.Audio, llm.PartAudio, c.Data, c.MIMEType)
		case *mcp.ResourceLink:
			s.linked(server, c.URI, tool)
			texts = append(texts, s.linkText(server, c))
		case *mcp.EmbeddedResource:
			s.linked(server, c.Resource.URI, tool)
			if part := blob(info, c.Resource); c.Resource.Blob != nil && part.Kind != llm.PartText {
				media = append(media, part)
				continue
			}
			texts = append(texts, contentsText(c.Resource))
		default:
			raw, err := mcp.Marshal(c)
			if err != nil {
				raw = []byte(c.ContentType())
			}
			texts = append(texts, fmt.Sprintf("[content of a kind this host does not know: %s]", raw))
		}
	}
	if r.StructuredContent != nil && !repeatsStructured(texts, r.StructuredContent) {
		texts = append(texts, string(r.StructuredContent))
	}
	if len(texts) == 0 && len(media) == 0 {
		texts = append(texts, "(the tool returned nothing)")
	}
	out := shaped{}
	if text := strings.Join(texts, "\n"); text != "" {
		out.parts, out.handle = s.forModel(from(server, tool), text)
	}
	out.parts = append(out.parts, media...)
	return out
}

// from describes the source of a text.
func from(server, what string) string {
	if what == "" {
		return server
	}
	return server + "/" + what
}

// forModel returns a server's text for the model: without secrets and hidden
// characters, cut to the budget, fenced and labelled. It cleans before it cuts,
// so that no cut divides a secret.
func (s *Session) forModel(from, text string) (parts []llm.Part, handle string) {
	short, handle := s.cut(from, s.host.safe(text))
	return []llm.Part{llm.Text(fence(from, short))}, handle
}

// repeatsStructured reports whether the text contains the structured content:
// literally, or because it is written for models. Only a large structure with
// hardly any text is given in addition.
func repeatsStructured(texts []string, structured json.RawMessage) bool {
	text := strings.TrimSpace(strings.Join(texts, "\n"))
	if text == "" {
		return false
	}
	var want bytes.Buffer
	if json.Compact(&want, structured) != nil {
		return true
	}
	var have bytes.Buffer
	if json.Compact(&have, []byte(text)) == nil && bytes.Equal(have.Bytes(), want.Bytes()) {
		return true
	}
	const large = 256
	return want.Len() <= large || len(text) >= want.Len()/2
}

// medium adds a medium: as it is if the model accepts the kind and the bytes are
// valid, and else as a description.
func medium(media []llm.Part, texts []string, accepted bool, kind llm.PartKind, data []byte, mime string) ([]llm.Part, []string) {
	p := llm.Part{Kind: kind, Data: data, MIME: mime}
	if !accepted {
		return media, append(texts, llm.Describe(p))
	}
	sound, err := checkMedium(p)
	if err != nil {
		return media, append(texts, describeMedium(p, err))
	}
	return append(media, sound), texts
}

func (s *Session) linkText(server string, l *mcp.ResourceLink) string {
	text := fmt.Sprintf("[link to the resource %s of %s: %s", l.URI, server, l.DisplayName())
	if l.MIMEType != "" {
		text += ", " + l.MIMEType
	}
	if l.Size != nil {
		text += fmt.Sprintf(", %d bytes", *l.Size)
	}
	if at := s.host.server(server); at != nil && at.declaresResources() {
		text += "; " + readResourceName + " reads it"
	}
	return text + "]"
}

func contentsText(c mcp.ResourceContents) string {
	if c.Blob != nil {
		return fmt.Sprintf("[%s: %s, %d bytes]", c.URI, c.MIMEType, len(c.Blob))
	}
	return fmt.Sprintf("[%s]\n%s", c.URI, c.Text)
}

func (h *Host) budget() int {
	if h.opts.ResultBudget == 0 {
		return defaultBudget
	}
	return h.opts.ResultBudget
}

// cut shortens a text to the budget, to its head and tail, and keeps the whole
// under a handle.
func (s *Session) cut(from, text string) (short, handle string) {
	budget := s.host.budget()
	if len(text) <= budget {
		return text, ""
	}
	handle = s.keep(kept{From: from, Text: text})
	head := whole(text[:budget*3/4])
	tail := text[len(text)-budget/4:]
	for len(tail) > 0 && !utf8.RuneStart(tail[0]) {
		tail = tail[1:]
	}
	left := len(text) - len(head) - len(tail)
	return fmt.Sprintf("%s\n[… %d of %d bytes left out; read_result with handle %q and offset %d has them …]\n%s", head, left, len(text), handle, len(head), tail), handle
}

// whole removes a character that was cut in two.
func whole(s string) string {
	for i := 0; i < utf8.UTFMax && len(s) > 0; i++ {
		if r, n := utf8.DecodeLastRuneInString(s); r != utf8.RuneError || n != 1 {
			break
		}
		s = s[:len(s)-1]
	}
	return s
}

// read implements read_result. Its text is data of the server, like the result.
func (s *Session) read(args json.RawMessage) (string, error) {
	var q struct {
		Handle string `json:"handle"`
		Offset int    `json:"offset"`
		Find   string `json:"find"`
	}
	if err := mcp.Unmarshal(args, &q); err != nil {
		return "", fmt.Errorf("read_result needs a handle and may have an offset or a text to find: %w", err)
	}
	whole, ok := s.kept(q.Handle)
	if !ok {
		return "", fmt.Errorf("there is no result with the handle %q in this conversation", q.Handle)
	}
	if whole.Text == "" {
		return "", fmt.Errorf("the result with the handle %q is no longer kept: call the tool again", q.Handle)
	}
	if q.Find != "" {
		return fence(whole.From, around(whole.Text, q.Find, s.host.budget())), nil
	}
	text, err := excerpt(whole.Text, q.Offset, s.host.budget())
	if err != nil {
		return "", err
	}
	return fence(whole.From, text), nil
}

// excerpt returns a part of a text that begins at a byte, or at the next
// character.
func excerpt(text string, offset, budget int) (string, error) {
	if offset < 0 || offset >= len(text) {
		return "", fmt.Errorf("the result has %d bytes: offset must be less", len(text))
	}
	for offset < len(text) && !utf8.RuneStart(text[offset]) {
		offset++
	}
	rest := text[offset:]
	if len(rest) <= budget {
		return rest, nil
	}
	rest = whole(rest[:budget])
	return fmt.Sprintf("%s\n[… to go on, offset %d of %d bytes …]", rest, offset+len(rest), len(text)), nil
}

// around returns the places where a text is found, ignoring case.
func around(text, find string, budget int) string {
	const margin, most = 300, 100
	var out strings.Builder
	end := 0 // of the last place
	for _, at := range regexp.MustCompile(`(?i)`+regexp.QuoteMeta(find)).FindAllStringIndex(text, most) {
		if out.Len() >= budget {
			out.WriteString("[… there is more: look for something rarer …]\n")
			break
		}
		if at[0] < end {
			continue
		}
		begin := max(end, at[0]-margin)
		end = min(len(text), at[1]+margin)
		fmt.Fprintf(&out, "[at byte %d]\n%s\n", at[0], strings.ToValidUTF8(text[begin:end], ""))
	}
	if out.Len() == 0 {
		return fmt.Sprintf("%q is not in it.", find)
	}
	return out.String()
}

// size returns the number of bytes of a result.
func size(r *mcp.CallToolResult) int {
	n := len(r.StructuredContent)
	for _, c := range r.Content {
		switch c := c.(type) {
		case *mcp.TextContent:
			n += len(c.Text)
		case *mcp.ImageContent:
			n += base64.StdEncoding.EncodedLen(len(c.Data))
		case *mcp.AudioContent:
			n += base64.StdEncoding.EncodedLen(len(c.Data))
		case *mcp.EmbeddedResource:
			n += len(c.Resource.Text) + len(c.Resource.Blob)
		}
	}
	return n
}
