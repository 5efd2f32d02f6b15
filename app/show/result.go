package show

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tenon-mcp/tenon/internal/visible"
	"github.com/tenon-mcp/tenon/mcp"
)

// Result prints the result of a tool call. If its text only repeats its
// structured content, one of them is printed.
func (p *Printer) Result(r *mcp.CallToolResult) error {
	if !p.text() {
		return p.Value(r)
	}
	if p.Plain {
		return p.plainResult(r)
	}
	if r.IsError && !p.Quiet {
		p.line(p.Red("The tool failed:"))
	}
	repeated := repeats(r)
	for _, c := range r.Content {
		if _, isText := c.(*mcp.TextContent); isText && repeated {
			continue
		}
		p.content(c)
	}
	if r.StructuredContent != nil && (repeated || len(r.Content) == 0) {
		p.Structured(r.StructuredContent)
	}
	if r.StructuredContent == nil && len(r.Content) == 0 {
		return p.none("(nothing)")
	}
	return p.err
}

// plainResult prints a result unchanged: its texts, or, without content, the JSON
// of its structured content.
func (p *Printer) plainResult(r *mcp.CallToolResult) error {
	for _, c := range r.Content {
		p.content(c)
	}
	if len(r.Content) == 0 && r.StructuredContent != nil {
		p.line(string(r.StructuredContent))
	}
	return p.err
}

// repeats reports whether the text of a result is its structured content.
func repeats(r *mcp.CallToolResult) bool {
	if r.StructuredContent == nil {
		return false
	}
	var want bytes.Buffer
	if json.Compact(&want, r.StructuredContent) != nil {
		return false
	}
	for _, c := range r.Content {
		text, ok := c.(*mcp.TextContent)
		if !ok {
			continue
		}
		var have bytes.Buffer
		if json.Compact(&have, []byte(text.Text)) != nil || !bytes.Equal(have.Bytes(), want.Bytes()) {
			return false
		}
	}
	return true
}

// Structured prints a JSON value for people: rows of objects as a table, other
// values as YAML.
func (p *Printer) Structured(raw json.RawMessage) {
	if head, rows, ok := rowsOf(raw); ok {
		p.grid(head, rows)
		return
	}
	var out bytes.Buffer
	if appendYAML(&out, raw) != nil {
		out.Reset()
		out.Write(raw)
	}
	p.printf("%s", visible.Terminal(string(escapeJSON(out.Bytes()))))
}

func (p *Printer) content(c mcp.Content) {
	switch c := c.(type) {
	case *mcp.TextContent:
		p.prose(c.Text)
	case *mcp.ImageContent:
		p.thing("image", c.MIMEType, len(c.Data), "")
	case *mcp.AudioContent:
		p.thing("audio", c.MIMEType, len(c.Data), "")
	case *mcp.ResourceLink:
		about := clean(c.DisplayName())
		if d := first(c.Description); d != "" {
			about += ": " + d
		}
		p.lines(p.Dim("→ ")+p.paint(underline, clean(c.URI))+"  "+about, "", "  ")
	case *mcp.EmbeddedResource:
		p.contents(c.Resource)
	default:
		raw, err := mcp.Marshal(c)
		if err != nil {
			p.line(p.Dim(fmt.Sprintf("[%s]", clean(c.ContentType()))))
			return
		}
		p.line(p.Dim("["+clean(c.ContentType())+"] ") + clean(string(raw)))
	}
}

// prose prints a text of the server: unchanged, or as Markdown.
func (p *Printer) prose(text string) {
	if p.Plain {
		p.verbatim(text)
	} else {
		p.Markdown(text)
	}
}

func (p *Printer) thing(what, mime string, size int, name string) {
	text := fmt.Sprintf("[%s %s, %s]", what, clean(mime), Bytes(int64(size)))
	if name != "" {
		text += " " + clean(name)
	}
	p.line(p.paint(magenta, text))
}

// Contents prints the contents of a resource: text, and a description of binary
// data. Plain prints all bytes unchanged, one after the other.
func (p *Printer) Contents(r *mcp.ReadResourceResult) error {
	if !p.text() {
		return p.Value(r)
	}
	if p.Plain {
		p.verbatim(string(Bare(r.Contents)))
		return p.err
	}
	for i, c := range r.Contents {
		if len(r.Contents) > 1 {
			if i > 0 {
				p.line("")
			}
			p.line(p.Bold(clean(c.URI)))
		}
		p.contents(c)
	}
	return p.err
}

// Bare returns the text and bytes of contents, one after the other.
func Bare(all []mcp.ResourceContents) []byte {
	var data []byte
	for _, c := range all {
		if c.Blob != nil {
			data = append(data, c.Blob...)
		} else {
			data = append(data, c.Text...)
		}
	}
	return data
}

func (p *Printer) contents(c mcp.ResourceContents) {
	switch {
	case c.Blob != nil:
		p.thing("bytes", c.MIMEType, len(c.Blob), c.URI)
	case p.Plain:
		p.verbatim(c.Text)
	case c.MIMEType == "text/markdown":
		p.Markdown(c.Text)
	case strings.HasSuffix(c.MIMEType, "json") && json.Valid([]byte(c.Text)):
		p.Structured(json.RawMessage(c.Text))
	default:
		p.printf("%s", visible.Terminal(strings.TrimSuffix(c.Text, "\n")+"\n"))
	}
}

// Prompt prints the messages of a prompt. Plain prints only the text of a single
// message.
func (p *Printer) Prompt(r *mcp.GetPromptResult) error {
	if !p.text() {
		return p.Value(r)
	}
	if r.Description != "" && !p.Quiet && !p.Plain {
		p.lines(p.Dim(clean(r.Description)), "", "")
		p.line("")
	}
	for i, m := range r.Messages {
		if i > 0 {
			p.line("")
		}
		if p.Plain && len(r.Messages) == 1 {
			p.content(m.Content)
			break
		}
		p.line(p.Bold(clean(string(m.Role)) + ":"))
		p.content(m.Content)
	}
	return p.err
}

// Completion prints completion values.
func (p *Printer) Completion(c *mcp.Completion) error {
	if p.Format == JSONL {
		for _, v := range c.Values {
			if err := p.Value(v); err != nil {
				return err
			}
		}
		return p.err
	}
	if !p.text() {
		return p.Value(c)
	}
	for _, v := range c.Values {
		p.line(clean(v))
	}
	if c.HasMore && !p.Quiet {
		more := "and more"
		if c.Total != nil {
			more = fmt.Sprintf("%d in all", *c.Total)
		}
		p.line(p.Dim(more))
	}
	return p.err
}
