package uritemplate

import (
	"strings"
	"unicode/utf8"
)

// An operator defines the text before, between and inside the values of an
// expression.
type operator struct {
	symbol   string // first character of the expression; empty for {name}
	lead     string // written once before the first value
	sep      byte   // between values
	named    bool   // values are written name=value
	bareName bool   // an empty value is written as the name alone, without =
	reserved bool   // values keep reserved characters and percent-triplets
	joint    string // between the elements of an exploded list that Match joins
}

var plain = &operator{sep: ',', joint: ","}

// operators are the operators with a symbol.
var operators = [...]operator{
	{symbol: "+", sep: ',', reserved: true, joint: ","},
	{symbol: "#", lead: "#", sep: ',', reserved: true, joint: ","},
	{symbol: ".", lead: ".", sep: '.', joint: "."},
	{symbol: "/", lead: "/", sep: '/', joint: "/"},
	{symbol: ";", lead: ";", sep: ';', named: true, bareName: true, joint: ","},
	{symbol: "?", lead: "?", sep: '&', named: true, joint: ","},
	{symbol: "&", lead: "&", sep: '&', named: true, joint: ","},
}

// operatorOf returns the operator with this symbol, or nil.
func operatorOf(symbol byte) *operator {
	for i := range operators {
		if operators[i].symbol[0] == symbol {
			return &operators[i]
		}
	}
	return nil
}

// A charset is a set of ASCII characters.
type charset string

func (s charset) has(c byte) bool { return strings.IndexByte(string(s), c) >= 0 }

const (
	letters  = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	digits   = "0123456789"
	marks    = "-._~"
	subDelim = "!$&'()*+,;="
	genDelim = ":/?#[]@"
)

const (
	unreserved charset = letters + digits + marks
	uriChars           = unreserved + subDelim + genDelim   // and percent-triplets
	varChars   charset = letters + digits + "_"             // and percent-triplets
	segment            = unreserved + "%" + subDelim + ":@" // one path segment
	query              = segment + "/?"                     // what RFC 3986 allows in a query
	anything           = uriChars + "%"                     // for + and #
	segments           = segment + "/"                      // several path segments
	noValue    charset = " \"<>\\^`{|}\x7f"                 // never in a URI, like controls
	written            = unreserved + "%,"                  // an expanded value without an operator
	hexDigits  charset = digits + "abcdefABCDEF"
	lowerHex   charset = "abcdef"
)

// accepts returns the characters that may follow the lead of the expression in a
// URI. They are more than an expansion has: a mail address in a path may have an
// @.
func (e *expression) accepts() charset {
	switch {
	case e.op.reserved:
		return anything
	case e.op.symbol == "?" || e.op.symbol == "&":
		return query
	case e.op.symbol == "/" && (len(e.vars) > 1 || e.vars[0].explode):
		return segments
	}
	return segment
}

// writes returns the characters of an expansion, including lead and separators.
func (e *expression) writes() charset {
	if e.op.reserved {
		return anything
	}
	s := written + charset(e.op.lead) + charset(e.op.sep)
	if e.op.named || e.vars[len(e.vars)-1].explode {
		s += "="
	}
	return s
}

// optional reports whether the expression may be absent from a URI.
func (e *expression) optional() bool { return e.op.lead != "" }

// triplet reports whether s has a percent sign and two hexadecimal digits at i.
func triplet(s string, i int) bool {
	return i+2 < len(s) && s[i] == '%' && hexDigits.has(s[i+1]) && hexDigits.has(s[i+2])
}

// cut returns the first n characters of s; n of 0 means all of them.
func cut(s string, n int) string {
	if n == 0 || len(s) <= n {
		return s
	}
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// appendEscaped appends s with every byte outside keep percent-encoded. With
// triplets it keeps percent-encoded bytes. Invalid UTF-8 becomes U+FFFD.
func appendEscaped(b []byte, s string, keep charset, triplets bool) []byte {
	const upperHex = "0123456789ABCDEF"
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	for i := range len(s) {
		c := s[i]
		if keep.has(c) || triplets && triplet(s, i) {
			b = append(b, c)
			continue
		}
		b = append(b, '%', upperHex[c>>4], upperHex[c&15])
	}
	return b
}

// A Value is the value of a variable: a string, a list of strings, or pairs of a
// name and a string. The zero Value is undefined, as are an empty list and no
// pairs.
type Value struct {
	kind  kind
	text  string
	list  []string
	pairs []Pair
}

type kind uint8

const (
	undefined kind = iota
	text
	list
	pairs
)

// A Pair is one entry of an associative value.
type Pair struct{ Name, Value string }

// String returns the Value of a string, which may be empty.
func String(s string) Value { return Value{kind: text, text: s} }

// List returns the Value of a list. It keeps the slice.
func List(items ...string) Value {
	if len(items) == 0 {
		return Value{}
	}
	return Value{kind: list, list: items}
}

// Pairs returns the Value of pairs in order. It keeps the slice.
func Pairs(entries ...Pair) Value {
	if len(entries) == 0 {
		return Value{}
	}
	return Value{kind: pairs, pairs: entries}
}

// Text returns the string; ok is false if the Value is not one.
func (v Value) Text() (s string, ok bool) { return v.text, v.kind == text }

// join returns a Value as one string.
func (v Value) join(sep string) string {
	switch v.kind {
	case list:
		return strings.Join(v.list, sep)
	case pairs:
		var b strings.Builder
		for i, p := range v.pairs {
			if i > 0 {
				b.WriteString(sep)
			}
			b.WriteString(p.Name + "=" + p.Value)
		}
		return b.String()
	}
	return v.text
}
