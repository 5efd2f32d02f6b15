package config

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/tenon-mcp/tenon/internal/redact"
	"github.com/tenon-mcp/tenon/internal/visible"
)

// addSecret records the value of a variable if it looks like a secret, and reports
// whether it does.
func (x *expander) addSecret(name, value string, sure bool) bool {
	if !sure && !redact.Setting(name) && !secretValue(value) || !worthHiding(value, sure) {
		return false
	}
	x.found = append(x.found, value)
	return true
}

// secrets returns all secret values of a server.
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
		if redact.Setting(name) || secretValue(v) {
			add(v, false)
		}
		passwordIn(v, add)
	}
	for name, v := range s.Headers {
		if redact.Setting(name) || secretValue(v) {
			add(v, false)
			if _, token, ok := strings.Cut(v, " "); ok { // without a scheme such as Bearer
				add(strings.TrimSpace(token), false)
			}
		}
	}
	for i, a := range s.Args {
		name, v, ok := strings.Cut(a, "=")
		switch {
		case ok && redact.Setting(name):
			add(v, false)
		case i > 0 && strings.HasPrefix(s.Args[i-1], "-") && !strings.Contains(s.Args[i-1], "=") && !strings.HasPrefix(a, "-") && redact.Setting(s.Args[i-1]):
			add(a, false)
		}
		add(redact.AttachedPassword(a), true)
		passwordIn(a, add)
	}
	for name, values := range s.Query {
		for _, v := range values {
			if redact.Setting(name) {
				add(v, false)
			}
			passwordIn(v, add)
		}
	}
	passwordIn(s.URL, add)
	if s.OAuth != nil {
		add(s.OAuth.ClientSecret, true)
		add(s.OAuth.IDPClientSecret, true)
		passwordIn(s.OAuth.Proxy, add)
	}
	return slices.Collect(maps.Keys(found))
}

// passwordIn adds the password and the secret parameters of a URL.
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
		if redact.Setting(name) {
			for _, v := range values {
				add(v, false)
			}
		}
	}
}

// secretValue reports whether a value looks generated: long, mostly letters and
// digits, and not a path or several words.
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

// worthHiding reports whether a value can be hidden without making other text
// unreadable, which "true" or "1" would.
func worthHiding(v string, sure bool) bool {
	switch strings.ToLower(v) {
	case "true", "false", "none", "null", "default", "bearer", "basic", "localhost", "enabled", "disabled":
		return sure && len(v) > 5
	}
	return len(v) >= 4
}

// Redact returns text with the secrets of this server replaced, in every encoding.
func (s Server) Redact(text string) string { return redact.New(s.Secrets...).Known(text) }

// show returns a text of the server without secrets; place is its place in the
// entry. A variable with a secret value is shown as the variable.
//
// For a project's file it finds secrets only by their place. Otherwise the file
// could hide the code that it runs from the user who approves it. For the same
// reason it shows an argument that may be code in full.
func (s Server) show(place, value string) string {
	if shown, ok := s.shown[place]; ok {
		if value != shown && strings.HasPrefix(shown, fromFile) {
			return shown
		}
		value = shown
	}
	known := redact.New()
	if !s.Source.Project {
		known = redact.New(s.Secrets...)
	}
	what, name, _ := strings.Cut(place, ".")
	switch what {
	case "env", "headers":
		if secretValue(value) {
			return redact.Mark
		}
		if what == "headers" {
			return known.Header(name, value)
		}
		return strings.TrimPrefix(known.Arg("", name+"="+value), name+"=")
	case "builtin":
		name, _, _ = strings.Cut(name, "[")
		return known.Known(strings.TrimPrefix(known.Arg("", name+"="+value), name+"="))
	case "url":
		return known.URL(value)
	}
	previous := ""
	if i, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(what, "args["), "]")); err == nil && i > 0 && i <= len(s.Args) {
		previous = s.Args[i-1]
	}
	if !s.Source.Project {
		return known.Args([]string{previous, value})[1]
	}
	if slices.Contains(codeFlags[interpreter(programName(s.Command))], previous) {
		return value
	}
	return known.Arg(previous, value)
}

// CommandLine returns on one line what the user approves: environment, program
// and arguments in the syntax of a shell; or the URL with its headers; or the
// builtin. It replaces secrets, shows those from variables as the variable, and
// escapes invisible characters.
func (s Server) CommandLine() string {
	var words []string
	add := func(prefix, place, value string) { words = append(words, quote(prefix+s.show(place, value))) }
	switch s.Kind {
	case Stdio:
		for _, name := range slices.Sorted(maps.Keys(s.Env)) {
			add(name+"=", "env."+name, s.Env[name])
		}
		add("", "command", s.Command)
		for i, a := range s.Args {
			add("", fmt.Sprintf("args[%d]", i), a)
		}
	case HTTP, SSE:
		add("", "url", s.URL)
		for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
			add(name+": ", "headers."+name, s.Headers[name])
		}
	case Builtin:
		words = append(words, quote("builtin:"+s.Builtin))
		for _, name := range slices.Sorted(maps.Keys(s.Query)) {
			for i, v := range s.Query[name] {
				add(name+"=", fmt.Sprintf("builtin.%s[%d]", name, i), v)
			}
		}
	}
	return visible.Line(strings.Join(words, " "))
}

// Address returns the command, URL or builtin of the server without environment,
// headers and secrets.
func (s Server) Address() string {
	switch s.Kind {
	case HTTP, SSE:
		return visible.Line(s.show("url", s.URL))
	case Builtin:
		text := "builtin:" + s.Builtin
		if len(s.Query) > 0 {
			text += "?" + s.Query.Encode()
		}
		return visible.Line(redact.New(s.Secrets...).URL(text))
	}
	s.Env = nil
	return s.CommandLine()
}

// CommandLine returns the command line of the entry's server with variables not
// expanded.
func (e Entry) CommandLine() string {
	s := Server{Name: e.Name, Kind: e.Kind, Command: e.Command, Args: e.Args, Env: e.Env, URL: e.URL, Headers: e.Headers, Source: e.Source}
	name, query, _ := strings.Cut(e.Builtin, "?")
	s.Builtin = name
	s.Query, _ = url.ParseQuery(query) // an error is reported when the entry is used
	s.Secrets = slices.DeleteFunc((&expander{}).secrets(s), func(v string) bool { return strings.Contains(v, "${") })
	return s.CommandLine()
}

// Written returns on one line what the entry runs or connects to, exactly as it
// is written to the file: variables are not expanded, nothing is redacted, and
// invisible characters are escaped.
func (e Entry) Written() string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(e.Env)) {
		words = append(words, quote(name+"="+e.Env[name]))
	}
	words = append(words, quote(e.Command+e.URL)) // an entry has one of them
	for _, a := range e.Args {
		words = append(words, quote(a))
	}
	for _, name := range slices.Sorted(maps.Keys(e.Headers)) {
		words = append(words, quote(name+": "+e.Headers[name]))
	}
	return visible.Line(strings.Join(words, " "))
}

// quote quotes a word for a shell.
func quote(word string) string {
	ordinary := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_@%+=:,./-", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !ordinary(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
