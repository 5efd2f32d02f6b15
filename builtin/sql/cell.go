package sql

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/builtin/sql/engine"
	"github.com/tenon-mcp/tenon/internal/rawjson"
)

// A cell is one value in two forms: JSON for programs and text for models.
type cell struct {
	json json.RawMessage
	text string
	cut  bool // the value was cut
}

// exactInteger is the largest integer that every JSON parser keeps exactly.
const exactInteger = 1<<53 - 1

// newCell formats a value, at most limit bytes of it.
func newCell(v any, limit int) cell {
	switch v := v.(type) {
	case nil:
		return cell{json: json.RawMessage("null"), text: "NULL"}
	case bool:
		return same(strconv.FormatBool(v))
	case int64:
		if v > exactInteger || v < -exactInteger {
			return quotedNumber(strconv.FormatInt(v, 10))
		}
		return same(strconv.FormatInt(v, 10))
	case uint64:
		if v > exactInteger {
			return quotedNumber(strconv.FormatUint(v, 10))
		}
		return same(strconv.FormatUint(v, 10))
	case float64:
		return floatCell(v)
	case engine.Decimal:
		if len(v) > limit { // some engines allow 100,000 digits
			return textCell(string(v), limit)
		}
		return quotedNumber(string(v))
	case engine.Bytes:
		return bytesCell(v, limit)
	case engine.JSON:
		if len(v) <= limit && sendable(v) {
			return cell{json: json.RawMessage(v), text: escape(string(v))}
		}
		return textCell(string(v), limit)
	case []any:
		return listCell(v, limit)
	case string:
		return textCell(v, limit)
	}
	return textCell(fmt.Sprint(v), limit)
}

// maxNested is the maximum depth of JSON that is sent as JSON.
const maxNested = 100

// sendable reports whether JSON of an engine can be part of a message.
// Engines may store JSON that parsers refuse: duplicate names, unpaired
// surrogates, and unlimited depth.
func sendable(v engine.JSON) bool {
	if err := rawjson.Check(v); err != nil {
		return false
	}
	depth, quoted := 0, false
	for i := 0; i < len(v); i++ {
		switch c := v[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{':
			if depth++; depth > maxNested {
				return false
			}
		case c == ']' || c == '}':
			depth--
		}
	}
	return true
}

func same(s string) cell { return cell{json: json.RawMessage(s), text: s} }

// quotedNumber returns a number as a string, so that no JSON parser rounds it.
func quotedNumber(s string) cell { return cell{json: json.RawMessage(`"` + s + `"`), text: s} }

func floatCell(f float64) cell {
	switch {
	case math.IsNaN(f):
		return quotedNumber("NaN")
	case math.IsInf(f, 1):
		return quotedNumber("Infinity")
	case math.IsInf(f, -1):
		return quotedNumber("-Infinity")
	}
	raw, err := json.Marshal(f)
	if err != nil {
		return textCell(fmt.Sprint(f), 64)
	}
	return same(string(raw))
}

func bytesCell(b engine.Bytes, limit int) cell {
	head := b.Head[:min(len(b.Head), limit*3/4)]
	cut := int64(len(head)) < b.Size
	value := map[string]any{"base64": base64.StdEncoding.EncodeToString(head), "size": b.Size}
	if cut {
		value["cut"] = true
	}
	raw, _ := json.Marshal(value) // a map of these cannot fail
	const shown = 16
	text := `\x` + hex.EncodeToString(head[:min(len(head), shown)])
	if b.Size > shown {
		text += fmt.Sprintf("… (%d bytes)", b.Size)
	}
	return cell{json: raw, text: text, cut: cut}
}

func textCell(s string, limit int) cell {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	if len(s) <= limit {
		raw := quoteJSON(s)
		if s == "" || s == "NULL" {
			return cell{json: raw, text: "'" + s + "'"} // unlike a NULL value
		}
		return cell{json: raw, text: escape(s)}
	}
	head := s[:limit]
	for !utf8.ValidString(head) {
		head = head[:len(head)-1]
	}
	size := utf8.RuneCountInString(s)
	raw := append(append(json.RawMessage(`{"text":`), quoteJSON(head)...), fmt.Sprintf(`,"size":%d,"cut":true}`, size)...)
	return cell{json: raw, text: escape(head) + fmt.Sprintf("… (%d characters)", size), cut: true}
}

func listCell(list []any, limit int) cell {
	out := cell{json: json.RawMessage("[")}
	for i, v := range list {
		if len(out.json) > limit {
			out.cut = true
			out.json = append(out.json, fmt.Sprintf(`,{"text":"%d more","cut":true}`, len(list)-i)...)
			break
		}
		if i > 0 {
			out.json = append(out.json, ',')
		}
		item := newCell(v, limit)
		out.json = append(out.json, item.json...)
		out.cut = out.cut || item.cut
	}
	out.json = append(out.json, ']')
	out.text = escape(string(out.json))
	return out
}

func quoteJSON(s string) json.RawMessage {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string cannot fail
	return json.RawMessage(strings.TrimSuffix(b.String(), "\n"))
}

// escape escapes characters that break lines or columns or control a terminal.
func escape(s string) string {
	if !strings.ContainsFunc(s, special) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '|':
			b.WriteString(`\|`)
		case special(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// special reports whether r is escaped: control characters, direction marks
// and invisible tags.
func special(r rune) bool {
	return r == '|' || unicode.IsControl(r) || r == '\u2028' || r == '\u2029' ||
		r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069' || r >= 0xe0000 && r <= 0xe007f
}
