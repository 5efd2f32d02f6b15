package redact

import (
	"encoding/base64"
	"encoding/json"
	"math/bits"
	"net/url"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/internal/rawjson"
)

// An index finds secrets in data, in all their forms, however many there are.
// Adding and removing one takes the same time for any number of others.
//
// Each form of a secret has an anchor: MinValue bytes of it, which are looked up
// at every position of the data. Only where they are found, the whole form is
// made again and compared, so that forms need no memory.
type index struct {
	anchors []*anchor // by hash; a power of two
	shift   int       // of the hash
	n       int       // anchors
}

// An anchor is a part of one form of a secret.
type anchor struct {
	key    uint64 // the bytes
	secret string
	form   int16 // in forms
	size   int32 // of the form, in bytes
	end    int32 // where the anchor ends in the form
	next   *anchor
}

// forms are the ways to write a secret: as it is, as in JSON, in a URL and in
// base64. An empty text means that the secret is not looked for in a form.
var forms = slices.Concat([]func(string) string{
	func(s string) string { return s },
	func(s string) string {
		quoted := string(rawjson.AppendString(nil, s))
		return quoted[1 : len(quoted)-1]
	},
	func(s string) string {
		quoted, err := json.Marshal(s) // also escapes <, > and &
		if err != nil {
			return ""
		}
		return strings.Trim(string(quoted), `"`)
	},
	url.QueryEscape,
	func(s string) string { return lowerEscapes(url.QueryEscape(s)) },
	url.PathEscape,
	func(s string) string { return lowerEscapes(url.PathEscape(s)) },
	inUserinfo,
	func(s string) string { return lowerEscapes(inUserinfo(s)) },
}, base64Forms(base64.RawStdEncoding), base64Forms(base64.RawURLEncoding))

func inUserinfo(s string) string { return url.UserPassword("", s).String()[1:] }

// lowerEscapes replaces %2F by %2f.
func lowerEscapes(s string) string {
	b := []byte(s)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i+1:i+3], strings.ToLower(s[i+1:i+3]))
			i += 2
		}
	}
	return string(b)
}

// base64Forms returns the forms of which base64 of any text that contains the
// secret has one: one for each offset in a group of three bytes, without the
// characters that depend on neighbouring bytes; and the one of the secret alone.
func base64Forms(enc *base64.Encoding) []func(string) string {
	all := []func(string) string{func(s string) string {
		if len(s) < minEncoded {
			return ""
		}
		return enc.EncodeToString([]byte(s))
	}}
	for before := range 3 {
		all = append(all, func(s string) string {
			if len(s) < minEncoded {
				return ""
			}
			text := enc.EncodeToString([]byte(strings.Repeat("\x00", before) + s))
			from := (before*8 + 5) / 6 // characters with bits of preceding bytes
			to := (before + len(s)) * 8 / 6
			return text[from:to]
		})
	}
	return all
}

// add adds a secret of at least MinValue bytes.
func (x *index) add(secret string) {
	var known []string
	for i, form := range forms {
		text := form(secret)
		if len(text) < MinValue || slices.Contains(known, text) {
			continue
		}
		known = append(known, text)
		if x.n >= len(x.anchors)/4 {
			x.grow()
		}
		end := x.rarest(text)
		x.put(&anchor{key: keyAt(text, end-MinValue), secret: secret, form: int16(i), size: int32(len(text)), end: int32(end)})
		x.n++
	}
}

// rarest returns where in a text an anchor ends that few other texts have: tokens
// of one issuer begin alike.
func (x *index) rarest(text string) int {
	best, least := 0, -1
	for _, end := range anchorEnds(text) {
		n := 0
		for a := x.anchors[x.slot(keyAt(text, end-MinValue))]; a != nil; a = a.next {
			n++
		}
		if least < 0 || n < least {
			best, least = end, n
		}
	}
	return best
}

// anchorEnds returns where anchors may end in a text.
func anchorEnds(text string) [3]int {
	return [...]int{len(text), (len(text) + MinValue) / 2, MinValue}
}

func (x *index) put(a *anchor) {
	at := &x.anchors[x.slot(a.key)]
	a.next, *at = *at, a
}

// grow makes room for four times as many anchors.
func (x *index) grow() {
	old := x.anchors
	x.anchors = make([]*anchor, max(256, 4*len(old)))
	x.shift = 64 - bits.TrailingZeros(uint(len(x.anchors)))
	for _, a := range old {
		for a != nil {
			next := a.next
			x.put(a)
			a = next
		}
	}
}

// remove removes a secret that was added.
func (x *index) remove(secret string) {
	for _, form := range forms {
		text := form(secret)
		if len(text) < MinValue {
			continue
		}
		for _, end := range anchorEnds(text) {
			at := &x.anchors[x.slot(keyAt(text, end-MinValue))]
			for *at != nil {
				if (*at).secret == secret {
					*at = (*at).next
					x.n--
					continue
				}
				at = &(*at).next
			}
		}
	}
}

// slot returns the place of a key.
func (x *index) slot(key uint64) uint64 { return key * hashFactor >> x.shift }

const hashFactor = 0x9E3779B97F4A7C15

// keyAt returns the key of the anchor that begins at i.
func keyAt[T string | []byte](data T, i int) (key uint64) {
	for n := range MinValue {
		key |= uint64(data[i+n]) << (8 * n)
	}
	return key
}

// next returns where the next secret in data is whose anchor begins at from or
// later, and where its anchor begins; ok is false if there is none.
func next[T string | []byte](x *index, data T, from int) (start, end, at int, ok bool) {
	if x.n == 0 {
		return 0, 0, 0, false
	}
	anchors, shift := x.anchors, x.shift&63
	var key uint64
	for i := from; i < len(data); i++ {
		key = key>>8 | uint64(data[i])<<(8*MinValue-8)
		if a := anchors[key*hashFactor>>shift]; a != nil && i >= from+MinValue-1 {
			if start, end, ok := match(a, data, i+1-MinValue, key); ok {
				return start, end, i + 1 - MinValue, true
			}
		}
	}
	return 0, 0, 0, false
}

// match returns what the secrets with an anchor at i cover. a is the first anchor
// that may be there.
func match[T string | []byte](a *anchor, data T, i int, key uint64) (start, end int, ok bool) {
	for ; a != nil; a = a.next {
		from := i + MinValue - int(a.end)
		to := from + int(a.size)
		if a.key != key || from < 0 || to > len(data) || ok && start <= from && to <= end {
			continue
		}
		if string(data[from:to]) != forms[a.form](a.secret) {
			continue
		}
		if !ok {
			start, end, ok = from, to, true
		}
		start, end = min(start, from), max(end, to)
	}
	return start, end, ok
}

// replace returns a text with Mark instead of the secrets. Secrets that overlap
// become one Mark.
func (x *index) replace(s string) string {
	start, end, at, ok := next(x, s, 0)
	if !ok {
		return s
	}
	type span struct{ from, to int }
	var spans []span
	for ok {
		spans = append(spans, span{start, end})
		start, end, at, ok = next(x, s, at+1)
	}
	slices.SortFunc(spans, func(a, b span) int { return a.from - b.from })
	out := marker{s: s}
	open := spans[0]
	for _, p := range spans[1:] {
		if p.from < open.to {
			open.to = max(open.to, p.to)
			continue
		}
		out.mark(open.from, open.to)
		open = p
	}
	out.mark(open.from, open.to)
	return out.String()
}
