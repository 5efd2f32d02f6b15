package show

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/tenon-mcp/tenon/internal/visible"
	"github.com/tenon-mcp/tenon/mcp"
)

// A Format is an output format.
type Format string

// The formats.
const (
	Text  Format = "text"
	JSON  Format = "json"
	JSONL Format = "jsonl"
	YAML  Format = "yaml"
)

// ParseFormat parses the name of a format.
func ParseFormat(s string) (Format, error) {
	switch f := Format(s); f {
	case Text, JSON, JSONL, YAML:
		return f, nil
	case "":
		return Text, nil
	}
	return "", fmt.Errorf("unknown format %q: use text, json, jsonl or yaml", s)
}

// A Printer prints values. It keeps the first error of its writer and prints
// nothing after it. It is not safe for concurrent use.
type Printer struct {
	// W is the output.
	W io.Writer
	// Format is the output format. Empty means text.
	Format Format
	// Width is the number of columns. 0 means 80, or no limit if Plain.
	Width int
	// Color enables colors.
	Color bool
	// Plain is for pipes and files: texts of the server are printed byte for
	// byte, and nothing is rendered or wrapped.
	Plain bool
	// Quiet prints only the requested values.
	Quiet bool

	err  error
	open bool // the last text did not end its line
}

// Err returns the first error of the writer.
func (p *Printer) Err() error { return p.err }

func (p *Printer) width() int {
	switch {
	case p.Width > 0:
		return p.Width
	case p.Plain:
		return math.MaxInt32
	}
	return 80
}

func (p *Printer) printf(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.W, format, args...)
	}
}

// verbatim prints a text unchanged, on a new line.
func (p *Printer) verbatim(text string) {
	p.EndLine()
	if p.err == nil && text != "" {
		_, p.err = io.WriteString(p.W, text)
		p.open = text[len(text)-1] != '\n'
	}
}

// EndLine ends the line of a text printed by verbatim.
func (p *Printer) EndLine() {
	if p.open {
		p.open = false
		p.printf("\n")
	}
}

func (p *Printer) line(s string) {
	p.EndLine()
	p.printf("%s\n", s)
}

// Wrap prints text of several lines with margins. The text must be safe.
func (p *Printer) Wrap(s, first, rest string) {
	p.lines(s, first, rest)
}

// lines prints wrapped text with margins.
func (p *Printer) lines(s, firstMargin, margin string) {
	p.EndLine()
	var out strings.Builder
	before := firstMargin
	wrap(s, p.width()-max(columns(firstMargin), columns(margin)), func(l string) bool {
		out.WriteString(strings.TrimRight(before+l, " "))
		out.WriteByte('\n')
		before = margin
		if out.Len() > 32<<10 {
			p.printf("%s", out.String())
			out.Reset()
		}
		return p.err == nil
	})
	p.printf("%s", out.String())
}

// text reports whether the format is for people.
func (p *Printer) text() bool { return p.Format == Text || p.Format == "" }

// Value prints any value in one of the formats for scripts.
func (p *Printer) Value(v any) error {
	raw, err := mcp.Marshal(v)
	if err != nil {
		return err
	}
	return p.raw(raw)
}

func (p *Printer) raw(raw json.RawMessage) error {
	if p.err != nil {
		return p.err
	}
	var out bytes.Buffer
	switch p.Format {
	case YAML:
		if err := appendYAML(&out, raw); err != nil {
			return err
		}
	case JSONL:
		if err := json.Compact(&out, raw); err != nil {
			return err
		}
		out.WriteByte('\n')
	default:
		if err := json.Indent(&out, raw, "", "  "); err != nil {
			return err
		}
		out.WriteByte('\n')
	}
	_, p.err = p.W.Write(escapeJSON(out.Bytes()))
	return p.err
}

// escapeJSON escapes control and direction characters in JSON or YAML, which
// decode to the same text.
func escapeJSON(b []byte) []byte {
	if !bytes.ContainsFunc(b, hidden) {
		return b
	}
	var out bytes.Buffer
	for _, r := range string(b) {
		switch {
		case !hidden(r):
			out.WriteRune(r)
		case r > 0xffff:
			hi, lo := (r-0x10000)>>10+0xd800, (r-0x10000)&0x3ff+0xdc00
			fmt.Fprintf(&out, `\u%04x\u%04x`, hi, lo)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
	}
	return out.Bytes()
}

func hidden(r rune) bool {
	switch {
	case r == '\n':
		return false
	case r < 0x20, r >= 0x7f && r < 0xa0:
		return true
	case r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r == 0x200e, r == 0x200f, r >= 0xe0000 && r <= 0xe007f:
		return true
	}
	return false
}

// list prints a list in one of the formats for scripts: as an object with one
// member, or item by item.
func list[T any](p *Printer, name string, items []*T) error {
	if p.Format != JSONL {
		if items == nil {
			items = []*T{}
		}
		return p.Value(map[string][]*T{name: items})
	}
	for _, item := range items {
		if err := p.Value(item); err != nil {
			return err
		}
	}
	return p.err
}

// clean makes a server's text safe for one line of a terminal.
func clean(s string) string { return visible.Line(strings.TrimSpace(s)) }

// first returns the first sentence or line of a description.
func first(s string) string {
	s = strings.TrimSpace(s)
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		s = strings.TrimSpace(s[:i])
	}
	if i := strings.Index(s, ". "); i >= 0 {
		s = s[:i+1]
	}
	return clean(s)
}

// The colors. They are never the only distinction.
const (
	reset     = "\x1b[0m"
	bold      = "\x1b[1m"
	dim       = "\x1b[2m"
	italic    = "\x1b[3m"
	underline = "\x1b[4m"
	red       = "\x1b[31m"
	green     = "\x1b[32m"
	yellow    = "\x1b[33m"
	magenta   = "\x1b[35m"
	cyan      = "\x1b[36m"
)

func (p *Printer) paint(style, s string) string {
	if !p.Color || s == "" {
		return s
	}
	return style + s + reset
}

// Bold, Dim, Red, Green and Yellow style text if colors are enabled. The text
// must be safe.
func (p *Printer) Bold(s string) string   { return p.paint(bold, s) }
func (p *Printer) Dim(s string) string    { return p.paint(dim, s) }
func (p *Printer) Red(s string) string    { return p.paint(red, s) }
func (p *Printer) Green(s string) string  { return p.paint(green, s) }
func (p *Printer) Yellow(s string) string { return p.paint(yellow, s) }
