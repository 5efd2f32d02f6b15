package permit

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/internal/rulematch"
	"github.com/tenon-mcp/tenon/internal/visible"
)

// A Proposal is a pattern that matches a call and similar ones, for the user to
// allow.
type Proposal struct {
	ID    string `json:"id"`    // within the proposals of a call
	Label string `json:"label"` // which calls it matches, such as "in /work/site/docs"

	// Args are patterns by argument name, as those of config.Rule. Free are the
	// other arguments that a call may have: with any value that is no path and no
	// address. A call with further arguments does not match.
	Args map[string]string `json:"args"`
	Free []string          `json:"free,omitzero"`
}

// Places are folders of the user. Each is an absolute path, or empty if unknown.
type Places struct {
	Folder string // where the host works
	Repo   string // the repository that Folder is in
	Home   string
}

// maxProposals bounds the proposals for a call.
const maxProposals = 4

// Propose returns patterns for calls like the one with args, the narrowest first:
//
//	the same arguments                    always
//	in the folder of its paths            if all are in it; never /, /tmp, the home folder or one above it
//	in this folder, in this repository    if all paths are in it
//	on https://host/                      if it has one address and no path
//	with the same targets                 such as owner and repo, if it has no path and no address
//
// A path is matched as it is written: links in a folder are followed by the server.
func Propose(args json.RawMessage, p Places) []Proposal {
	c := classify(args)
	if c == nil || len(c.all) == 0 {
		return nil
	}
	var found []Proposal
	add := func(id, label string, patterns map[string]string, free []string) {
		same := slices.ContainsFunc(found, func(o Proposal) bool { return maps.Equal(o.Args, patterns) && slices.Equal(o.Free, free) })
		one := Proposal{id, label, patterns, free}
		if len(found) < maxProposals && !same && one.Match(args) {
			found = append(found, one)
		}
	}
	if exact, ok := literal(c.all, c.values); ok {
		add("exact", "with exactly these arguments", exact, nil)
	}
	targets, ok := literal(c.targets, c.values)
	if !ok {
		return found
	}
	with := c.describe()
	below := func(id, label, dir string) {
		if patterns, ok := c.inside(dir, targets); ok {
			add(id, label+with, patterns, c.free)
		}
	}
	switch {
	case len(c.paths) > 0 && len(c.urls) == 0:
		if dir := c.commonDir(); dir != "" && p.mayPropose(dir) {
			below("dir", "in "+visible.Line(dir), dir)
		}
		if p.mayPropose(p.Folder) {
			below("folder", "in this folder, "+visible.Line(p.Folder), p.Folder)
		}
		if p.mayPropose(p.Repo) {
			below("repo", "in this repository, "+visible.Line(p.Repo), p.Repo)
		}
	case len(c.paths) == 0 && len(c.urls) == 1:
		if origin := originOf(c.values[c.urls[0]]); origin != "" && !wild(origin) {
			targets[c.urls[0]] = origin + "*"
			add("host", "on "+visible.Line(origin)+with, targets, c.free)
		}
	case len(c.paths) == 0 && len(c.urls) == 0 && len(targets) > 0:
		add("values", strings.TrimSpace(with), targets, c.free)
	}
	return found
}

// Match reports whether a call is like the one that the proposal was made from.
func (p *Proposal) Match(args json.RawMessage) bool {
	if len(p.Args) == 0 || !rulematch.Args(p.Args, args, true) {
		return false
	}
	for m := rawjson.Object(args); m.Next(); {
		name := string(m.Name)
		if _, constrained := p.Args[name]; constrained {
			continue
		}
		if !slices.Contains(p.Free, name) || !harmless(m.Value) {
			return false
		}
	}
	return true
}

// A classified call has its arguments by what they say. Paths and urls are
// constrained by a pattern, targets by their value; free ones are not.
type classified struct {
	all, paths, urls, targets, free []string
	values                          map[string]string
}

// classify returns nil for arguments that are no object.
func classify(args json.RawMessage) *classified {
	if rawjson.Check(args) != nil || !rawjson.IsObject(args) {
		return nil
	}
	c := &classified{values: map[string]string{}}
	for m := rawjson.Object(args); m.Next(); {
		name := string(m.Name)
		text, isText := rawjson.String(m.Value)
		if !isText {
			text = string(rawjson.AppendCanonical(nil, m.Value))
		}
		c.all, c.values[name] = append(c.all, name), text
		switch {
		case isText && isURL(text):
			c.urls = append(c.urls, name)
		case isText && (isPath(text) || hasWord(name, pathWords)):
			c.paths = append(c.paths, name)
		case hasWord(name, targetWords) || !harmless(m.Value):
			c.targets = append(c.targets, name)
		default:
			c.free = append(c.free, name)
		}
	}
	return c
}

// describe names the targets with their values, for a label.
func (c *classified) describe() string {
	var parts []string
	for _, name := range c.targets {
		value := visible.Line(c.values[name])
		if r := []rune(value); len(r) > 40 {
			value = fmt.Sprintf("%s… (%d characters)", string(r[:40]), len(r))
		}
		parts = append(parts, visible.Line(name)+" = "+value)
	}
	if parts == nil {
		return ""
	}
	return " with " + strings.Join(parts, ", ")
}

// inside returns the patterns for paths below dir, and the targets; ok is false if
// a path is not below it.
func (c *classified) inside(dir string, targets map[string]string) (patterns map[string]string, ok bool) {
	prefix := strings.TrimSuffix(dir, "/") + "/"
	if wild(prefix) {
		return nil, false
	}
	patterns = maps.Clone(targets)
	for _, name := range c.paths {
		if v := c.values[name]; !plainPath(v) || !strings.HasPrefix(v, prefix) {
			return nil, false
		}
		patterns[name] = prefix + "*"
	}
	return patterns, true
}

// commonDir returns the innermost folder that all paths are in as they are written;
// empty if there is none.
func (c *classified) commonDir() string {
	dir := ""
	for i, name := range c.paths {
		of := path.Dir(strings.TrimSuffix(c.values[name], "/"))
		if i == 0 {
			dir = of
		}
		for dir != "." && dir != "/" && of != dir && !strings.HasPrefix(of, dir+"/") {
			dir = path.Dir(dir)
		}
	}
	if dir == "." {
		return ""
	}
	return dir
}

// mayPropose reports whether a folder is narrow enough to be proposed.
func (p Places) mayPropose(dir string) bool {
	switch {
	case dir == "", dir == "/", dir == "/tmp", dir == "/var/tmp", !plainPath(dir):
		return false
	case p.Home != "" && (dir == p.Home || strings.HasPrefix(p.Home, dir+"/")):
		return false
	}
	return true
}

// literal returns patterns that match only the values of the named arguments; ok is
// false if a value contains a wildcard, which cannot be escaped.
func literal(names []string, values map[string]string) (patterns map[string]string, ok bool) {
	patterns = map[string]string{}
	for _, name := range names {
		if wild(values[name]) {
			return nil, false
		}
		patterns[name] = values[name]
	}
	return patterns, true
}

func wild(s string) bool { return strings.ContainsAny(s, "*?") }

// plainPath reports whether a path is written without "." and "..", repeated
// slashes, backslashes, a home folder or a drive.
func plainPath(v string) bool {
	cleaned := strings.TrimSuffix(v, "/")
	return cleaned != "" && path.Clean(cleaned) == cleaned && !strings.HasPrefix(v, "~") && !strings.ContainsAny(v, "\\:%\x00\n\r") && !rulematch.Climbs(v)
}

// isPath reports whether a text looks like a path of a file.
func isPath(text string) bool {
	text = strings.TrimSpace(text)
	if text == "" || strings.ContainsAny(text, "\n\r") {
		return false
	}
	if strings.ContainsAny(text[:1], "/~\\.") || len(text) > 1 && text[1] == ':' {
		return true
	}
	return strings.ContainsAny(text, "/\\") && !strings.ContainsAny(text, " \t")
}

// isURL reports whether a text looks like an address.
func isURL(text string) bool {
	text = strings.TrimSpace(text)
	return strings.Contains(text, "://") && !strings.ContainsAny(text, " \t\n\r")
}

// originOf returns the scheme, host and port of an address with a slash; empty if it
// has a user, or what servers may read in two ways.
func originOf(text string) string {
	scheme, rest, _ := strings.Cut(text, "://")
	host, _, slash := strings.Cut(rest, "/")
	if !slash || host == "" || scheme == "" || strings.ContainsAny(host, `@\?#%`) || strings.ContainsAny(scheme, `/\?#%@`) || visible.Line(text) != text {
		return ""
	}
	return scheme + "://" + host + "/"
}

// harmless reports whether a value contains no path, no address, and no member whose
// name says what a call acts on.
func harmless(raw []byte) bool {
	if text, ok := rawjson.String(raw); ok {
		return !isPath(text) && !isURL(text)
	}
	switch {
	case rawjson.IsObject(raw):
		for m := rawjson.Object(raw); m.Next(); {
			if hasWord(string(m.Name), targetWords) || hasWord(string(m.Name), pathWords) || !harmless(m.Value) {
				return false
			}
		}
	case rawjson.IsArray(raw):
		for e := rawjson.Array(raw); e.Next(); {
			if !harmless(e.Value) {
				return false
			}
		}
	}
	return true
}
