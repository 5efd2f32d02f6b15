// Package rulematch matches the patterns of permission rules. The host and the
// gateway decide by the same rules, so that a rule means the same in both.
package rulematch

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/internal/rawjson"
)

// Glob reports whether pattern matches all of text. * matches any text, including
// slashes, and ? one character. It takes at most time proportional to the product
// of both lengths.
func Glob(pattern, text string) bool {
	if pattern == "*" {
		return true
	}
	star, from := -1, 0 // the rest of pattern after the last star, and where its match in text begins
	i, j := 0, 0
	for j < len(text) {
		t, width := utf8.DecodeRuneInString(text[j:])
		p, next := rune(-1), 0
		if i < len(pattern) {
			p, next = utf8.DecodeRuneInString(pattern[i:])
		}
		switch {
		case p == '*':
			i++
			star, from = i, j
		case p == '?' || p == t:
			i, j = i+next, j+width
		case star >= 0:
			_, skipped := utf8.DecodeRuneInString(text[from:])
			from += skipped
			i, j = star, from
		default:
			return false
		}
	}
	return strings.Trim(pattern[i:], "*") == ""
}

// Args reports whether the arguments of a call match all patterns, by argument
// name. Args is a JSON object; nil means none. A pattern is compared with the
// value of a string, or with other values as compact JSON.
//
// If the rule allows, arguments do not match that are not JSON, that have ".." in
// a path, also percent-encoded, or that have the argument in another spelling
// (Path for path), which a careless server may take for it. Other rules match
// arguments that are not JSON, and an argument in any spelling.
func Args(patterns map[string]string, args []byte, allow bool) bool {
	if len(patterns) == 0 {
		return true
	}
	args = bytes.TrimLeft(args, " \t\r\n")
	if rawjson.Check(args) != nil || !rawjson.IsObject(args) {
		return !allow && len(args) > 0
	}
	for name, pattern := range patterns {
		if !argument(name, pattern, args, allow) {
			return false
		}
	}
	return true
}

// argument reports whether one argument matches.
func argument(name, pattern string, args []byte, allow bool) bool {
	matched := false
	for m := rawjson.Object(args); m.Next(); {
		exact := string(m.Name) == name
		switch {
		case !exact && !strings.EqualFold(string(m.Name), name):
			continue
		case allow && (!exact || !allowed(pattern, m.Value)):
			return false
		case allow || Glob(pattern, textOf(m.Value)):
			matched = true
		}
	}
	return matched
}

func allowed(pattern string, raw []byte) bool {
	value := textOf(raw)
	return !Climbs(value) && Glob(pattern, value)
}

// textOf returns the value of a string, and other values as compact JSON.
func textOf(raw []byte) string {
	if value, ok := rawjson.String(raw); ok {
		return value
	}
	return string(rawjson.AppendCanonical(nil, raw))
}

// decodings is how often a value is percent-decoded. A value that is encoded more
// often is no honest path.
const decodings = 4

// Climbs reports whether a path or URL contains "..", also percent-encoded several
// times.
func Climbs(value string) bool {
	for range decodings {
		if slices.Contains(strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune(`/\"?#&;=`, r) }), "..") {
			return true
		}
		decoded := percentDecoded(value)
		if decoded == value {
			return false
		}
		value = decoded
	}
	return true
}

// URI reports whether a URI matches a pattern. If the rule allows, a URI with ".."
// does not match. Other rules match such a URI, and a URI in another spelling: in
// other case, percent-encoded, or with slashes, dots, spaces or a name of this
// machine that servers may ignore.
func URI(pattern, uri string, allow bool) bool {
	if allow {
		return Glob(pattern, uri) && !Climbs(uri)
	}
	if Glob(pattern, uri) || Climbs(uri) {
		return true
	}
	pattern = strings.ToLower(pattern)
	plain := simplified(pattern)
	for range decodings {
		lower := strings.ToLower(uri)
		if Glob(pattern, lower) || Glob(plain, simplified(lower)) {
			return true
		}
		decoded := percentDecoded(uri)
		if decoded == uri {
			return false
		}
		uri = decoded
	}
	return true
}

// simplified returns a URI in lower case without what servers may ignore: repeated
// slashes, segments that are a dot, dots and spaces at the end of a segment,
// backslashes instead of slashes, and the host of a file on this machine.
func simplified(uri string) string {
	scheme, rest, ok := strings.Cut(strings.TrimSpace(uri), ":")
	if !ok { // a pattern
		scheme, rest = "", uri
	}
	rest = strings.ReplaceAll(rest, "\\", "/")
	if scheme == "file" {
		for _, host := range []string{"//localhost/", "//127.0.0.1/", "//[::1]/"} {
			rest = strings.Replace(rest, host, "/", 1)
		}
	}
	var segments []string
	for segment := range strings.SplitSeq(rest, "/") {
		if segment = strings.TrimRight(segment, ". "); segment != "" {
			segments = append(segments, segment)
		}
	}
	path := strings.Join(segments, "/")
	if !ok {
		return path
	}
	return scheme + ":/" + path
}

// percentDecoded decodes each %XX once and keeps other percent signs.
func percentDecoded(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if c, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				b = append(b, byte(c))
				i += 2
				continue
			}
		}
		b = append(b, s[i])
	}
	return string(b)
}
