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

// ErrName is returned by [Parse] for the name of a configured server.
var ErrName = errors.New("this is the name of a server")

// Parse reads a server from command line arguments:
//
//	https://host/path        streamable HTTP, falling back to HTTP+SSE
//	sse+https://host/path    HTTP+SSE only
//	builtin:fs?root=.        a builtin server
//	-- command argument …    a program
//	anything else            ErrName: the name of a configured server
//
// If rest is not empty, target and rest are a command; target may be "--" or
// empty. Variables are not expanded. A command inherits the whole environment.
func Parse(target string, rest []string) (Server, error) {
	if target == "--" || target == "" {
		if len(rest) == 0 || rest[0] == "" {
			return Server{}, errors.New("no command after --")
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
		return Server{}, fmt.Errorf("%q is not the name of a server: %s", visible.Line(target), hint)
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
		return Server{}, errors.New("builtin: needs the name of a server, such as builtin:calc")
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return Server{}, fmt.Errorf("builtin:%s has invalid options: %w; use name=value&name=value", visible.Line(name), err)
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

// ParseHeader parses "Name: value" or "Name=value". The error does not contain
// the header, which may be a secret.
func ParseHeader(line string) (name, value string, err error) {
	i := strings.IndexAny(line, ":=")
	if i < 0 || !isToken(strings.TrimSpace(line[:i])) || strings.ContainsAny(line, "\r\n\x00") {
		return "", "", errors.New("invalid header: use 'Name: value'")
	}
	return strings.TrimSpace(line[:i]), strings.TrimSpace(line[i+1:]), nil
}

// WithHeaders returns the server with more headers in the syntax of
// [ParseHeader]. They replace headers of the same name. Their values are secrets.
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

// WithEnv returns the server with more environment variables, each as NAME=value,
// or as NAME for the value that getenv returns.
func (s Server) WithEnv(words []string, getenv func(string) (string, bool)) (Server, error) {
	all := maps.Clone(s.Env)
	if all == nil {
		all = map[string]string{}
	}
	for _, word := range words {
		name, value, given := strings.Cut(word, "=")
		if name == "" || strings.ContainsRune(word, 0) {
			return s, errors.New("invalid variable: use NAME=value, or NAME to pass it on")
		}
		if !given {
			if value, given = getenv(name); !given {
				return s, fmt.Errorf("the variable %s is not set; use %s=value", visible.Line(name), visible.Line(name))
			}
		}
		all[name] = value
	}
	s.Env = all
	s.Secrets = append(slices.Clone(s.Secrets), (&expander{}).secrets(Server{Env: all})...)
	return s, nil
}

// Entry returns the entry of this server. For a configured server it is the entry
// in the file, with variables not expanded.
func (s Server) Entry() Entry {
	if s.entry.Kind != "" {
		return s.entry
	}
	e := Entry{Name: s.Name, Kind: s.Kind, Command: s.Command, Args: s.Args, Env: s.Env, Dir: s.Dir,
		URL: s.URL, Headers: s.Headers, OAuth: s.OAuth, Builtin: s.Builtin, Timeout: s.Timeout, Connection: s.Connection, Disabled: s.Disabled}
	if len(s.Query) > 0 {
		e.Builtin += "?" + s.Query.Encode()
	}
	return e
}

// notAName returns what to do with a target that cannot be a name, or "".
func notAName(target string) string {
	host, port, ok := strings.Cut(target, ":")
	port, _, _ = strings.Cut(port, "/")
	switch {
	case ok && host != "" && port != "" && strings.Trim(port, "0123456789") == "":
		return "start a URL with http:// or https://"
	case strings.ContainsAny(target, `/\`) || strings.HasPrefix(target, "."):
		return "to run a program, put it after --"
	case strings.ContainsAny(target, " \t\n"):
		return "to run a command, put it after --, without quotes around the whole command"
	}
	return ""
}
