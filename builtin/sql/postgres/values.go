package postgres

import (
	"bytes"
	"encoding/hex"
	"math"
	"strconv"
	"strings"

	"github.com/tenon-mcp/tenon/builtin/sql/engine"
)

// The OIDs of types with special handling, which are the same in every
// installation.
const (
	oidBool, oidBytea, oidInt8, oidInt2, oidInt4, oidText, oidOID = 16, 17, 20, 21, 23, 25, 26
	oidJSON, oidXML, oidFloat4, oidFloat8, oidMoney               = 114, 142, 700, 701, 790
	oidDate, oidTime, oidTimestamp, oidTimestamptz                = 1082, 1083, 1114, 1184
	oidInterval, oidTimetz, oidNumeric, oidUUID, oidJSONB         = 1186, 1266, 1700, 2950, 3802
)

// A typeInfo describes how to parse the text of a type.
type typeInfo struct {
	name    string
	element uint32 // of an array
	base    uint32 // of a domain
}

var builtinTypes = map[uint32]typeInfo{
	oidBool: {name: "boolean"}, oidBytea: {name: "bytea"}, oidInt8: {name: "bigint"}, oidInt2: {name: "smallint"},
	oidInt4: {name: "integer"}, oidText: {name: "text"}, oidOID: {name: "oid"}, oidJSON: {name: "json"},
	oidFloat4: {name: "real"}, oidFloat8: {name: "double precision"}, oidMoney: {name: "money"}, oidXML: {name: "xml"},
	oidDate: {name: "date"}, oidTime: {name: "time"}, oidTimestamp: {name: "timestamp"}, oidTimestamptz: {name: "timestamptz"},
	oidInterval: {name: "interval"}, oidTimetz: {name: "timetz"}, oidNumeric: {name: "numeric"}, oidUUID: {name: "uuid"}, oidJSONB: {name: "jsonb"},
	18: {name: "\"char\""}, 19: {name: "name"}, 1042: {name: "character"}, 1043: {name: "character varying"}, 2278: {name: "void"},
	1000: {name: "boolean[]", element: oidBool}, 1005: {name: "smallint[]", element: oidInt2}, 1007: {name: "integer[]", element: oidInt4},
	1016: {name: "bigint[]", element: oidInt8}, 1009: {name: "text[]", element: oidText}, 1015: {name: "character varying[]", element: oidText},
	1003: {name: "name[]", element: oidText}, 1021: {name: "real[]", element: oidFloat4}, 1022: {name: "double precision[]", element: oidFloat8},
	1231: {name: "numeric[]", element: oidNumeric}, 1182: {name: "date[]", element: oidDate}, 1185: {name: "timestamptz[]", element: oidTimestamptz},
	1115: {name: "timestamp[]", element: oidTimestamp}, 2951: {name: "uuid[]", element: oidUUID}, 199: {name: "json[]", element: oidJSON}, 3807: {name: "jsonb[]", element: oidJSONB},
}

// value parses the text of a value.
func (r *runner) value(oid uint32, s string) any {
	t := r.types[oid]
	if t.base != 0 {
		oid = t.base
	}
	if t.element != 0 {
		if list, ok := r.array(t.element, s); ok {
			return list
		}
		return s
	}
	switch oid {
	case oidBool:
		return s == "t"
	case oidInt2, oidInt4, oidInt8, oidOID:
		if n, err := strconv.ParseInt(s, 10, 64); err == nil {
			return n
		}
	case oidFloat4, oidFloat8:
		return float(s)
	case oidNumeric:
		return engine.Decimal(s)
	case oidBytea:
		if b, err := hex.DecodeString(strings.TrimPrefix(s, `\x`)); err == nil {
			return engine.Bytes{Head: b, Size: int64(len(b))}
		}
	case oidJSON, oidJSONB:
		return engine.JSON(s)
	case oidTimestamp, oidTimestamptz:
		return iso(s)
	}
	return s
}

func float(s string) any {
	switch s {
	case "NaN":
		return math.NaN()
	case "Infinity":
		return math.Inf(1)
	case "-Infinity":
		return math.Inf(-1)
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return s
	}
	return f
}

// iso converts "2024-05-01 10:00:00.5+02" to an ISO 8601 time. Years BC and
// infinity are not changed.
func iso(s string) string {
	if len(s) < 19 || s[10] != ' ' || strings.HasSuffix(s, " BC") {
		return s
	}
	s = s[:10] + "T" + s[11:]
	if at := strings.LastIndexAny(s, "+-"); at > 18 {
		switch zone := s[at:]; {
		case zone == "+00":
			return s[:at] + "Z"
		case len(zone) == 3:
			return s + ":00"
		}
	}
	return s
}

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
				if i+1 == len(raw) || raw[i+1] != '"' && raw[i+1] != '\\' {
					return raw // an escape that an array does not know, or none
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
