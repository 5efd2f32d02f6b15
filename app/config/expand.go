package config

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
)

// Server expands the variables of an entry and checks the result. The error has
// all problems. Pass a server of a project file to [Approvals.Check] before using
// it.
func (c *Config) Server(name string) (Server, error) {
	e, err := c.entry(name)
	if err != nil {
		return Server{}, err
	}
	return c.expand(e)
}

func (c *Config) expand(e Entry) (Server, error) {
	x := &expander{c: c, e: e}
	s := Server{
		Name: e.Name, Kind: e.Kind, Timeout: e.Timeout, Connection: e.Connection, Disabled: e.Disabled, Source: e.Source,
		Command: x.fill("command", e.Command),
		URL:     x.fill("url", e.URL),
		Dir:     x.fill("cwd", e.Dir),
		Env:     x.fillAll("env.", e.Env),
		Headers: x.fillAll("headers.", e.Headers),
		OAuth:   x.oauth(),
		entry:   e,
		project: c.project,
	}
	for i, a := range e.Args {
		s.Args = append(s.Args, x.fill(fmt.Sprintf("args[%d]", i), a))
	}
	if e.Kind == Builtin {
		x.builtin(&s)
	}
	if e.EnvFile != "" {
		x.envFile(&s)
	}
	c.place(&s)
	if x.err == nil {
		x.check(s)
	}
	if x.err != nil {
		return Server{}, x.err
	}
	s.Secrets = x.secrets(s)
	s.shown = x.shown
	return s, nil
}

// place sets the folder of the server: the project's folder for a project's
// server, the current folder for a server of the user.
func (c *Config) place(s *Server) {
	switch {
	case s.Kind != Stdio && s.Kind != Builtin:
		s.Dir = ""
	case s.Dir == "":
		if s.Source.Project || s.Kind == Builtin {
			s.Dir = c.project
		}
	case !filepath.IsAbs(s.Dir):
		s.Dir = filepath.Join(c.project, s.Dir)
	}
}

// An expander expands the variables of one entry.
type expander struct {
	c     *Config
	e     Entry
	err   error             // all errors, joined
	found []string          // secret values of variables
	shown map[string]string // displayable texts by place, with secrets as variables

	files bool                         // ${file:PATH} may be used
	ring  func(string) (string, error) // instead of Options.Keyring; nil means that
}

func (x *expander) fail(place, format string, args ...any) {
	x.err = errors.Join(x.err, fmt.Errorf("%s:%d: server %q: %s %w", x.e.Source.File, x.e.Source.Line, x.e.Name, place, fmt.Errorf(format, args...)))
}

func (x *expander) fill(place, text string) string {
	value, shown, err := x.expand(text, 0)
	if err != nil {
		x.fail(place, "%w", err)
		return ""
	}
	if strings.ContainsRune(value, 0) {
		x.fail(place, "has a zero byte")
	}
	if x.shown == nil {
		x.shown = map[string]string{}
	}
	x.shown[place] = shown
	return value
}

func (x *expander) fillAll(place string, table map[string]string) map[string]string {
	if len(table) == 0 {
		return nil
	}
	out := make(map[string]string, len(table))
	for _, name := range slices.Sorted(maps.Keys(table)) {
		out[name] = x.fill(place+name, table[name])
	}
	return out
}

// expand returns text with its variables expanded, and the same for display.
func (x *expander) expand(text string, depth int) (value, shown string, err error) {
	if depth > 8 {
		return "", "", errors.New("has defaults nested more than 8 deep")
	}
	var v, s strings.Builder
	err = eachVariable(text, func(literal string) {
		v.WriteString(literal)
		s.WriteString(literal)
	}, func(use variable) error {
		value, shown, err := x.lookup(use, depth)
		v.WriteString(value)
		s.WriteString(shown)
		return err
	})
	return v.String(), s.String(), err
}

func (x *expander) lookup(v variable, depth int) (value, shown string, err error) {
	switch v.kind {
	case "workspaceFolder":
		return x.c.project, x.c.project, nil
	case "workspaceFolderBasename":
		base := filepath.Base(x.c.project)
		return base, base, nil
	case "pathSeparator", "/":
		return string(filepath.Separator), string(filepath.Separator), nil
	case "userHome":
		if x.c.o.Home == "" {
			return "", "", errors.New("uses ${userHome}, but the user has no home folder; set HOME")
		}
		return x.c.o.Home, x.c.o.Home, nil
	case "input":
		value, secret, err := x.c.ask(x.e, v.name)
		if err != nil {
			return "", "", err
		}
		x.addSecret(v.name, value, secret)
		return value, v.written, nil
	case "file":
		if !x.files {
			return "", "", unknownVariable(v.written)
		}
		value, err := x.file(v)
		x.addSecret(v.name, value, true)
		return value, v.written, err
	case "keyring":
		value, err := x.keyring(v)
		x.addSecret(v.name, value, true)
		return value, v.written, err
	}
	value, set := x.c.o.Getenv(v.name)
	if v.hasDef && value == "" {
		return x.expand(v.def, depth+1)
	}
	if !set {
		return "", "", fmt.Errorf("uses %s, which is not set; set %s, or write a default as in ${NAME:-default}", v.written, v.name)
	}
	if x.addSecret(v.name, value, false) {
		return value, "${" + v.name + "}", nil
	}
	return value, value, nil
}

// keyring returns the secret for ${keyring:name}.
func (x *expander) keyring(v variable) (string, error) {
	if x.e.Source.Project {
		return "", fmt.Errorf("uses %s, which only your own file may use", v.written)
	}
	ring := x.ring
	if ring == nil {
		ring = x.c.o.Keyring
	}
	if ring == nil {
		return "", fmt.Errorf("uses %s, and the keyring is not available here", v.written)
	}
	value, err := ring(v.name)
	switch {
	case err != nil:
		return "", fmt.Errorf("uses %s: %w", v.written, err)
	case value == "" && x.ring != nil:
		return "", fmt.Errorf("uses %s, which is not in the keyring; run tenon auth key %s", v.written, x.e.Name)
	case value == "":
		return "", fmt.Errorf("uses %s, which is not in the keyring; remove the server and add it again", v.written)
	}
	return value, nil
}

// file returns the content of the file of ${file:PATH} without white space around
// it. A relative path is relative to the folder of the configuration.
func (x *expander) file(v variable) (string, error) {
	name := v.name
	if rest, ok := strings.CutPrefix(name, "~/"); ok && x.c.o.Home != "" {
		name = filepath.Join(x.c.o.Home, rest)
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(filepath.Dir(x.e.Source.File), name)
	}
	data, err := readAll(name, 64<<10)
	if err != nil {
		return "", fmt.Errorf("uses %s: %w", v.written, err)
	}
	return strings.TrimSpace(string(data)), nil
}

// builtin splits the text before it expands variables, so that values may have
// any characters.
func (x *expander) builtin(s *Server) {
	name, query, _ := strings.Cut(x.e.Builtin, "?")
	s.Builtin = x.fill("builtin", name)
	values, err := url.ParseQuery(query)
	if err != nil {
		x.fail("builtin", "has invalid options: %v", err)
		return
	}
	s.Query = url.Values{}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		for i, v := range values[key] {
			s.Query.Add(key, x.fill(fmt.Sprintf("builtin.%s[%d]", key, i), v))
		}
	}
}

// check validates the expanded server.
func (x *expander) check(s Server) {
	switch s.Kind {
	case Stdio:
		if s.Command == "" {
			x.fail("command", "is empty")
		}
	case HTTP, SSE:
		if err := checkURL(s.URL); err != nil {
			x.fail("url", "%v", err)
		}
		if s.OAuth != nil {
			if err := s.OAuth.check(s.Source.Project); err != nil {
				x.fail("oauth", "%w", err)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		if !isToken(name) {
			x.fail("headers", "has an invalid header name %q", name)
		}
		if strings.ContainsAny(s.Headers[name], "\r\n") {
			x.fail("headers."+name, "has a line break; remove it (a variable read from a file often ends in one)")
		}
	}
}

func checkURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return errors.New("is not a URL such as https://host/path") // err might contain a secret
	case u.Scheme != "http" && u.Scheme != "https":
		return errors.New("must start with http:// or https://")
	case u.Host == "":
		return errors.New("has no host")
	}
	return nil
}

// isToken reports whether s is a valid header name.
func isToken(s string) bool {
	for _, c := range []byte(s) {
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`()<>@,;:\"/[]?={}`, c) >= 0 {
			return false
		}
	}
	return s != ""
}
