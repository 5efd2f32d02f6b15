package postgres

import (
	"bytes"
	"strings"

	"github.com/tenon-mcp/tenon/builtin/sql/engine"
)

// array parses the text of an array, such as {1,NULL,"a b"} or {{1,2},{3,4}}.
func (r *runner) array(element uint32, s string) ([]any, bool) {
	if at := strings.Index(s, "={"); at > 0 && s[0] == '[' {
		s = s[at+1:] // bounds that do not begin with 1
	}
	p := &arrayParser{text: s, value: func(s string) any { return r.value(element, s) }}
	list, ok := p.list(0)
	return list, ok && p.at == len(s)
}

type arrayParser struct {
	text  string
	at    int
	value func(string) any
}

func (p *arrayParser) list(depth int) ([]any, bool) {
	if !p.take('{') || depth > 6 { // the server allows six dimensions
		return nil, false
	}
	list := []any{}
	if p.take('}') {
		return list, true
	}
	for {
		item, ok := p.item(depth)
		if !ok {
			return nil, false
		}
		list = append(list, item)
		if p.take('}') {
			return list, true
		}
		if !p.take(',') {
			return nil, false
		}
	}
}

func (p *arrayParser) take(c byte) bool {
	if p.at < len(p.text) && p.text[p.at] == c {
		p.at++
		return true
	}
	return false
}

func (p *arrayParser) item(depth int) (any, bool) {
	switch {
	case p.at >= len(p.text):
		return nil, false
	case p.text[p.at] == '{':
		return p.list(depth + 1)
	case p.text[p.at] == '"':
		return p.quoted()
	}
	end := strings.IndexAny(p.text[p.at:], ",}")
	if end < 0 {
		return nil, false
	}
	word := p.text[p.at : p.at+end]
	p.at += end
	if word == "NULL" {
		return nil, true
	}
	return p.value(word), true
}

func (p *arrayParser) quoted() (any, bool) {
	var b strings.Builder
	for p.at++; p.at < len(p.text); p.at++ {
		switch c := p.text[p.at]; c {
		case '"':
			p.at++
			return p.value(b.String()), true
		case '\\':
			if p.at++; p.at < len(p.text) {
				b.WriteByte(p.text[p.at])
			}
		default:
			b.WriteByte(c)
		}
	}
	return nil, false
}

// arrayLiteral converts a flat JSON list of numbers, words and nulls to an
// array literal. Anything else stays JSON.
func arrayLiteral(j engine.JSON) []byte {
	raw := bytes.TrimSpace(j)
	if len(raw) < 2 || raw[0] != '[' {
		return raw
	}
	var out bytes.Buffer
	inText := false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case inText:
			if c == '\\' {
				if i+1 < len(raw) && raw[i+1] != '"' && raw[i+1] != '\\' {
					return raw // escapes that an array does not know
				}
				out.WriteByte(c)
				i++
				c = raw[i]
			} else if c == '"' {
				inText = false
			}
			out.WriteByte(c)
		case c == '{':
			return raw
		case c == '[':
			out.WriteByte('{')
		case c == ']':
			out.WriteByte('}')
		default:
			inText = c == '"'
			out.WriteByte(c)
		}
	}
	return out.Bytes()
}
