package show

import (
	"fmt"
	"strings"

	"github.com/tenon-mcp/tenon/internal/visible"
	"github.com/tenon-mcp/tenon/mcp"
)

// Tools prints a list of tools with their arguments, annotations and descriptions.
func (p *Printer) Tools(tools []*mcp.Tool) error {
	if !p.text() {
		return list(p, "tools", tools)
	}
	if len(tools) == 0 {
		return p.none("no tools")
	}
	for i, t := range tools {
		if i > 0 && !p.Quiet {
			p.line("")
		}
		head := p.Bold(clean(t.Name))
		if p.Quiet {
			p.line(clean(t.Name))
			continue
		}
		if args := signature(t.InputSchema); args != "" {
			head += " " + p.Dim(args)
		}
		p.lines(head, "", "  ")
		if marks := hints(t.Annotations); marks != "" {
			p.line("  " + p.paint(markStyle(t.Annotations), marks))
		}
		if t.Description != "" {
			p.lines(first(t.Description), "  ", "  ")
		}
	}
	return p.err
}

// Tool prints one tool in full.
func (p *Printer) Tool(t *mcp.Tool) error {
	if !p.text() {
		return p.Value(t)
	}
	title := p.Bold(clean(t.Name))
	if d := t.DisplayName(); d != "" && d != t.Name {
		title += "  " + clean(d)
	}
	p.line(title)
	if marks := hints(t.Annotations); marks != "" {
		p.line(p.paint(markStyle(t.Annotations), marks))
	}
	if t.Description != "" {
		p.line("")
		p.Markdown(visible.Text(t.Description)) // in full, as the model gets it
	}
	p.schema("Arguments", t.InputSchema)
	p.schema("Result", t.OutputSchema)
	return p.err
}

// Resources prints a list of resources.
func (p *Printer) Resources(all []*mcp.Resource) error {
	if !p.text() {
		return list(p, "resources", all)
	}
	if len(all) == 0 {
		return p.none("no resources")
	}
	t := &table{most: 48}
	for _, r := range all {
		if p.Quiet {
			p.line(clean(r.URI))
			continue
		}
		about := clean(r.DisplayName())
		if r.MIMEType != "" {
			about += p.Dim("  " + clean(r.MIMEType))
		}
		if r.Size != nil {
			about += p.Dim("  " + Bytes(*r.Size))
		}
		if d := first(r.Description); d != "" {
			about += "  " + d
		}
		t.add(p.Bold(clean(r.URI)), about)
	}
	p.table(t)
	return p.err
}

// Templates prints a list of resource templates.
func (p *Printer) Templates(all []*mcp.ResourceTemplate) error {
	if !p.text() {
		return list(p, "resourceTemplates", all)
	}
	t := &table{most: 48}
	for _, r := range all {
		if p.Quiet {
			p.line(clean(r.URITemplate))
			continue
		}
		about := clean(r.DisplayName())
		if d := first(r.Description); d != "" {
			about += "  " + p.Dim(d)
		}
		t.add(p.Bold(clean(r.URITemplate)), about)
	}
	p.table(t)
	return p.err
}

// Prompts prints a list of prompts and their arguments.
func (p *Printer) Prompts(all []*mcp.Prompt) error {
	if !p.text() {
		return list(p, "prompts", all)
	}
	if len(all) == 0 {
		return p.none("no prompts")
	}
	for i, r := range all {
		if p.Quiet {
			p.line(clean(r.Name))
			continue
		}
		if i > 0 {
			p.line("")
		}
		var args []string
		for _, a := range r.Arguments {
			name := clean(a.Name)
			if !a.Required {
				name += "?"
			}
			args = append(args, name)
		}
		p.lines(p.Bold(clean(r.Name))+" "+p.Dim(strings.Join(args, " ")), "", "  ")
		if r.Description != "" {
			p.lines(first(r.Description), "  ", "  ")
		}
		for _, a := range r.Arguments {
			if a.Description != "" {
				p.lines(p.Dim(clean(a.Name)+": ")+clean(a.Description), "    ", "      ")
			}
		}
	}
	return p.err
}

// none prints that a list is empty, in format text only.
func (p *Printer) none(what string) error {
	if !p.Quiet {
		p.line(p.Dim(what))
	}
	return p.err
}

// hints describes a tool's annotations, which are claims of the server.
func hints(a *mcp.ToolAnnotations) string {
	if a == nil {
		return ""
	}
	var marks []string
	switch {
	case a.ReadOnlyHint != nil && *a.ReadOnlyHint:
		marks = append(marks, "read-only")
	case a.DestructiveHint != nil && *a.DestructiveHint:
		marks = append(marks, "can delete or overwrite")
	case a.DestructiveHint != nil:
		marks = append(marks, "makes changes, deletes nothing")
	}
	if a.IdempotentHint != nil && *a.IdempotentHint && !a.ReadOnly() {
		marks = append(marks, "repeatable")
	}
	if a.OpenWorldHint != nil && *a.OpenWorldHint {
		marks = append(marks, "reaches outside")
	}
	return strings.Join(marks, " · ")
}

func markStyle(a *mcp.ToolAnnotations) string {
	switch {
	case a.ReadOnly():
		return green
	case a.DestructiveHint != nil && *a.DestructiveHint:
		return red
	}
	return yellow
}

// Bytes formats a size in B, kB, MB or GB.
func Bytes(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d B", n)
	case n < 1000*1000:
		return fmt.Sprintf("%.1f kB", float64(n)/1000)
	case n < 1000*1000*1000:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%.1f GB", float64(n)/1e9)
}
