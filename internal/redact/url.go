package redact

import (
	"net/url"
	"regexp"
	"strings"
	"sync"
	"unicode"
)

// Places of passwords: in a URL, where nothing that ends the host may stand in
// them; in a URL that holds a token for a user; and in a DSN of the MySQL driver.
var userinfo = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(\b[a-zA-Z][a-zA-Z0-9+.-]*://[^\s/:@"'?#]*:)([^\s/@"'?#]+)@` +
		`|(\b[a-zA-Z][a-zA-Z0-9+.-]*://)([^\s/:@"'?#]{16,})@` +
		`|(\b[^\s/:@"']+:)([^\s"']+)@(?:tcp|unix)\(`)
})

// passwords hides those of URLs and DSNs in a text.
func passwords(s string) string {
	var out strings.Builder
	last := 0
	for _, at := range userinfo().FindAllStringSubmatchIndex(s, -1) {
		for group := 4; group < len(at); group += 4 {
			if from, to := at[group], at[group+1]; from >= 0 && !reference(s[from:to]) {
				out.WriteString(s[last:from])
				out.WriteString(Mark)
				last = to
			}
		}
	}
	if last == 0 {
		return s
	}
	return out.String() + s[last:]
}

// isDSN reports whether the value of a name is an address with, perhaps, a
// password in it: the address is worth seeing.
func isDSN(name string) bool {
	p := strings.ReplaceAll(plainWords(name), " ", "")
	return strings.HasSuffix(p, "dsn") || strings.HasSuffix(p, "connectionstring")
}

// loose finds the password of a URL that is not well formed: it holds a slash.
var loose = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(://[^\s/:@]*:)[^\s@]+@`)
})

// URL returns a URL without its password, its telling parameters and the known
// values. Everything else stays byte for byte.
func (v *Values) URL(s string) string {
	rest, fragment, hasFragment := strings.Cut(v.Known(s), "#")
	rest, query, hasQuery := strings.Cut(rest, "?")
	out := userOf(rest)
	if hasQuery {
		out += "?" + v.query(query)
	}
	if hasFragment {
		if strings.Contains(fragment, "=") {
			fragment = v.query(fragment)
		}
		out += "#" + fragment
	}
	return byPattern(out)
}

// userOf hides the password of a URL, or the user if there is none: over HTTP it
// is a token then.
func userOf(s string) string {
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok {
		return passwords(s)
	}
	host, path, hasPath := strings.Cut(rest, "/")
	i := strings.LastIndexByte(host, '@')
	if i < 0 {
		if _, port, ok := strings.Cut(host, ":"); ok && strings.Trim(port, "0123456789") != "" {
			return loose().ReplaceAllString(s, "${1}"+Mark+"@")
		}
		return s
	}
	user, password, ok := strings.Cut(host[:i], ":")
	switch {
	case ok && !reference(password):
		host = user + ":" + Mark + host[i:]
	case !ok && strings.HasPrefix(strings.ToLower(scheme), "http") && !reference(user):
		host = Mark + host[i:]
	}
	s = scheme + "://" + host
	if hasPath {
		s += "/" + path
	}
	return s
}

// query hides the telling parameters of a query.
func (v *Values) query(q string) string {
	answer := strings.Contains("&"+q, "&code=") && strings.Contains("&"+q, "&state=") // of a login
	var out strings.Builder
	for part := range strings.SplitSeq(q, "&") {
		if out.Len() > 0 {
			out.WriteByte('&')
		}
		name, value, ok := strings.Cut(part, "=")
		if !ok {
			out.WriteString(part)
			continue
		}
		out.WriteString(name + "=" + v.parameter(name, value, answer))
	}
	return out.String()
}

func (v *Values) parameter(name, value string, answer bool) string {
	plainName, err := url.QueryUnescape(name)
	if err != nil {
		plainName = name
	}
	plain, err := url.QueryUnescape(value)
	if err != nil {
		plain = value
	}
	switch {
	case nothing(plain):
	case isDSN(plainName):
		if clean := v.DSN(plain); clean != plain {
			return clean
		}
	case Setting(plainName), answer && (plainName == "code" || plainName == "state"):
		return Mark
	case strings.Contains(plain, "://"):
		if clean := v.URL(plain); clean != plain {
			return clean
		}
	default:
		if clean := v.text(plain); clean != plain {
			return clean
		}
	}
	return value
}

// DSN returns the address of a database without its password.
func (v *Values) DSN(s string) string {
	if strings.Contains(s, "://") {
		return v.URL(s)
	}
	return v.text(s)
}

// DSNs returns a text about databases without the passwords of the DSNs in it,
// also of those that are not well formed, as they stand in the errors of drivers.
func (v *Values) DSNs(s string) string {
	return v.Text(loose().ReplaceAllString(s, "${1}"+Mark+"@"))
}

// Header returns the value of a header without its secret. The scheme of
// credentials stays, and a challenge, which holds no secret.
func (v *Values) Header(name, value string) string {
	switch low := strings.ToLower(name); {
	case nothing(value), low == "www-authenticate":
		return value
	case strings.HasSuffix(low, "authorization"):
		if scheme, rest, ok := strings.Cut(value, " "); ok && rest != "" && knownScheme(scheme) {
			return scheme + " " + Mark
		}
		return Mark
	case Setting(name), strings.Contains(low, "token"), strings.Contains(low, "secret"), low == "dpop":
		return Mark
	case low == "location", low == "referer", low == "link", low == "origin":
		return v.URL(value)
	}
	return v.text(value)
}

// Args returns the words of a command line without its secrets.
func (v *Values) Args(words []string) []string {
	out := make([]string, len(words))
	for i, w := range words {
		previous := ""
		if i > 0 {
			previous = words[i-1]
		}
		out[i] = v.word(previous, w)
	}
	return out
}

func (v *Values) word(previous, w string) string {
	if clean := v.Arg(previous, w); clean != w {
		return clean
	}
	return v.Text(w)
}

// Arg returns one word of a command line without what its place tells to be
// secret: the word follows a telling flag, assigns to a telling name, is a
// header, or has the password or the parameters of an address in it. Previous is
// the word before it. Unlike [Values.Args], it does not search the word.
func (v *Values) Arg(previous, w string) string {
	flag := strings.HasPrefix(previous, "-") && !strings.ContainsAny(previous, "= ")
	name, value, pair := strings.Cut(w, "=")
	switch {
	case flag && !strings.HasPrefix(w, "-") && Setting(strings.TrimLeft(previous, "-")):
		return v.setting(previous, w)
	case flag && isUser(previous) && strings.Contains(w, ":"):
		user, password, _ := strings.Cut(w, ":")
		if reference(password) {
			return w
		}
		return user + ":" + Mark
	case pair && !strings.ContainsAny(name, " ?&:/") && Setting(strings.TrimLeft(name, "-")):
		return name + "=" + v.setting(name, value)
	case strings.Contains(w, "://") && !strings.ContainsAny(w, " \t\n"):
		if pair && strings.IndexByte(name, ':') < 0 { // --url=https://…
			return name + "=" + v.URL(value)
		}
		return v.URL(w)
	case flag && (previous == "-H" || previous == "--header" || previous == "--headers"):
		if name, value, ok := strings.Cut(w, ":"); ok {
			space := value[:len(value)-len(strings.TrimLeft(value, " "))]
			return name + ":" + space + v.Header(name, value[len(space):])
		}
	case strings.Contains(w, "@"):
		return passwords(w)
	case AttachedPassword(w) != "":
		return w[:2] + Mark
	}
	return w
}

// AttachedPassword returns the password of a word such as -pSECRET123, which
// database clients take, or nothing: letters and digits, and no path, address or
// port.
func AttachedPassword(w string) string {
	value, ok := strings.CutPrefix(w, "-p")
	if !ok || len(value) < MinValue || strings.ContainsAny(value, "/\\.:=, ") || !strings.ContainsAny(value, "0123456789") || !strings.ContainsFunc(value, unicode.IsLetter) {
		return ""
	}
	return value
}

// setting hides the value of a telling name. Of an address only the password is
// hidden.
func (v *Values) setting(name, value string) string {
	switch {
	case nothing(value), !Name(name) && isPath(value): // --tls-key key.pem
		return value
	case isDSN(name):
		return v.DSN(value)
	}
	return Mark
}

// isPath reports whether a value names a file, which is not secret.
func isPath(value string) bool {
	for _, p := range []string{"/", "./", "../", "~/", ".\\", "..\\"} {
		if strings.HasPrefix(value, p) {
			return true
		}
	}
	for _, s := range []string{".pem", ".key", ".crt", ".json", ".txt"} {
		if strings.HasSuffix(value, s) {
			return true
		}
	}
	return len(value) > 2 && value[1] == ':' && value[2] == '\\'
}

// isUser reports whether a flag takes user:password.
func isUser(flag string) bool {
	switch flag {
	case "-u", "--user", "--proxy-user", "-U":
		return true
	}
	return false
}
