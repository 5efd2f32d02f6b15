package config

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Identity returns the facts that identify a server, by readable names:
//
//	kind, command, argument 1 …, folder      of a program
//	program                                  where the command was found
//	environment NAME, environment file       names only, no values
//	URL, header NAME                         of a remote server; headers by name only
//	builtin, option NAME, folder             of a builtin server
//	real path of NAME                        of an option that is a path through a symbolic link
//	project                                  value of ${workspaceFolder}, if it is used
//	configuration file                       file of the entry
//
// Texts are as written in the file, with variables not expanded and without
// secrets. The folder is included only if something in the entry may be relative
// to it; see [Server.usesFolder]. Servers with equal identities may share
// approvals.
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
	e.texts(func(_, text string) {
		if strings.Contains(text, "${workspaceFolder") {
			set("project", realPath(s.project))
		}
	})
	switch s.Kind {
	case Stdio:
		set("command", e.Command)
		if program := s.Program(); program != "" {
			set("program", absolute(program))
		}
		for i, a := range e.Args {
			show(fmt.Sprintf("argument %d", i+1), fmt.Sprintf("args[%d]", i), a)
		}
		for name := range e.Env {
			id["environment "+name] = "set"
		}
		set("environment file", e.EnvFile)
		if e.Dir != "" || s.usesFolder() {
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
		options, _ := url.ParseQuery(query) // expand has rejected invalid options
		for name, values := range options {
			show("option "+name, "builtin."+name, strings.Join(values, ", "))
			if slices.ContainsFunc(values, maybeRelative) {
				set("folder", s.folder())
			}
		}
		s.eachLink(func(option, path string) { set("real path of "+option, path) })
	}
	return id
}

// folder returns the folder that the server runs in, without symbolic links.
func (s Server) folder() string { return realPath(absolute(s.Dir)) }

// eachLink calls see with each option of a builtin that is a path through a
// symbolic link and with its real path.
func (s Server) eachLink(see func(option, path string)) {
	for name, values := range s.Query {
		for _, path := range values {
			if !filepath.IsAbs(path) {
				path = filepath.Join(s.folder(), path)
			}
			if at := realPath(path); at != filepath.Clean(path) {
				see(name, at)
			}
		}
	}
}

func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// realPath returns a path without symbolic links, or the path itself if nothing is
// there.
func realPath(path string) string {
	if at, err := filepath.EvalSymlinks(path); err == nil {
		return at
	}
	return path
}

// runners are programs that run code of their current folder, whatever their
// arguments are.
var runners = []string{"bun", "bundle", "cargo", "deno", "dotnet", "go", "gradle", "just", "make", "mvn", "npm", "pipenv", "pnpm", "poetry", "rake", "uv", "yarn"}

// usesFolder reports whether the program may depend on the folder it is started
// in: it is one of runners, or the command, an argument, the envFile or a variable
// may be a relative path.
func (s Server) usesFolder() bool {
	if strings.ContainsAny(s.Command, `/\`) && !filepath.IsAbs(s.Command) || slices.Contains(runners, programName(s.Command)) {
		return true
	}
	for _, value := range s.Env {
		if slices.ContainsFunc(filepath.SplitList(value), func(path string) bool { return strings.HasPrefix(path, ".") }) {
			return true
		}
	}
	return s.entry.EnvFile != "" && s.relative(s.entry.EnvFile) || slices.ContainsFunc(s.Args, s.relative)
}

// relative reports whether an argument may be a path relative to the server's
// folder: it is not absolute and has a slash or a file extension, or it exists
// there. Of a flag only the part after = matters. A name that starts with @ is a
// package and must exist.
func (s Server) relative(arg string) bool {
	if strings.HasPrefix(arg, "-") {
		_, value, ok := strings.Cut(arg, "=")
		if !ok {
			return false
		}
		arg = value
	}
	if arg == "" || !maybeRelative(arg) {
		return false
	}
	if !strings.HasPrefix(arg, "@") && (strings.ContainsAny(arg, `/\`) || fileEnd(arg)) {
		return true
	}
	if i := strings.LastIndexByte(arg, '@'); i > 0 {
		arg = arg[:i] // without the version of a package
	}
	return s.holds(arg)
}

// fileEnd reports whether a name has a file extension, as in tool.py; a version
// such as 1.2 has none. Dots alone are a path.
func fileEnd(name string) bool {
	if strings.Trim(name, ".") == "" {
		return true
	}
	return strings.ContainsFunc(filepath.Ext(name), unicode.IsLetter)
}

// holds reports whether the server's folder has a file or folder with this name
// and any extension, as for python -m name, or a package is installed in the
// folder or above it, as for npx name.
func (s Server) holds(name string) bool {
	exists := func(path string) bool {
		_, err := os.Lstat(path)
		return err == nil
	}
	dir := s.folder()
	if exists(filepath.Join(dir, name)) {
		return true
	}
	entries, _ := os.ReadDir(dir) // an unreadable folder has nothing to run
	if slices.ContainsFunc(entries, func(e os.DirEntry) bool { return strings.HasPrefix(e.Name(), name+".") }) {
		return true
	}
	for at := dir; ; at = filepath.Dir(at) {
		modules := filepath.Join(at, "node_modules")
		if exists(filepath.Join(modules, name)) || exists(filepath.Join(modules, ".bin", name)) {
			return true
		}
		if filepath.Dir(at) == at {
			return false
		}
	}
}

// maybeRelative reports whether an option of a builtin may be a relative path.
func maybeRelative(value string) bool {
	if _, err := strconv.ParseBool(value); err == nil {
		return false
	}
	if _, err := strconv.ParseFloat(value, 64); err == nil {
		return false
	}
	return !filepath.IsAbs(value) && !strings.Contains(value, "://")
}
