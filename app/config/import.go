package config

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Apps are the programs that [Import] supports.
var Apps = []string{"claude-desktop", "claude-code", "vscode", "cursor"}

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

// errNoFile is the error for a program that has no configuration.
var errNoFile = errors.New("none of its files exists")

// A place is the location of a program's servers.
type place struct {
	file    string
	within  []string // path in the file to the object with the servers
	project bool
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
		return nil, nil, fmt.Errorf("import from %s: %w: %s", app, errNoFile, strings.Join(slices.Compact(looked), ", "))
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

func (p place) read() ([]Entry, error) {
	root, err := open(p.file)
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
	return readServers(root, Source{File: p.file, Project: p.project})
}

// places returns the locations of a program's servers, the user's first.
func (o *Options) places(app, system string) []place {
	home := func(parts ...string) string { return filepath.Join(append([]string{o.Home}, parts...)...) }
	settings := o.settingsFolder(system)
	project := projectFolder(o.Dir)
	switch app {
	case "claude-desktop":
		return []place{{file: filepath.Join(settings, "Claude", "claude_desktop_config.json")}}
	case "claude-code":
		file := home(".claude.json")
		if dir, ok := o.Getenv("CLAUDE_CONFIG_DIR"); ok && dir != "" {
			file = filepath.Join(dir, ".claude.json")
		}
		list := []place{{file: file}}
		for _, dir := range slices.Compact([]string{o.Dir, project}) {
			list = append(list, place{file: file, within: []string{"projects", dir}})
		}
		return list // Load reads the project's own file
	case "cursor":
		return []place{{file: home(".cursor", "mcp.json")}, {file: filepath.Join(o.Dir, ".cursor", "mcp.json"), project: true}}
	}
	var list []place
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
