package redact

import (
	"bytes"

	"github.com/tenon-mcp/tenon/internal/rawjson"
)

// maxInner is the maximum nesting of JSON in strings of JSON.
const maxInner = 4

// JSON returns a document without its secrets: the values of secret names, at any
// depth and also in lists of {name, value}, and in all other strings what
// [Values.Text] finds. The rest is unchanged. It treats data that is not JSON as
// text.
func (v *Values) JSON(raw []byte) []byte {
	if rawjson.Check(raw) != nil {
		s := string(raw)
		if clean := v.text(s); clean != s {
			return []byte(clean)
		}
		return raw
	}
	return v.document(raw, 0)
}

// KnownJSON returns a document without the known secrets in its strings and in the
// names of its members, however they are escaped. It hides nothing by its name. It
// treats data that is not JSON as text.
func (v *Values) KnownJSON(raw []byte) []byte {
	if rawjson.Check(raw) != nil {
		return []byte(v.Known(string(raw)))
	}
	w := walk{v: v, raw: raw, scope: knownValues}
	return w.document()
}

// NamedJSON returns a document without the values of secret names and without the
// known secrets. Unlike [Values.JSON] it does not search other strings for secrets,
// so that text and source code in a document stay unchanged. It treats data that is
// not JSON as text with known secrets.
func (v *Values) NamedJSON(raw []byte) []byte {
	if rawjson.Check(raw) != nil {
		return []byte(v.Known(string(raw)))
	}
	w := walk{v: v, raw: raw, scope: namedValues}
	return w.document()
}

// document is JSON for a valid document that is nested in inner strings.
func (v *Values) document(raw []byte, inner int) []byte {
	w := walk{v: v, raw: raw, inner: inner}
	return w.document()
}

// A scope says what counts as a secret in a document.
type scope int

const (
	allSecrets  scope = iota // known values, values of secret names, and secrets in text
	namedValues              // known values and values of secret names
	knownValues              // known values
)

// document returns the document with its secrets replaced.
func (w *walk) document() []byte {
	w.value(bytes.TrimSpace(w.raw))
	return w.replaced()
}

// replaced returns the document with the replacements; the document itself if
// there are none.
func (w *walk) replaced() []byte {
	raw := w.raw
	if len(w.cuts) == 0 {
		return raw
	}
	var out []byte
	last := 0
	for _, c := range w.cuts {
		out = append(append(out, raw[last:c.from]...), c.with...)
		last = c.to
	}
	return append(out, raw[last:]...)
}

// A walk visits a document once and collects the replacements in order.
type walk struct {
	v     *Values
	raw   []byte
	inner int
	cuts  []cut
	scope scope
}

type cut struct {
	from, to int
	with     []byte
}

// replace adds a replacement of a part of the document.
func (w *walk) replace(part []byte, text string) {
	from := cap(w.raw) - cap(part) // parts are slices of the document
	w.cuts = append(w.cuts, cut{from, from + len(part), rawjson.AppendString(nil, text)})
}

func (w *walk) value(raw []byte) {
	switch {
	case rawjson.IsObject(raw):
		w.object(raw)
	case rawjson.IsArray(raw):
		w.array(raw)
	case rawjson.IsString(raw):
		s, _ := rawjson.String(raw)
		clean := s
		switch {
		case w.scope == knownValues:
			clean = w.v.Known(s)
		case w.inner < maxInner && looksJSON(s) && rawjson.Check([]byte(s)) == nil:
			inner := walk{v: w.v, raw: []byte(s), inner: w.inner + 1, scope: w.scope}
			clean = string(inner.document())
		case w.scope == namedValues:
			clean = w.v.Known(s)
		default:
			clean = w.v.text(s)
		}
		if clean != s {
			w.replace(raw, clean)
		}
	}
}

func (w *walk) object(raw []byte) {
	value, what := named(raw)
	for m := rawjson.Object(raw); m.Next(); {
		name := string(m.Name)
		if len(name) >= MinValue {
			if clean := w.v.Known(name); clean != name {
				w.replace(quoted(raw[m.Start:]), clean)
			}
		}
		switch {
		case w.scope == knownValues:
			w.value(m.Value)
		case value != "" && name == value:
			w.hide(m.Value, what)
		case Name(name) && !isDSN(name):
			w.hide(m.Value, name)
		default:
			w.value(m.Value)
		}
	}
}

// quoted returns the string at the start of valid JSON, with its quotes.
func quoted(raw []byte) []byte {
	for i := 1; i < len(raw); i++ {
		switch raw[i] {
		case '\\':
			i++
		case '"':
			return raw[:i+1]
		}
	}
	return raw
}

// named returns the member of an object such as {"name": "Authorization",
// "value": "…"} that has a secret, and the secret's name, or "".
func named(raw []byte) (member, name string) {
	for m := rawjson.Object(raw); m.Next(); {
		switch string(m.Name) {
		case "name", "key", "header", "field", "variable":
			if s, ok := rawjson.String(m.Value); ok && Setting(s) {
				name = s
			}
		case "value", "values", "Value":
			member = string(m.Name)
		}
	}
	if name == "" || isDSN(name) {
		return "", ""
	}
	return member, name
}

// hide replaces the strings and numbers of a secret value. It keeps a schema, which
// only describes a value.
func (w *walk) hide(raw []byte, name string) {
	switch {
	case rawjson.IsObject(raw):
		if isSchema(raw) {
			w.object(raw)
			return
		}
		for m := rawjson.Object(raw); m.Next(); {
			w.hide(m.Value, string(m.Name))
		}
	case rawjson.IsArray(raw):
		for e := rawjson.Array(raw); e.Next(); {
			w.hide(e.Value, name)
		}
	case rawjson.IsString(raw):
		s, _ := rawjson.String(raw)
		if harmless(s) {
			return
		}
		if clean := w.v.Header(name, s); Setting(name) && clean != s { // keeps the scheme of credentials
			w.replace(raw, clean)
			return
		}
		w.replace(raw, Mark)
	case raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9':
		w.replace(raw, Mark)
	}
}

// isSchema reports whether an object is a JSON Schema, not a value.
func isSchema(raw []byte) bool {
	for m := rawjson.Object(raw); m.Next(); {
		switch string(m.Name) {
		case "$ref", "anyOf", "oneOf", "allOf", "enum", "const", "properties":
			return true
		case "type":
			if rawjson.IsArray(m.Value) {
				return true
			}
			switch s, _ := rawjson.String(m.Value); s {
			case "string", "number", "integer", "boolean", "object", "array", "null":
				return true
			}
		}
	}
	return false
}

// array visits the elements of an array, which may be the words of a command line
// or pairs of a name and its value.
func (w *walk) array(raw []byte) {
	previous := ""
	for e := rawjson.Array(raw); e.Next(); {
		if w.scope == knownValues {
			w.value(e.Value)
			continue
		}
		if name, value, ok := pair(e.Value); ok {
			w.hide(value, name)
			continue
		}
		s, isText := rawjson.String(e.Value)
		if isText && previous != "" {
			if clean := w.v.word(previous, s); clean != s {
				w.replace(e.Value, clean)
				previous = ""
				continue
			}
		}
		w.value(e.Value)
		previous = ""
		if isText && len(s) > 1 && s[0] == '-' {
			previous = s
		}
	}
}

// pair reads ["Authorization", "…"] in a list of such lists.
func pair(raw []byte) (name string, value []byte, ok bool) {
	if !rawjson.IsArray(raw) {
		return "", nil, false
	}
	n := 0
	for e := rawjson.Array(raw); e.Next(); n++ {
		s, text := rawjson.String(e.Value)
		switch {
		case n == 0 && text && Setting(s):
			name = s
		case n == 1 && text && name != "":
			value = e.Value
		default:
			return "", nil, false
		}
	}
	return name, value, value != nil
}
