package uritemplate

import "strings"

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
