package redact

import (
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/internal/rawjson"
)

// patterns matches secrets that need no name. The first group, if any, is the
// prefix before the secret.
var patterns = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`((?i:\b(?:bearer|basic|dpop)\s+))[A-Za-z0-9._~+/=-]{12,}` +
		`|\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*` + // JWT
		`|\b(?:sk|pk|rk)-(?:[A-Za-z]+-)*[A-Za-z0-9_-]{20,}` +
		`|\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_[A-Za-z0-9_]{20,}|\bglpat-[A-Za-z0-9_-]{16,}` +
		`|\bxox[abeoprs]-[A-Za-z0-9-]{10,}|\bAKIA[0-9A-Z]{16}\b|\bAIza[A-Za-z0-9_-]{30,}` +
		`|-----BEGIN [A-Z ]*PRIVATE KEY-----[^-]*(?:-----END [A-Z ]*PRIVATE KEY-----)?`)
})

// Text returns a text without its secrets: the known values, values of secret
// names ("password=…", "--token …", "Authorization: …", `"api_key": "…"`),
// passwords and secret parameters of URLs and DSNs, and texts that look like a
// secret (bearer tokens, JWTs, private keys, well-known key prefixes). It treats a
// JSON text like [Values.JSON].
func (v *Values) Text(s string) string {
	if looksJSON(s) {
		if raw := []byte(s); rawjson.Check(raw) == nil {
			return string(v.document(raw, 1))
		}
	}
	return v.text(s)
}

// text is Text for text that is not JSON.
func (v *Values) text(s string) string {
	if len(s) < 3 {
		return s
	}
	s = v.Known(s)
	if strings.Contains(s, "@") {
		s = passwords(s)
	}
	s = pairs(s)
	if strings.Contains(s, "--") {
		s = flags(s)
	}
	return byPattern(s)
}

func looksJSON(s string) bool {
	s = strings.TrimLeft(s, " \t\r\n")
	return len(s) > 1 && (s[0] == '{' || s[0] == '[')
}

// beginnings are parts of text that every match of patterns contains, besides the
// names of authentication schemes.
var beginnings = []string{"eyJ", "sk-", "pk-", "rk-", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "xox", "AKIA", "AIza", "-----BEGIN "}

// mayMatch reports whether patterns can match. It is much faster than patterns,
// and false for most text.
func mayMatch(s string) bool {
	for _, b := range beginnings {
		if strings.Contains(s, b) {
			return true
		}
	}
	return schemeIn(s)
}

// schemeIn reports whether s may contain the name of an authentication scheme.
func schemeIn[T string | []byte](s T) bool {
	for i := range len(s) - 3 { // bearer, basic and dpop in any case; U+017F counts as an s
		switch s[i] | 0x20 {
		case 'b':
			if c := s[i+2]; s[i+1]|0x20 == 'a' && (c|0x20 == 's' || c == "\u017f"[0]) || s[i+1]|0x20 == 'e' && c|0x20 == 'a' {
				return true
			}
		case 'd':
			if s[i+1]|0x20 == 'p' && s[i+2]|0x20 == 'o' {
				return true
			}
		}
	}
	return false
}

func byPattern(s string) string {
	if len(s) < 14 || !mayMatch(s) {
		return s
	}
	out := marker{s: s}
	for _, at := range patterns().FindAllStringSubmatchIndex(s, -1) {
		from := at[0]
		if at[2] >= 0 {
			from = at[3]
			if at[1]-from < 16 && word(s[from:at[1]]) || reference(s[from:at[1]]) { // "basic understanding"
				continue
			}
		}
		out.mark(from, at[1])
	}
	return out.String()
}

// A marker replaces parts of s, in order, by Mark.
type marker struct {
	s    string
	b    strings.Builder
	last int // end of the last replaced part
}

func (m *marker) mark(from, to int) {
	m.b.WriteString(m.s[m.last:from])
	m.b.WriteString(Mark)
	m.last = to
}

func (m *marker) String() string {
	if m.last == 0 {
		return m.s
	}
	return m.b.String() + m.s[m.last:]
}

// word reports whether a text is an ordinary word rather than a generated value.
func word(s string) bool {
	s = strings.TrimRight(s, ".,:;!?)")
	if s == "" {
		return true
	}
	for i, c := range []byte(s) {
		if !(c >= 'a' && c <= 'z' || i == 0 && c >= 'A' && c <= 'Z') {
			return false
		}
	}
	return true
}

var variables = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\$\{[A-Za-z_][\w:.-]*?\}|\$[A-Za-z_]\w*|%[A-Za-z_]\w*%`)
})

// reference reports whether a value is empty or only refers to a secret, such as
// ${TOKEN} or "Bearer $TOKEN". A reference with a default is a value.
func reference(value string) bool {
	value = strings.TrimSpace(value)
	if value == Mark || value == "" {
		return true
	}
	if strings.ContainsAny(value, "$%") && !strings.Contains(value, ":-") {
		value = strings.TrimSpace(variables().ReplaceAllString(value, ""))
		if value == "" {
			return true
		}
		switch strings.ToLower(value) {
		case "bearer", "basic", "token", "dpop", "apikey":
			return true
		}
	}
	return false
}

// harmless reports whether a value is a placeholder, a literal such as true, or a
// reference.
func harmless(value string) bool {
	switch strings.ToLower(value) {
	case "true", "false", "null", "none", "nil", "undefined", "yes", "no":
		return true
	}
	switch value {
	case "KEY", "TOKEN", "VALUE", "SECRET", "PASSWORD", "…", "...", "***":
		return true
	}
	if strings.HasPrefix(value, "<") && strings.HasSuffix(value, ">") && len(value) < 40 {
		return true
	}
	return reference(value)
}

// pairs hides the values of secret names: name=value, name: value, "name":
// "value", also with escaped quotes.
func pairs(s string) string {
	out := marker{s: s}
	for i := 0; i < len(s); {
		j := strings.IndexAny(s[i:], "=:")
		if j < 0 {
			break
		}
		from, to := pairAt(s, i+j, out.last)
		if from < 0 {
			i += j + 1
			continue
		}
		out.mark(from, to)
		i = to
	}
	return out.String()
}

// pairAt returns the range of the secret value of the pair whose separator is at
// at, or -1. The pair starts at floor or later.
func pairAt(s string, at, floor int) (from, to int) {
	name, quoted, begin := nameBefore(s, at, floor)
	if name == "" || at+1 >= len(s) {
		return -1, 0
	}
	if s[at] == ':' {
		if s[at+1] == ':' || strings.HasPrefix(s[at+1:], "//") {
			return -1, 0
		}
		if !quoted {
			return afterColon(s, at, name, begin, floor)
		}
	}
	if s[at] == '=' && (s[at+1] == '=' || strings.IndexByte("=!<>:", s[at-1]) >= 0) {
		return -1, 0
	}
	secret := Name
	if begin > floor && strings.IndexByte("?&;#", s[begin-1]) >= 0 || name[0] == '-' || name == strings.ToUpper(name) {
		secret = Setting
	}
	if !secret(strings.TrimLeft(name, "-")) {
		return -1, 0
	}
	from, to = valueAt(s, at+1, "&;<>")
	if from < 0 || harmless(s[from:to]) {
		return -1, 0
	}
	if isDSN(name) {
		return -1, 0 // passwords hides its password
	}
	return from, to
}

// nameBefore returns the name before a separator, whether it is in quotes, and its
// start.
func nameBefore(s string, at, floor int) (name string, quoted bool, begin int) {
	end := at
	for end > floor && s[end-1] == ' ' && at-end < 2 {
		end--
	}
	if end > floor && (s[end-1] == '"' || s[end-1] == '\'') {
		quoted = true
		for end--; end > floor && s[end-1] == '\\'; end-- {
		}
	}
	begin = end
	for begin > floor && nameByte(s[begin-1]) && end-begin < 80 {
		begin--
	}
	if quoted && (begin == floor || s[begin-1] != '"' && s[begin-1] != '\'') {
		return "", false, 0
	}
	return s[begin:end], quoted, begin
}

func nameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '.' || c == '$' || c == '@' || c >= utf8.RuneSelf
}

// afterColon is pairAt for "Authorization: …" and "password: …". It keeps ordinary
// words, which may follow a colon in prose.
func afterColon(s string, at int, name string, begin, floor int) (from, to int) {
	switch strings.ToLower(name) {
	case "authorization", "proxy-authorization":
		return credentialsAt(s, at+1)
	case "cookie", "set-cookie":
		from, to = lineAt(s, at+1)
		if !strings.Contains(s[from:to], "=") || harmless(s[from:to]) {
			return -1, 0
		}
		return from, to
	}
	if begin > floor && s[begin-1] == ' ' { // "api key: …"
		before := begin - 1
		for before > floor && nameByte(s[before-1]) && begin-before < 40 {
			before--
		}
		name = s[before:begin] + name
	}
	if !Name(name) || isDSN(name) {
		return -1, 0
	}
	from, to = valueAt(s, at+1, ",;")
	if from < 0 || harmless(s[from:to]) {
		return -1, 0
	}
	if inQuotes := s[from-1] == '"' || s[from-1] == '\''; !inQuotes && (word(s[from:to]) || to-from < 4) {
		return -1, 0
	}
	return from, to
}

// lineAt returns the range of the rest of a line, or up to a quote.
func lineAt(s string, i int) (from, to int) {
	for i < len(s) && (s[i] == ' ' || s[i] == '\t') {
		i++
	}
	if j := strings.IndexAny(s[i:], "\r\n\"'"); j >= 0 {
		return i, i + j
	}
	return i, len(s)
}

// credentialsAt returns the range of the credentials of an Authorization header,
// without the scheme.
func credentialsAt(s string, i int) (from, to int) {
	from, to = lineAt(s, i)
	scheme, rest, ok := strings.Cut(s[from:to], " ")
	if !ok || rest == "" || !knownScheme(scheme) {
		if to = from + len(scheme); harmless(scheme) || word(scheme) {
			return -1, 0
		}
		return from, to
	}
	if first, more, prose := strings.Cut(rest, " "); harmless(rest) || prose && word(first) && more != "" {
		return -1, 0
	}
	return from + len(scheme) + 1, to
}

func knownScheme(s string) bool {
	switch strings.ToLower(s) {
	case "bearer", "basic", "token", "dpop", "digest", "apikey", "negotiate", "hawk", "aws4-hmac-sha256":
		return true
	}
	return false
}

// valueAt returns the range of a value: inside its quotes, or up to white space, a
// quote or one of stops. It returns -1 if there is none.
func valueAt(s string, i int, stops string) (from, to int) {
	for i < len(s) && (s[i] == ' ' || s[i] == '\t') {
		i++
	}
	escapes := 0
	for i+escapes < len(s) && s[i+escapes] == '\\' {
		escapes++
	}
	if at := i + escapes; at < len(s) && (s[at] == '"' || s[at] == '\'') {
		return at + 1, quoteEnd(s, at, escapes)
	}
	for to = i; to < len(s) && s[to] > ' ' && s[to] != '"' && s[to] != '\'' && strings.IndexByte(stops, s[to]) < 0; to++ {
	}
	for to > i && s[to-1] == '\\' { // of an escaped quote
		to--
	}
	if to == i || s[i] == '{' || s[i] == '[' && s[i:to] != Mark {
		return -1, 0
	}
	return i, to
}

// quoteEnd returns the end of the text in the quotes that open at open, which
// escapes backslashes precede.
func quoteEnd(s string, open, escapes int) int {
	slashes := 0
	for i := open + 1; i < len(s); i++ {
		switch {
		case s[i] == '\\':
			slashes++
			continue
		case s[i] == s[open] && (escapes == 0 && slashes%2 == 0 || escapes > 0 && slashes <= escapes):
			return i - slashes
		case s[i] == '\n' && escapes == 0 && s[open] == '\'':
			return i // an apostrophe, not a quote
		}
		slashes = 0
	}
	return len(s)
}

// flags hides the values of secret flags: --token value.
func flags(s string) string {
	out := marker{s: s}
	for i := 0; ; {
		j := strings.Index(s[i:], "--")
		if j < 0 {
			break
		}
		begin := i + j + 2
		end := begin
		for end < len(s) && nameByte(s[end]) {
			end++
		}
		i = max(end, begin)
		if end == begin || end >= len(s) || s[end] != ' ' || j > 0 && s[begin-3] > ' ' && s[begin-3] != '\'' && s[begin-3] != '"' || !Setting(s[begin:end]) {
			continue
		}
		from, to := valueAt(s, end, "")
		if from < 0 || harmless(s[from:to]) || s[from] == '-' || !Name(s[begin:end]) && (word(s[from:to]) || isPath(s[from:to])) || conjunction(s[from:to]) {
			continue
		}
		out.mark(from, to)
		i = to
	}
	return out.String()
}

// conjunction reports whether a word joins the name of a flag to a sentence, as in
// "use --auth-token or --auth-issuer".
func conjunction(s string) bool {
	switch strings.ToLower(strings.TrimRight(s, ".,:;")) {
	case "and", "or", "is", "are", "was", "to", "in", "with", "for", "needs", "must", "requires", "if", "when", "from", "as", "has", "cannot", "together":
		return true
	}
	return false
}
