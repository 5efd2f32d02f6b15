package config

import (
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Identity says what a server is, as facts by names that a person can read:
//
//	kind, command, argument 1 …, folder      of a program
//	environment NAME, environment file       names only, no values
//	URL, header NAME                         of an address; headers by name only
//	builtin, option NAME, folder             of a builtin server
//	configuration file                       where the entry stands
//
// Texts are as they stand in the file, with variables not filled in, and
// without secrets. The folder counts only where something in the entry is
// relative to it. Two servers with equal identities may share approvals.
func (s Server) Identity() map[string]string {
	e := s.Entry()
	id := map[string]string{"kind": string(s.Kind)}
	written := Server{Command: e.Command, Args: e.Args, Source: s.Source}
	set := func(what, value string) {
		if value != "" {
			id[what] = s.Redact(value)
		}
	}
	show := func(what, place, value string) { set(what, written.show(place, value)) }
	set("configuration file", s.Source.File)
	switch s.Kind {
	case Stdio:
		set("command", e.Command)
		for i, a := range e.Args {
			show(fmt.Sprintf("argument %d", i+1), fmt.Sprintf("args[%d]", i), a)
		}
		for name := range e.Env {
			id["environment "+name] = "set"
		}
		set("environment file", e.EnvFile)
		if e.Dir != "" || slices.ContainsFunc(append([]string{e.Command}, e.Args...), relative) {
			set("folder", s.folder())
		}
	case HTTP, SSE:
		show("URL", "url", e.URL)
		for name := range e.Headers {
			id["header "+name] = "set"
		}
	case Builtin:
		name, query, _ := strings.Cut(e.Builtin, "?")
		set("builtin", name)
		options, _ := url.ParseQuery(query) // what cannot be read was refused before
		for name, values := range options {
			show("option "+name, "builtin."+name, strings.Join(values, ", "))
			if slices.ContainsFunc(values, maybeRelative) {
				set("folder", s.folder())
			}
		}
	}
	return id
}

// folder is where the server runs.
func (s Server) folder() string {
	dir, err := filepath.Abs(s.Dir)
	if err != nil {
		return s.Dir
	}
	return dir
}

// relative reports whether an argument is a path from the current folder.
func relative(arg string) bool {
	if _, value, ok := strings.Cut(arg, "="); ok && strings.HasPrefix(arg, "-") {
		arg = value
	}
	return arg == "." || arg == ".." || strings.HasPrefix(arg, "./") || strings.HasPrefix(arg, "../") || strings.HasPrefix(arg, `.\`) || strings.HasPrefix(arg, `..\`)
}

// maybeRelative reports whether an option of a builtin could be a path from the
// current folder.
func maybeRelative(value string) bool {
	if _, err := strconv.ParseBool(value); err == nil {
		return false
	}
	if _, err := strconv.ParseFloat(value, 64); err == nil {
		return false
	}
	return !filepath.IsAbs(value) && !strings.Contains(value, "://")
}
