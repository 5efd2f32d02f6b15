package config

import (
	"maps"
	"net/url"
	"slices"
	"strings"
	"unicode"
)

// note remembers a value from outside if it looks like a secret, and says
// whether it does.
func (x *expander) note(name, value string, sure bool) bool {
	if !sure && !secretName(name) && !secretValue(value) || !worthHiding(value, sure) {
		return false
	}
	x.found = append(x.found, value)
	return true
}

// secrets lists all values of a server that must not get about.
func (x *expander) secrets(s Server) []string {
	found := map[string]bool{}
	add := func(value string, sure bool) {
		if worthHiding(value, sure) {
			found[value] = true
		}
	}
	for _, v := range x.found {
		add(v, true)
		passwordIn(v, add)
	}
	for name, v := range s.Env {
		if secretName(name) || secretValue(v) {
			add(v, false)
		}
		passwordIn(v, add)
	}
	for name, v := range s.Headers {
		if secretName(name) || secretValue(v) {
			add(v, false)
			// Without the scheme, such as Bearer, it is as good.
			if _, token, ok := strings.Cut(v, " "); ok {
				add(strings.TrimSpace(token), false)
			}
		}
	}
	for i, a := range s.Args {
		name, v, ok := strings.Cut(a, "=")
		switch {
		case ok && secretName(name):
			add(v, false)
		case i > 0 && strings.HasPrefix(s.Args[i-1], "-") && !strings.Contains(s.Args[i-1], "=") && !strings.HasPrefix(a, "-") && secretName(s.Args[i-1]):
			add(a, false)
		}
		passwordIn(a, add)
	}
	for name, values := range s.Query {
		for _, v := range values {
			if secretName(name) {
				add(v, false)
			}
			passwordIn(v, add)
		}
	}
	passwordIn(s.URL, add)
	if s.OAuth != nil {
		add(s.OAuth.ClientSecret, true)
		passwordIn(s.OAuth.Proxy, add)
	}
	return slices.Collect(maps.Keys(found))
}

// passwordIn finds the password and the secret parameters of a URL.
func passwordIn(text string, add func(value string, sure bool)) {
	if !strings.Contains(text, "://") {
		return
	}
	u, err := url.Parse(text)
	if err != nil {
		return
	}
	if p, ok := u.User.Password(); ok {
		add(p, true)
		if _, raw, ok := strings.Cut(u.User.String(), ":"); ok {
			add(raw, true) // as it is written
		}
	}
	for name, values := range u.Query() {
		if secretName(name) {
			for _, v := range values {
				add(v, false)
			}
		}
	}
}

// secretWords stand in the names of things that are kept secret, as whole
// words of the name.
var secretWords = []string{"token", "secret", "password", "passwd", "passphrase", "pwd", "pass", "key", "apikey", "auth", "authorization",
	"credential", "credentials", "cookie", "session", "private", "pat", "dsn", "bearer", "signature", "sig", "jwt"}

// secretName reports whether something with this name is probably secret.
func secretName(name string) bool {
	if name == "PWD" || name == "OLDPWD" {
		return false // folders
	}
	low := strings.ToLower(name)
	for _, word := range []string{"token", "secret", "password", "passwd", "apikey", "credential"} {
		if strings.Contains(low, word) {
			return true
		}
	}
	var words []string
	start := 0
	for i, r := range name { // apiKey, API_KEY, api-key
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) || i > 0 && unicode.IsUpper(r) && unicode.IsLower(rune(name[i-1])) {
			words = append(words, strings.Trim(low[start:i], "_-. "))
			start = i
		}
	}
	words = append(words, strings.Trim(low[min(start, len(low)):], "_-. "))
	return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(secretWords, w) })
}

// secretValue reports whether a value looks as if a machine had made it up:
// long, of letters and digits, and with no word or path in it.
func secretValue(v string) bool {
	if len(v) < 20 || strings.ContainsAny(v, " /\\,;@") {
		return false
	}
	digits, letters := 0, 0
	for _, c := range []byte(v) {
		switch {
		case c >= '0' && c <= '9':
			digits++
		case c|0x20 >= 'a' && c|0x20 <= 'z':
			letters++
		}
	}
	return digits >= 3 && letters >= 3 && (digits+letters)*10 >= len(v)*8
}

// worthHiding reports whether hiding a value can be done without making other
// text unreadable: nobody's secret is "true" or "1".
func worthHiding(v string, sure bool) bool {
	switch strings.ToLower(v) {
	case "true", "false", "none", "null", "default", "bearer", "basic", "localhost", "enabled", "disabled":
		return sure && len(v) > 5
	}
	return len(v) >= 4
}

// Redact returns text with the secrets of this server left out.
func (s Server) Redact(text string) string {
	list := slices.Clone(s.Secrets)
	slices.SortFunc(list, func(a, b string) int { return len(b) - len(a) }) // the whole before its parts
	for _, v := range list {
		text = strings.ReplaceAll(text, v, "[secret]")
	}
	return text
}
