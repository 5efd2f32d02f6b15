package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Apps are the programs that [Import] supports.
var Apps = []string{"claude-desktop", "claude-code", "vscode", "cursor", "codex", "gemini", "opencode", "goose", "windsurf", "zed"}

// Import reads the servers configured in another program, from its files for this
// user and in the project of o.Dir. It changes nothing; pass the entries to [Add].
//
// Entries that came with the project have Source.Project set. In the user's own
// file they would be trusted, so ask about each before adding it there. Warnings
// name what cannot be imported and why.
func Import(app string, o *Options) (entries []Entry, warnings []string, err error) {
	var opts Options
	if o != nil {
		opts = *o
	}
	if err := opts.fill(); err != nil {
		return nil, nil, err
	}
	return importFrom(app, &opts, runtime.GOOS)
}

// ErrNoFile is wrapped by the error of [Import] for a program without configuration.
var ErrNoFile = errors.New("none of its files exists")

// A place is the location of a program's servers.
type place struct {
	file    string
	within  []string // path in the file to the object with the servers
	project bool

	open      func(file string) (node, error) // nil: it is JSON
	translate translation                     // nil: the object has mcpServers or servers in Tenon's format
}

func importFrom(app string, o *Options, system string) ([]Entry, []string, error) {
	if !slices.Contains(Apps, app) {
		return nil, nil, fmt.Errorf("cannot import from %q: use one of %s%s", app, strings.Join(Apps, ", "), didYouMean(app, Apps))
	}
	var entries []Entry
	var warnings, looked []string
	found := false
	for _, p := range o.places(app, system) {
		looked = append(looked, p.file)
		list, err := p.read()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, nil, fmt.Errorf("import from %s: %w", app, err)
		}
		found = true
		for _, e := range list {
			where := fmt.Sprintf("%s (%s)", e.Name, e.Source.File)
			if slices.ContainsFunc(entries, func(other Entry) bool { return other.Name == e.Name }) {
				warnings = append(warnings, where+": skipped, because a server with this name was imported before")
				continue
			}
			if e.Err != nil {
				warnings = append(warnings, e.Err.Error())
				continue
			}
			for _, w := range e.Warnings {
				warnings = append(warnings, where+": "+w)
			}
			warnings = append(warnings, e.problems(where)...)
			entries = append(entries, e)
		}
	}
	if !found {
		return nil, nil, fmt.Errorf("import from %s: %w: %s", app, ErrNoFile, strings.Join(slices.Compact(looked), ", "))
	}
	return entries, warnings, nil
}

// problems returns warnings about variables that Tenon cannot expand.
func (e *Entry) problems(where string) (list []string) {
	ids := map[string]bool{}
	for _, in := range e.Inputs {
		ids[in.ID] = true
	}
	e.texts(func(at, text string) {
		if err := eachVariable(text, func(string) {}, func(v variable) error {
			if v.kind == "file" {
				return unknownVariable(v.written)
			}
			if v.kind == "input" && !ids[v.name] {
				return fmt.Errorf("uses ${input:%s}, which is not among the inputs", v.name)
			}
			return nil
		}); err != nil {
			list = append(list, fmt.Sprintf("%s: %s %v", where, at, err))
		}
	})
	slices.Sort(list)
	return list
}

// Differences returns the names of the members in which two entries differ.
func (e Entry) Differences(other Entry) (list []string) {
	members := func(e Entry) map[string]string {
		all := map[string]string{}
		if n, err := read("", []byte(e.json())); err == nil {
			for _, m := range n.members() {
				all[m.name] = string(m.value.raw)
			}
		}
		return all
	}
	a, b := members(e), members(other)
	for name := range maps.Clone(a) {
		if a[name] == b[name] {
			delete(a, name)
			delete(b, name)
		}
	}
	maps.Copy(a, b)
	return slices.Sorted(maps.Keys(a))
}

func (p place) read() ([]Entry, error) {
	read := open
	if p.open != nil {
		read = p.open
	}
	root, err := read(p.file)
	if err != nil {
		return nil, err
	}
	for _, name := range p.within {
		n, ok := root.member(name)
		if !ok {
			return nil, nil
		}
		root = n
	}
	src := Source{File: p.file, Project: p.project}
	if p.translate != nil {
		return readForeign(root, src, p.translate)
	}
	return readServers(root, src)
}

// places returns the locations of a program's servers, the user's first.
func (o *Options) places(app, system string) []place {
	home := func(parts ...string) string { return filepath.Join(append([]string{o.Home}, parts...)...) }
	here := func(parts ...string) string { return filepath.Join(append([]string{o.Dir}, parts...)...) }
	settings := o.settingsFolder(system)
	switch app {
	case "claude-desktop":
		return []place{{file: filepath.Join(settings, "Claude", "claude_desktop_config.json")}}
	case "claude-code":
		file := filepath.Join(o.folder("CLAUDE_CONFIG_DIR", o.Home), ".claude.json")
		list := []place{{file: file}}
		for _, dir := range slices.Compact([]string{o.Dir, projectFolder(o.Dir)}) {
			list = append(list, place{file: file, within: []string{"projects", dir}})
		}
		return list // Load reads the project's own file
	case "cursor":
		return both(place{}, []string{home(".cursor", "mcp.json")}, []string{here(".cursor", "mcp.json")})
	case "codex":
		of := place{within: []string{"mcp_servers"}, open: readTOML, translate: fromCodex}
		return both(of, []string{filepath.Join(o.folder("CODEX_HOME", home(".codex")), "config.toml")}, []string{here(".codex", "config.toml")})
	case "gemini":
		of := place{within: []string{"mcpServers"}, translate: fromGemini}
		return both(of, []string{home(".gemini", "settings.json")}, []string{here(".gemini", "settings.json")})
	case "opencode":
		of := place{within: []string{"mcp"}, translate: fromOpencode}
		user := filepath.Join(o.folder("XDG_CONFIG_HOME", home(".config")), "opencode")
		return both(of, []string{filepath.Join(user, "opencode.json"), filepath.Join(user, "opencode.jsonc")},
			[]string{here("opencode.json"), here("opencode.jsonc")})
	case "goose":
		of := place{within: []string{"extensions"}, open: readYAML, translate: fromGoose}
		if system == "windows" {
			return both(of, []string{filepath.Join(settings, "Block", "goose", "config", "config.yaml")}, nil)
		}
		return both(of, []string{filepath.Join(o.folder("XDG_CONFIG_HOME", home(".config")), "goose", "config.yaml")}, nil)
	case "windsurf":
		of := place{within: []string{"mcpServers"}, translate: fromWindsurf}
		return both(of, []string{home(".codeium", "windsurf", "mcp_config.json")}, nil)
	case "zed":
		of := place{within: []string{"context_servers"}, translate: fromZed}
		user := filepath.Join(o.folder("XDG_CONFIG_HOME", home(".config")), "zed")
		if system == "windows" {
			user = filepath.Join(settings, "Zed")
		}
		return both(of, []string{filepath.Join(user, "settings.json")}, []string{here(".zed", "settings.json")})
	}
	return o.vscode(settings)
}

// both returns a kind of place for files of the user and of the project.
func both(of place, user, project []string) (list []place) {
	for i, file := range slices.Concat(user, project) {
		of.file, of.project = file, i >= len(user)
		list = append(list, of)
	}
	return list
}

// folder returns the folder that a variable names, or else another one.
func (o *Options) folder(variable, otherwise string) string {
	if dir, ok := o.Getenv(variable); ok && dir != "" {
		return dir
	}
	return otherwise
}

func (o *Options) vscode(settings string) (list []place) {
	for _, edition := range []string{"Code", "Code - Insiders", "VSCodium"} {
		user := filepath.Join(settings, edition, "User")
		list = append(list, place{file: filepath.Join(user, "mcp.json")}, place{file: filepath.Join(user, "settings.json"), within: []string{"mcp"}})
		profiles, _ := filepath.Glob(filepath.Join(globQuote(user), "profiles", "*", "mcp.json"))
		for _, file := range profiles {
			list = append(list, place{file: file})
		}
	}
	return append(list, place{file: filepath.Join(o.Dir, ".vscode", "mcp.json"), project: true})
}

// globQuote escapes the pattern characters of a path. Windows has no escapes.
func globQuote(path string) string {
	if runtime.GOOS == "windows" {
		return path
	}
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

// settingsFolder returns the folder of programs' settings on a system.
func (o *Options) settingsFolder(system string) string {
	variable, fallback := "XDG_CONFIG_HOME", filepath.Join(o.Home, ".config")
	switch system {
	case "darwin":
		return filepath.Join(o.Home, "Library", "Application Support")
	case "windows":
		variable, fallback = "APPDATA", filepath.Join(o.Home, "AppData", "Roaming")
	}
	if dir, ok := o.Getenv(variable); ok && filepath.IsAbs(dir) {
		return dir
	}
	return fallback
}
