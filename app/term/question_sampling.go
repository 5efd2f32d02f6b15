package term

import (
	"strings"

	"github.com/tenon-mcp/tenon/internal/visible"
	"github.com/tenon-mcp/tenon/mcp"
)

// What the protocol has deprecated: a server that has our model write.

// sampling shows the request of a server, or the model's draft.
func (q *question) sampling(width int, th *theme) (out []string, cursor int) {
	cursor = -1
	out = append(out, wrap(line(q.ask.Message), width)...)
	if q.edit != nil {
		rows, _, y := q.edit.rows(width-2, 1000)
		cursor = len(out) + y
		return append(out, indented(rows, "> ", "> ")...), cursor
	}
	if q.ask.Draft != nil {
		return append(out, indented(wrap(visible.Text(blocksText(q.ask.Draft.Content.Blocks)), width-2), "│ ", "│ ")...), cursor
	}
	p := q.ask.Sampling
	if p == nil {
		return out, cursor
	}
	part := func(label, text string) {
		out = append(out, th.dim.Render(label))
		out = append(out, indented(wrap(visible.Text(text), width-2), "│ ", "│ ")...)
	}
	if p.SystemPrompt != "" {
		part("instructions to the model", p.SystemPrompt)
	}
	for _, m := range p.Messages {
		part(string(m.Role), blocksText(m.Content.Blocks))
	}
	return out, cursor
}

// blocksText returns the text of content, with descriptions of other content.
func blocksText(all mcp.Contents) string {
	var parts []string
	for _, c := range all {
		switch c := c.(type) {
		case *mcp.TextContent:
			parts = append(parts, c.Text)
		case *mcp.ImageContent:
			parts = append(parts, "["+count(len(c.Data), "byte", "bytes")+" of image, "+c.MIMEType+"]")
		default:
			parts = append(parts, "["+c.ContentType()+"]")
		}
	}
	return strings.Join(parts, "\n")
}
