package redact

import (
	"bytes"
	"regexp"
	"strings"
	"sync"

	"github.com/tenon-mcp/tenon/internal/rawjson"
)

// A Filter removes secrets from what passes a gateway: unlike [Values.JSON] it
// goes by values only, since "password: reset it in the settings" is a text that
// somebody needs. It is safe for concurrent use. Data without a secret costs a
// scan and is returned itself.
type Filter struct {
	// Values are known secrets; nil means none.
	Values *Values
	// Tokens says that texts of well-known shapes, such as bearer tokens, JSON Web
	// Tokens, private keys and keys of cloud services, are secrets.
	Tokens bool
	// Patterns match further secrets. A match is replaced as a whole, or only its
	// first group if the pattern has one.
	Patterns []*regexp.Regexp
	// Keep reports whether the value of a member of an object is not searched,
	// such as a binary one. Nil searches all.
	Keep func(object []byte, member string) bool
}

// Text returns a text without its secrets.
func (f *Filter) Text(s string) string {
	s = f.Values.Known(s)
	if f.Tokens {
		s = byPattern(s)
	}
	for _, p := range f.Patterns {
		s = replaceMatches(p, s)
	}
	return s
}

func replaceMatches(p *regexp.Regexp, s string) string {
	out := marker{s: s}
	for _, at := range p.FindAllStringSubmatchIndex(s, -1) {
		from, to := at[0], at[1]
		if len(at) > 2 && at[2] >= 0 {
			from, to = at[2], at[3]
		}
		if from < to {
			out.mark(from, to)
		}
	}
	return out.String()
}

// JSON returns a checked document without the secrets in its strings and in the
// names of its members. The document stays valid, and unchanged if it has none.
func (f *Filter) JSON(raw []byte) []byte {
	if !f.mayFind(raw) {
		return raw
	}
	w := filtering{Filter: f, walk: walk{raw: raw}}
	w.value(bytes.TrimSpace(raw))
	return w.replaced()
}

// tokenSearch finds what every token of a well-known shape contains, besides the
// names of authentication schemes.
var tokenSearch = sync.OnceValue(func() *search { return newSearch(beginnings) })

// mayFind reports whether a document may contain a secret, without decoding it.
func (f *Filter) mayFind(raw []byte) bool {
	if f.Values.In(raw) || f.Tokens && (tokenSearch().in(raw) || schemeIn(raw)) {
		return true
	}
	for _, p := range f.Patterns {
		if prefix, _ := p.LiteralPrefix(); len(prefix) < 3 || strings.ContainsAny(prefix, "\"\\\n\r\t") || bytes.Contains(raw, []byte(prefix)) {
			return true
		}
	}
	return hasOddEscapes(raw)
}

// hasOddEscapes reports whether a document has escapes that can be written
// without, so that a secret may look different.
func hasOddEscapes(raw []byte) bool {
	for {
		i := bytes.IndexByte(raw, '\\')
		if i < 0 || i+1 >= len(raw) {
			return false
		}
		if c := raw[i+1]; c == 'u' || c == '/' {
			return true
		}
		raw = raw[i+2:]
	}
}

// filtering is a walk for a Filter.
type filtering struct {
	*Filter
	walk
}

func (w *filtering) value(raw []byte) {
	switch {
	case rawjson.IsObject(raw):
		for m := rawjson.Object(raw); m.Next(); {
			w.text(quoted(raw[m.Start:]))
			if w.Keep == nil || !w.Keep(raw, string(m.Name)) {
				w.value(m.Value)
			}
		}
	case rawjson.IsArray(raw):
		for e := rawjson.Array(raw); e.Next(); {
			w.value(e.Value)
		}
	case rawjson.IsString(raw):
		w.text(raw)
	}
}

// text replaces the secrets in a string of the document.
func (w *filtering) text(raw []byte) {
	if bytes.IndexByte(raw, '\\') < 0 && !w.mayMatch(raw[1:len(raw)-1]) {
		return
	}
	s, _ := rawjson.String(raw)
	if clean := w.Text(s); clean != s {
		w.replace(raw, clean)
	}
}

// mayMatch reports whether a text may contain a secret.
func (f *Filter) mayMatch(text []byte) bool {
	if f.Values.In(text) || f.Tokens && (tokenSearch().in(text) || schemeIn(text)) {
		return true
	}
	for _, p := range f.Patterns {
		if p.Match(text) {
			return true
		}
	}
	return false
}
