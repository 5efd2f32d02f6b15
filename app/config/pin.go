package config

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// A pin is what an approval covers: the facts that identify a server, by readable
// names. Texts are as written in the file, so a variable is pinned by its name and
// the user may change its value. Secrets are pinned by digest; a text that contains
// a secret by the text without it and a digest of the whole.
//
//	command, args[0] …, cwd, url, origin, builtin   texts
//	env NAME, header NAME, oauth, envFile           digests
//	variable NAME                                   "used"
//	program, binary                                 path of the program, and the digest of that file
//	real path of NAME                               of a builtin's option that is a path through a symbolic link
type pin map[string]string

// pinOf returns the pin of a server as it is now.
func pinOf(s Server) pin {
	e := s.Entry()
	p := pin{"kind": string(s.Kind)}
	written := Server{Command: e.Command, Args: e.Args, Source: s.Source}
	set := func(what, place, value string) {
		if clean := written.show(place, value); clean != value {
			p[what] = clean + " " + digest(value)
		} else if value != "" {
			p[what] = value
		}
	}
	set("command", "command", e.Command)
	for i, a := range e.Args {
		p[fmt.Sprintf("args[%03d]", i)] = a
		set(fmt.Sprintf("args[%03d]", i), fmt.Sprintf("args[%d]", i), a)
	}
	set("cwd", "cwd", e.Dir)
	set("url", "url", e.URL)
	set("builtin", "url", e.Builtin)
	for name, v := range e.Env {
		p["env "+name] = digest(v)
	}
	for name, v := range e.Headers {
		p["header "+name] = digest(v)
	}
	if e.OAuth != nil {
		p["oauth"] = digest(Entry{OAuth: e.OAuth}.json())
	}
	if e.EnvFile != "" {
		p["envFile"] = e.EnvFile + " " + digest(string(s.envData))
	}
	for name := range e.variables() {
		p["variable "+name] = "used"
	}
	switch s.Kind {
	case Stdio:
		p["program"], p["binary"] = programOf(s)
	case HTTP, SSE:
		if u, err := url.Parse(s.URL); err == nil {
			p["origin"] = u.Scheme + "://" + u.Host
		}
	case Builtin:
		s.eachLink(func(option, path string) { p["real path of "+option] = path })
	}
	return p
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Program returns the path of the program that the command starts, or "" if there
// is none.
func (s Server) Program() string {
	program, err := exec.LookPath(s.Command)
	if err != nil && strings.ContainsAny(s.Command, `/\`) && !filepath.IsAbs(s.Command) {
		program, err = exec.LookPath(filepath.Join(s.Dir, s.Command))
	}
	if err != nil {
		return ""
	}
	return program
}

// programOf returns the path of the program that a command starts and the digest
// of the file, following links.
func programOf(s Server) (program, binary string) {
	program = s.Program()
	if program == "" {
		return "", "not found"
	}
	f, err := openRegular(program)
	if err != nil {
		return program, "not readable"
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return program, "not readable"
	}
	return program, "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// String returns the digest of the whole pin.
func (p pin) String() string {
	text, _ := json.Marshal(map[string]string(p)) // a map of strings cannot fail
	return digest(string(text))
}

// changes returns the differences from an earlier pin.
func (p pin) changes(before pin) []Change {
	all := maps.Clone(p)
	maps.Copy(all, before)
	var list []Change
	for _, what := range slices.Sorted(maps.Keys(all)) {
		if before[what] != p[what] {
			list = append(list, Change{What: what, Before: before[what], After: p[what]})
		}
	}
	return list
}
