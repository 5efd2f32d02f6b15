package config

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/internal/visible"
)

// ErrName is returned by [Parse] for what can only be a name in a config.
var ErrName = errors.New("this is the name of a server")

// Parse reads what a person typed for a server:
//
//	https://host/path        streamable HTTP, or the older pair of endpoints
//	sse+https://host/path    the older pair of endpoints only
//	builtin:fs?root=.        a server of this program
//	-- command argument …    a program
//	anything else            ErrName: a name to be looked up
//
// If rest is not empty it is a command: target, unless that is "--" or empty,
// and then rest. What was typed is taken as it is: no variable is filled in. A
// command gets the whole environment, as it would from a shell.
func Parse(target string, rest []string) (Server, error) {
	if target == "--" || target == "" {
		if len(rest) == 0 || rest[0] == "" {
			return Server{}, errors.New("there is no command after --")
		}
		return command(rest[0], rest[1:]), nil
	}
	if len(rest) > 0 {
		return command(target, rest), nil
	}
	if name, ok := strings.CutPrefix(target, "builtin:"); ok {
		return parseBuiltin(name)
	}
	if scheme, after, ok := strings.Cut(target, "://"); ok {
		return parseURL(strings.ToLower(scheme), after)
	}
	if hint := notAName(target); hint != "" {
		return Server{}, fmt.Errorf("%q is no name of a server: %s", visible.Line(target), hint)
	}
	return Server{}, ErrName
}

func command(name string, args []string) Server {
	base := strings.TrimSuffix(filepath.Base(name), ".exe")
	s := Server{Name: visible.Line(base), Kind: Stdio, Command: name, Args: args, InheritEnv: true}
	s.Secrets = (&expander{}).secrets(s)
	return s
}

func parseBuiltin(text string) (Server, error) {
	name, query, _ := strings.Cut(text, "?")
	if name == "" {
		return Server{}, errors.New("builtin: must be followed by the name of a server, such as builtin:calc")
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return Server{}, fmt.Errorf("builtin:%s has options that cannot be read: %w; write them as name=value&name=value", visible.Line(name), err)
	}
	s := Server{Name: visible.Line(name), Kind: Builtin, Builtin: name, Query: values}
	s.Secrets = (&expander{}).secrets(s)
	return s, nil
}

func parseURL(scheme, after string) (Server, error) {
	s := Server{Kind: HTTP}
	if plain, ok := strings.CutPrefix(scheme, "sse+"); ok {
		s.Kind, scheme = SSE, plain
	}
	s.URL = scheme + "://" + after
	if err := checkURL(s.URL); err != nil {
		return Server{}, fmt.Errorf("the URL of a server %w", err)
	}
	u, err := url.Parse(s.URL)
	if err != nil {
		return Server{}, err
	}
	s.Name = visible.Line(u.Host)
	s.Secrets = (&expander{}).secrets(s)
	return s, nil
}

// ParseHeader reads a header that a person typed: "Name: value" or
// "Name=value". The error does not repeat it, since it may hold a secret.
func ParseHeader(line string) (name, value string, err error) {
	i := strings.IndexAny(line, ":=")
	if i < 0 || !isToken(strings.TrimSpace(line[:i])) || strings.ContainsAny(line, "\r\n\x00") {
		return "", "", errors.New("a header is written as 'Name: value'")
	}
	return strings.TrimSpace(line[:i]), strings.TrimSpace(line[i+1:]), nil
}

// WithHeaders returns the server with more headers, as [ParseHeader] reads
// them, in place of those of the same names. Their values count as secrets.
func (s Server) WithHeaders(lines []string) (Server, error) {
	all, secrets := maps.Clone(s.Headers), slices.Clone(s.Secrets)
	if all == nil {
		all = map[string]string{}
	}
	for _, line := range lines {
		name, value, err := ParseHeader(line)
		if err != nil {
			return s, err
		}
		for old := range all {
			if strings.EqualFold(old, name) {
				delete(all, old)
			}
		}
		all[name] = value
		secrets = append(secrets, value)
		if _, token, ok := strings.Cut(value, " "); ok { // without the scheme, such as Bearer
			secrets = append(secrets, strings.TrimSpace(token))
		}
	}
	s.Headers, s.Secrets = all, secrets
	return s, nil
}

// WithEnv returns the server with more variables for its program, each written
// as NAME=value, or as NAME for what getenv has under it.
func (s Server) WithEnv(words []string, getenv func(string) (string, bool)) (Server, error) {
	all := maps.Clone(s.Env)
	if all == nil {
		all = map[string]string{}
	}
	for _, word := range words {
		name, value, given := strings.Cut(word, "=")
		if name == "" || strings.ContainsRune(word, 0) {
			return s, errors.New("a variable is written as NAME=value, or as NAME to pass it on")
		}
		if !given {
			if value, given = getenv(name); !given {
				return s, fmt.Errorf("the variable %s is not set: write %s=value", visible.Line(name), visible.Line(name))
			}
		}
		all[name] = value
	}
	s.Env = all
	s.Secrets = append(slices.Clone(s.Secrets), (&expander{}).secrets(Server{Env: all})...)
	return s, nil
}

// Entry returns what to write into a file for this server. Variables of a
// server from a config are written as variables again.
func (s Server) Entry() Entry {
	if s.entry.Kind != "" {
		return s.entry
	}
	e := Entry{Name: s.Name, Kind: s.Kind, Command: s.Command, Args: s.Args, Env: s.Env, Dir: s.Dir,
		URL: s.URL, Headers: s.Headers, OAuth: s.OAuth, Builtin: s.Builtin, Timeout: s.Timeout, Disabled: s.Disabled}
	if len(s.Query) > 0 {
		e.Builtin += "?" + s.Query.Encode()
	}
	return e
}

// notAName says what to do with a target that was meant as something else.
func notAName(target string) string {
	host, port, ok := strings.Cut(target, ":")
	port, _, _ = strings.Cut(port, "/")
	switch {
	case ok && host != "" && port != "" && strings.Trim(port, "0123456789") == "":
		return "write http:// or https:// before it if it is a URL"
	case strings.ContainsAny(target, `/\`) || strings.HasPrefix(target, "."):
		return "to run a program, put it after --"
	case strings.ContainsAny(target, " \t\n"):
		return "to run a command, put it after --, without quotes around the whole"
	}
	return ""
}
