package config

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/internal/redact"
	"github.com/tenon-mcp/tenon/internal/visible"
)

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
