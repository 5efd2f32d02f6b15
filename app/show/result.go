package show

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tenon-mcp/tenon/internal/visible"
	"github.com/tenon-mcp/tenon/mcp"
)

// Result writes what a tool came to. Where its text only repeats its
// structured content, one of them is shown.
func (p *Printer) Result(r *mcp.CallToolResult) error {
	if !p.text() {
		return p.Value(r)
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

// Structured writes a JSON value for people: rows of objects as a table, other
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
		p.Markdown(c.Text)
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

func (p *Printer) thing(what, mime string, size int, name string) {
	text := fmt.Sprintf("[%s %s, %s]", what, clean(mime), Bytes(int64(size)))
	if name != "" {
		text += " " + clean(name)
	}
	p.line(p.paint(magenta, text))
}

// Contents writes what is in a resource: text as it is, other bytes as what
// they are.
func (p *Printer) Contents(r *mcp.ReadResourceResult) error {
	if !p.text() {
		return p.Value(r)
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

func (p *Printer) contents(c mcp.ResourceContents) {
	switch {
	case c.Blob != nil:
		p.thing("bytes", c.MIMEType, len(c.Blob), c.URI)
	case c.MIMEType == "text/markdown":
		p.Markdown(c.Text)
	case strings.HasSuffix(c.MIMEType, "json") && json.Valid([]byte(c.Text)):
		p.Structured(json.RawMessage(c.Text))
	default:
		p.printf("%s", visible.Terminal(strings.TrimSuffix(c.Text, "\n")+"\n"))
	}
}

// Prompt writes a prompt that was filled in.
func (p *Printer) Prompt(r *mcp.GetPromptResult) error {
	if !p.text() {
		return p.Value(r)
	}
	if r.Description != "" && !p.Quiet {
		p.lines(p.Dim(clean(r.Description)), "", "")
		p.line("")
	}
	for i, m := range r.Messages {
		if i > 0 {
			p.line("")
		}
		p.line(p.Bold(clean(string(m.Role)) + ":"))
		p.content(m.Content)
	}
	return p.err
}

// Completion writes what could come next.
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
		more := "there are more"
		if c.Total != nil {
			more = fmt.Sprintf("%d in all", *c.Total)
		}
		p.line(p.Dim(more))
	}
	return p.err
}
