package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/internal/visible"
)

// The names of the two files.
const (
	projectFile = ".mcp.json"
	userFile    = "tenon.json"
)

// A Config is a loaded configuration. It is safe for concurrent use and does not
// see later changes of the files.
type Config struct {
	o        Options
	project  string // the project's folder
	user     string // the user's file
	entries  []Entry
	settings Settings
	warnings []string
	files    []string // that were read, or would have been if they existed

	mu      sync.Mutex
	answers map[string]answer // by file and id of the input
}

// Load reads the project's file and the user's file. Either may be missing. A file
// that is unreadable or not JSON is an error. An invalid entry is not: it has Err
// set, which [Config.Server] returns.
func Load(o *Options) (*Config, error) {
	c := &Config{answers: map[string]answer{}}
	if o != nil {
		c.o = *o
	}
	if err := c.o.fill(); err != nil {
		return nil, err
	}
	c.project = projectFolder(c.o.Dir)
	c.user = filepath.Join(c.o.UserDir, userFile)
	userEntries, err := c.load(Source{File: c.user})
	if err != nil {
		return nil, err
	}
	c.warnings = append(c.warnings, writable(c.user)...)
	if len(c.o.From) > 0 {
		if err := c.loadFrom(); err != nil {
			return nil, err
		}
		return c, nil
	}
	projectEntries, err := c.load(Source{File: c.ProjectFile(), Project: true})
	if err != nil {
		return nil, err
	}
	for i, e := range projectEntries {
		if slices.ContainsFunc(userEntries, func(m Entry) bool { return m.Name == e.Name }) {
			projectEntries[i].Shadowed = c.user
		}
	}
	c.entries = append(userEntries, projectEntries...)
	return c, nil
}

// loadFrom reads the servers of other programs.
func (c *Config) loadFrom() error {
	var missing error
	for _, app := range c.o.From {
		entries, warnings, err := importFrom(app, &c.o, runtime.GOOS)
		for _, p := range c.o.places(app, runtime.GOOS) {
			c.files = append(c.files, p.file)
		}
		if errors.Is(err, ErrNoFile) {
			missing = errors.Join(missing, err)
			continue
		}
		if err != nil {
			return err
		}
		c.warnings = append(c.warnings, warnings...)
		for _, e := range entries {
			if !slices.ContainsFunc(c.entries, func(other Entry) bool { return other.Name == e.Name }) {
				c.entries = append(c.entries, e)
			}
		}
	}
	if len(c.entries) == 0 {
		return missing
	}
	return nil
}

// Files returns the paths of all files that configure the servers and settings,
// also of those that do not exist.
func (c *Config) Files() []string {
	return slices.Compact(append([]string{c.user, c.ProjectFile()}, c.files...))
}

func (o *Options) fill() (err error) {
	o.Dir = cmp.Or(o.Dir, ".")
	if o.Dir, err = filepath.Abs(o.Dir); err != nil {
		return fmt.Errorf("find the current folder: %w", err)
	}
	if o.UserDir == "" {
		base, err := os.UserConfigDir()
		if err != nil {
			return fmt.Errorf("find your configuration folder: %w", err)
		}
		o.UserDir = filepath.Join(base, "tenon")
	}
	if o.Home == "" {
		o.Home, _ = os.UserHomeDir() // ${userHome} is an error then
	}
	if o.Getenv == nil {
		o.Getenv = os.LookupEnv
	}
	return nil
}

// projectFolder returns the nearest folder at or above dir that has a project
// file, up to the root of the Git repository. It returns dir if there is none or
// dir is in no repository.
func projectFolder(dir string) string {
	found := ""
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, projectFile)); err == nil && found == "" {
			found = at
		}
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			if found == "" {
				found = dir
			}
			return found
		}
		if filepath.Dir(at) == at {
			return dir
		}
	}
}

// load reads the servers, the inputs and, from the user's file, the settings.
func (c *Config) load(src Source) ([]Entry, error) {
	root, err := open(src.File)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	if src.Project {
		for _, m := range root.members() {
			if slices.Contains(settingMembers, m.name) && !slices.Contains(serverMembers, m.name) {
				c.warnings = append(c.warnings, fmt.Sprintf("%s: %q is ignored here; it belongs in %s", src.File, m.name, c.user))
			}
		}
	} else if c.settings, err = readSettings(root); err != nil {
		return nil, err
	}
	if !src.Project {
		c.warnings = append(c.warnings, literalKeys(c.settings.Providers)...)
	}
	return readServers(root, src)
}

// serverMembers are the members of a file that configure servers.
var serverMembers = []string{"$schema", "mcpServers", "servers", "inputs"}

// readServers reads mcpServers and the further entries of servers in order.
func readServers(root node, src Source) ([]Entry, error) {
	inputs, err := readInputs(root, src)
	if err != nil {
		return nil, err
	}
	var list []Entry
	for _, group := range []string{"mcpServers", "servers"} {
		n, ok := root.member(group)
		if !ok {
			continue
		}
		if err := n.eachMember(func(m member) error {
			if !slices.ContainsFunc(list, func(e Entry) bool { return e.Name == m.name }) {
				e := readEntry(m, src)
				e.Inputs = usedInputs(e, inputs)
				list = append(list, e)
			}
			return nil
		}); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func readInputs(root node, src Source) ([]Input, error) {
	n, ok := root.member("inputs")
	if !ok {
		return nil, nil
	}
	return listOf(n, func(n node) (Input, error) {
		in := Input{Source: src}
		in.Source.Line, _ = n.doc.position(n.off)
		err := n.eachMember(func(m member) (err error) {
			switch m.name {
			case "id":
				in.ID, err = m.value.text()
			case "description":
				in.Description, err = m.value.text()
			case "default":
				if !rawjson.IsNull(m.value.raw) {
					in.Default, err = m.value.scalar()
				}
			case "password":
				in.Password, err = m.value.bool()
			case "options":
				in.Options, err = listOf(m.value, readOption)
			}
			return err
		})
		if err == nil && in.ID == "" {
			err = n.errorf(`must have an "id"`)
		}
		return in, err
	})
}

// readOption reads a string, or an object with a value.
func readOption(n node) (string, error) {
	if v, ok := n.member("value"); ok {
		n = v
	}
	return n.scalar()
}

// Names returns the sorted names of the servers that are not shadowed.
func (c *Config) Names() []string {
	var names []string
	for _, e := range c.entries {
		if e.Shadowed == "" {
			names = append(names, e.Name)
		}
	}
	slices.Sort(names)
	return names
}

// Entries returns all entries of the files, the user's first, with variables not
// expanded.
func (c *Config) Entries() []Entry { return slices.Clone(c.entries) }

// Settings returns the user's settings.
func (c *Config) Settings() Settings { return c.settings }

// Warnings returns sentences about ignored members of the files, and about
// permissions that let other users change the user's file.
func (c *Config) Warnings() []string { return slices.Clone(c.warnings) }

// UserFile returns the path of the user's file, which may not exist.
func (c *Config) UserFile() string { return c.user }

// ProjectFile returns the path of the project's file, which may not exist.
func (c *Config) ProjectFile() string { return filepath.Join(c.project, projectFile) }

// ApprovalsFile returns the path of the user's approvals.
func (c *Config) ApprovalsFile() string { return filepath.Join(c.o.UserDir, "approvals.json") }

// entry returns the entry with a name that is not shadowed.
func (c *Config) entry(name string) (Entry, error) {
	for _, e := range c.entries {
		if e.Name == name && e.Shadowed == "" {
			return e, e.Err
		}
	}
	if len(c.entries) == 0 {
		return Entry{}, fmt.Errorf("no server %q: no servers are configured; add one to %s or %s, or use a URL, builtin:NAME or a command after --", visible.Line(name), c.user, c.ProjectFile())
	}
	return Entry{}, fmt.Errorf("no server %q in %s or %s%s", visible.Line(name), c.user, c.ProjectFile(), didYouMean(name, c.Names()))
}
