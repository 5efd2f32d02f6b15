package mcptest

import (
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/internal/rawjson"
)

// String returns the pattern in the form in which it is parsed.
func (p *pattern) String() string {
	var b strings.Builder
	p.write(&b)
	return b.String()
}

func (p *pattern) write(b *strings.Builder) {
	switch p.kind {
	case scalar:
		b.WriteString(p.text)
	case anything:
		b.WriteByte('*')
	case capture:
		b.WriteString("$" + p.text)
	case object:
		b.WriteByte('{')
		for i, part := range p.parts {
			if i > 0 {
				b.WriteByte(',')
			}
			b.Write(rawjson.AppendString(nil, p.names[i]))
			b.WriteByte(':')
			part.write(b)
		}
		p.writeEnd(b, '}')
	case array:
		b.WriteByte('[')
		for i, part := range p.parts {
			if i > 0 {
				b.WriteByte(',')
			}
			part.write(b)
		}
		p.writeEnd(b, ']')
	}
}

func (p *pattern) writeEnd(b *strings.Builder, end byte) {
	if p.open {
		if len(p.parts) > 0 {
			b.WriteByte(',')
		}
		b.WriteString("…")
	}
	b.WriteByte(end)
}

// exactly returns the pattern of one value.
func exactly(got []byte) *pattern {
	p := &pattern{text: string(rawjson.AppendCompact(nil, got))}
	switch {
	case rawjson.IsObject(got):
		p.kind, p.text = object, ""
		for m := rawjson.Object(got); m.Next(); {
			p.names, p.parts = append(p.names, string(m.Name)), append(p.parts, exactly(m.Value))
		}
	case rawjson.IsArray(got):
		p.kind, p.text = array, ""
		for e := rawjson.Array(got); e.Next(); {
			p.parts = append(p.parts, exactly(e.Value))
		}
	}
	return p
}

// merge returns p with as few changes as needed to match got.
func (p *pattern) merge(got []byte) *pattern {
	switch {
	case p.kind == anything || p.kind == capture:
		return p
	case p.kind == object && rawjson.IsObject(got):
		return p.mergeObject(got)
	case p.kind == array && rawjson.IsArray(got):
		q := &pattern{kind: array, open: p.open}
		i := 0
		for e := rawjson.Array(got); e.Next(); i++ {
			if i < len(p.parts) {
				q.parts = append(q.parts, p.parts[i].merge(e.Value))
			} else if !p.open {
				q.parts = append(q.parts, exactly(e.Value))
			}
		}
		return q
	case p.kind == scalar && sameScalar([]byte(p.text), got):
		return p
	}
	return exactly(got)
}

func (p *pattern) mergeObject(got []byte) *pattern {
	q := &pattern{kind: object, open: p.open}
	for i, name := range p.names {
		if v := rawjson.Lookup(got, name); v != nil {
			q.names, q.parts = append(q.names, name), append(q.parts, p.parts[i].merge(v))
		}
	}
	if p.open {
		return q
	}
	for m := rawjson.Object(got); m.Next(); {
		if name := string(m.Name); !slices.Contains(p.names, name) {
			q.names, q.parts = append(q.names, name), append(q.parts, exactly(m.Value))
		}
	}
	return q
}
