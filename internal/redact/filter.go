package redact

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
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
	// Keep lists values that are not changed, such as binary ones.
	Keep []Kept
}

// Kept says that the value of Member is not changed in objects whose member If is
// a string, and one of Values if there are any.
type Kept struct {
	Member, If string
	Values     []string
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
	w.scan()
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

// filtering scans a document once, whatever its depth, and collects the
// replacements.
type filtering struct {
	*Filter
	walk
	open []container
}

// A container is an object or array that has not ended.
type container struct {
	isObject bool
	inValue  bool         // of an object: the name of the member was read
	names    []memberName // of an object
	has      uint64       // the conditions of Keep that are true, by bit
	kept     []keptCut
}

// A memberName is the name of a member, and the number of its replacement; -1 if
// it is not replaced.
type memberName struct {
	raw []byte
	cut int
}

// A keptCut is a replacement that does not count if one of the conditions is true.
type keptCut struct {
	cut        int
	conditions uint64
}

// scan visits all strings of the document, which is checked.
func (w *filtering) scan() {
	w.open = []container{{}}
	for i := 0; i < len(w.raw); i++ {
		in := &w.open[len(w.open)-1]
		switch w.raw[i] {
		case '{', '[':
			w.open = append(w.open, container{isObject: w.raw[i] == '{'})
		case '}', ']':
			w.close(in)
			w.open = w.open[:len(w.open)-1]
		case ',':
			in.inValue = false
		case '"':
			text := quoted(w.raw[i:])
			if in.isObject && !in.inValue {
				in.names = append(in.names, memberName{text, w.text(text)})
				in.inValue = true
			} else {
				w.value(in, text)
			}
			i += len(text) - 1
		}
	}
}

// value visits a string that is an element or the value of a member.
func (w *filtering) value(in *container, text []byte) {
	cut := w.text(text)
	if !in.isObject {
		return
	}
	var conditions uint64
	name := in.names[len(in.names)-1].raw
	for i, k := range w.Keep {
		if rawjson.EqualString(name, k.If) && (k.Values == nil || slices.ContainsFunc(k.Values, func(v string) bool { return rawjson.EqualString(text, v) })) {
			in.has |= 1 << i
		}
		if rawjson.EqualString(name, k.Member) {
			conditions |= 1 << i
		}
	}
	if cut >= 0 && conditions != 0 {
		in.kept = append(in.kept, keptCut{cut, conditions})
	}
}

// text replaces the secrets in a string and returns the number of the
// replacement; -1 if there is none.
func (w *filtering) text(raw []byte) int {
	if bytes.IndexByte(raw, '\\') < 0 && !w.mayMatch(raw[1:len(raw)-1]) {
		return -1
	}
	s, _ := rawjson.String(raw)
	clean := w.Text(s)
	if clean == s {
		return -1
	}
	w.replace(raw, clean)
	return len(w.cuts) - 1
}

// close decides what depends on a whole container: which values are kept, and
// that an object does not get two equal names.
func (w *filtering) close(c *container) {
	for _, k := range c.kept {
		if cut := &w.cuts[k.cut]; c.has&k.conditions != 0 {
			cut.with = w.raw[cut.from:cut.to]
		}
	}
	if !slices.ContainsFunc(c.names, func(n memberName) bool { return n.cut >= 0 }) {
		return
	}
	taken, last := map[string]bool{}, map[string]int{}
	for _, n := range c.names {
		if name, _ := rawjson.String(n.raw); n.cut < 0 {
			taken[name] = true
		}
	}
	for _, n := range c.names {
		if n.cut < 0 {
			continue
		}
		name, _ := rawjson.String(w.cuts[n.cut].with)
		unique := name
		for i := max(2, last[name]+1); taken[unique]; i++ {
			unique, last[name] = fmt.Sprintf("%s %d", name, i), i
		}
		taken[unique] = true
		w.cuts[n.cut].with = rawjson.AppendString(nil, unique)
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
