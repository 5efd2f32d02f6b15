package redact

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// userinfo matches the password of a URL, a token as the user of a URL, and the
// password in a DSN of the MySQL driver.
var userinfo = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(\b[a-zA-Z][a-zA-Z0-9+.-]*://[^\s/:@"'?#]*:)([^\s/@"'?#]+)@` +
		`|(\b[a-zA-Z][a-zA-Z0-9+.-]*://)([^\s/:@"'?#]{16,})@` +
		`|(\b[^\s/:@"']+:)([^\s"']+)@(?:tcp|unix)\(`)
})

// passwords hides passwords of URLs and DSNs in a text.
func passwords(s string) string {
	out := marker{s: s}
	for _, at := range userinfo().FindAllStringSubmatchIndex(s, -1) {
		for group := 4; group < len(at); group += 4 {
			if from, to := at[group], at[group+1]; from >= 0 && !reference(s[from:to]) {
				out.mark(from, to)
			}
		}
	}
	return out.String()
}

// isDSN reports whether the value of a name is an address that may have a
// password; only the password is hidden.
func isDSN(name string) bool {
	p := strings.ReplaceAll(plainWords(name), " ", "")
	return strings.HasSuffix(p, "dsn") || strings.HasSuffix(p, "connectionstring")
}

// loose matches a password with a slash, in a URL that is not well formed.
var loose = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(://[^\s/:@]*:)[^\s@]+@`)
})

// URL returns a URL without its password, its secret parameters and the known
// values. The rest is unchanged.
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

// userOf hides the password of a URL, or the user of an HTTP URL without a
// password, which is a token.
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

// query hides the secret parameters of a query.
func (v *Values) query(q string) string {
	login := strings.Contains("&"+q, "&code=") && strings.Contains("&"+q, "&state=")
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
		out.WriteString(name + "=" + v.parameter(name, value, login))
	}
	return out.String()
}

func (v *Values) parameter(name, value string, login bool) string {
	plainName, err := url.QueryUnescape(name)
	if err != nil {
		plainName = name
	}
	plain, err := url.QueryUnescape(value)
	if err != nil {
		plain = value
	}
	switch {
	case harmless(plain):
	case isDSN(plainName):
		if clean := v.DSN(plain); clean != plain {
			return clean
		}
	case Setting(plainName), login && (plainName == "code" || plainName == "state"):
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

// DSNs returns a text without the passwords of DSNs, also of those that are not
// well formed, as in the errors of drivers.
func (v *Values) DSNs(s string) string {
	return v.Text(loose().ReplaceAllString(s, "${1}"+Mark+"@"))
}

// Header returns the value of a header without its secret. It keeps the scheme of
// credentials and challenges, which have no secret.
func (v *Values) Header(name, value string) string {
	switch low := strings.ToLower(name); {
	case harmless(value), low == "www-authenticate":
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

// Arg returns one word of a command line without a secret found by its place: the
// word follows a secret flag, assigns to a secret name, is a header, or has the
// password or parameters of an address. Previous is the word before it. Unlike
// [Values.Args], it does not search the word for other secrets.
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

// AttachedPassword returns the password of a word such as -pSECRET123, as database
// clients take it, or "". It has letters and digits and is no path, address or
// port.
func AttachedPassword(w string) string {
	value, ok := strings.CutPrefix(w, "-p")
	if !ok || len(value) < MinValue || strings.ContainsAny(value, "/\\.:=, ") || !strings.ContainsAny(value, "0123456789") || !strings.ContainsFunc(value, unicode.IsLetter) {
		return ""
	}
	return value
}

// setting hides the value of a secret name; of an address only the password.
func (v *Values) setting(name, value string) string {
	switch {
	case harmless(value), !Name(name) && isPath(value): // --tls-key key.pem
		return value
	case isDSN(name):
		return v.DSN(value)
	}
	return Mark
}

// isPath reports whether a value names a file, which is not secret.
func isPath(value string) bool {
	starts := func(p string) bool { return strings.HasPrefix(value, p) }
	ends := func(s string) bool { return strings.HasSuffix(value, s) }
	return slices.ContainsFunc([]string{"/", "./", "../", "~/", ".\\", "..\\"}, starts) ||
		slices.ContainsFunc([]string{".pem", ".key", ".crt", ".json", ".txt"}, ends) ||
		len(value) > 2 && value[1] == ':' && value[2] == '\\'
}

// isUser reports whether a flag takes user:password.
func isUser(flag string) bool {
	switch flag {
	case "-u", "--user", "--proxy-user", "-U":
		return true
	}
	return false
}
