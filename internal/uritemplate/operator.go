package uritemplate

// An operator is what stands first in an expression: it decides what is
// written before, between and inside the values.
type operator struct {
	symbol   string // as in the template; empty for a plain {name}
	lead     string // written once before the first value
	sep      byte   // between values
	named    bool   // values are written name=value
	bareName bool   // an empty value is written as the name alone, without =
	reserved bool   // values keep reserved characters and percent-triplets
	joint    string // between the elements of an exploded list that Match joins
}

var plain = &operator{sep: ',', joint: ","}

// operators holds the operators by their symbol.
var operators = map[byte]*operator{
	'+': {symbol: "+", sep: ',', reserved: true, joint: ","},
	'#': {symbol: "#", lead: "#", sep: ',', reserved: true, joint: ","},
	'.': {symbol: ".", lead: ".", sep: '.', joint: "."},
	'/': {symbol: "/", lead: "/", sep: '/', joint: "/"},
	';': {symbol: ";", lead: ";", sep: ';', named: true, bareName: true, joint: ","},
	'?': {symbol: "?", lead: "?", sep: '&', named: true, joint: ","},
	'&': {symbol: "&", lead: "&", sep: '&', named: true, joint: ","},
}

// A charset is a set of ASCII characters.
type charset [128]bool

func (s *charset) has(c byte) bool { return c < 128 && s[c] }

// with returns the set with more characters in it.
func (s charset) with(chars string) *charset {
	for i := range len(chars) {
		s[chars[i]] = true
	}
	return &s
}

const (
	letters  = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	digits   = "0123456789"
	marks    = "-._~"
	subDelim = "!$&'()*+,;="
	genDelim = ":/?#[]@"
)

var (
	unreserved = charset{}.with(letters + digits + marks)
	uriChars   = unreserved.with(subDelim + genDelim)   // and percent-triplets
	varChars   = charset{}.with(letters + digits + "_") // and percent-triplets
	segment    = unreserved.with("%" + subDelim + ":@") // one path segment
	query      = segment.with("/?")                     // what RFC 3986 allows in a query
	anything   = uriChars.with("%")                     // for + and #
	segments   = segment.with("/")                      // several path segments
	noValue    = charset{}.with(" \"<>\\^`{|}\x7f")     // never in a URI, like controls
	written    = unreserved.with("%,")                  // what a value without an operator can become
	hexDigits  = charset{}.with(digits + "abcdefABCDEF")
	lowerHex   = charset{}.with("abcdef")
)

// accepts returns what may follow the lead of the expression in a URI. It is
// wider than what Expand writes: a person's mail address typed into a path
// keeps its @.
func (e *expression) accepts() *charset {
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

// writes returns what Expand can write for the expression, lead and
// separators included.
func (e *expression) writes() *charset {
	if e.op.reserved {
		return anything
	}
	s := written.with(e.op.lead + string(rune(e.op.sep)))
	if e.op.named || e.vars[len(e.vars)-1].explode {
		s = s.with("=")
	}
	return s
}

// optional reports whether the expression may be absent from a URI.
func (e *expression) optional() bool { return e.op.lead != "" }

// triplet reports whether a percent sign and two hexadecimal digits stand at i.
func triplet(s string, i int) bool {
	return i+2 < len(s) && s[i] == '%' && hexDigits.has(s[i+1]) && hexDigits.has(s[i+2])
}
