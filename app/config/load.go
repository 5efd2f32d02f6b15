package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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

// A Config is what was found. It may be used by several goroutines; it does
// not see later changes of the files.
type Config struct {
	o        Options
	project  string // the project's folder
	user     string // the user's file
	entries  []Entry
	settings Settings
	warnings []string

	mu      sync.Mutex
	answers map[string]answer // by file and id of the input
}

// Load reads the project's file and the user's file. A file that is not there
// is as good as an empty one; one that cannot be read, or that is not JSON, is
// an error that says where and why. A single bad entry spoils nothing but
// itself: [Config.Server] tells what is wrong with it.
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
	mine, err := c.load(Source{File: c.user})
	if err != nil {
		return nil, err
	}
	theirs, err := c.load(Source{File: c.ProjectFile(), Project: true})
	if err != nil {
		return nil, err
	}
	for i, e := range theirs {
		if slices.ContainsFunc(mine, func(m Entry) bool { return m.Name == e.Name }) {
			theirs[i].Shadowed = c.user
		}
	}
	c.entries = append(mine, theirs...)
	c.warnings = append(c.warnings, writable(c.user)...)
	return c, nil
}

func (o *Options) fill() (err error) {
	if o.Dir == "" {
		o.Dir = "."
	}
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
		o.Home, _ = os.UserHomeDir() // ${userHome} says that there is none
	}
	if o.Getenv == nil {
		o.Getenv = os.LookupEnv
	}
	return nil
}

// projectFolder is the nearest folder from dir upwards that has a project file,
// and dir if there is none. It looks no higher than the folder of a Git
// repository, and not above dir at all if dir is in none: a file that somebody
// put into a folder far above has nothing to do with what is worked on here.
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
				c.warnings = append(c.warnings, fmt.Sprintf("%s: %q counts only in your own %s and was passed over", src.File, m.name, c.user))
			}
		}
	} else if c.settings, err = readSettings(root); err != nil {
		return nil, err
	}
	return readServers(root, src)
}

// serverMembers are the members of a file that are about servers.
var serverMembers = []string{"$schema", "mcpServers", "servers", "inputs"}

// readServers reads mcpServers, and what servers has beyond that, in the order
// of the file.
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
		members, err := n.object()
		if err != nil {
			return nil, err
		}
		for _, m := range members {
			if slices.ContainsFunc(list, func(e Entry) bool { return e.Name == m.name }) {
				continue
			}
			e := readEntry(m, src)
			e.Inputs = usedInputs(e, inputs)
			list = append(list, e)
		}
	}
	return list, nil
}

func readInputs(root node, src Source) ([]Input, error) {
	n, ok := root.member("inputs")
	if !ok {
		return nil, nil
	}
	nodes, err := n.list()
	if err != nil {
		return nil, err
	}
	var list []Input
	for _, n := range nodes {
		members, err := n.object()
		if err != nil {
			return nil, err
		}
		in := Input{Source: src}
		in.Source.Line, _ = n.doc.position(n.off)
		for _, m := range members {
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
				in.Options, err = readChoices(m.value)
			}
			if err != nil {
				return nil, err
			}
		}
		if in.ID == "" {
			return nil, n.errorf(`must have an "id"`)
		}
		list = append(list, in)
	}
	return list, nil
}

// readChoices reads a list of strings, or of objects with a value.
func readChoices(n node) ([]string, error) {
	nodes, err := n.list()
	if err != nil {
		return nil, err
	}
	var list []string
	for _, e := range nodes {
		if v, ok := e.member("value"); ok {
			e = v
		}
		s, err := e.scalar()
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
}

// Names lists the servers that can be opened by name, in order.
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

// Entries lists all servers as they stand in the files, the user's first. No
// variable is looked up for this.
func (c *Config) Entries() []Entry { return slices.Clone(c.entries) }

// Settings are the user's.
func (c *Config) Settings() Settings { return c.settings }

// Warnings are about members of the files that were passed over, and about
// permissions that let other users change the user's file.
func (c *Config) Warnings() []string { return slices.Clone(c.warnings) }

// UserFile is the user's file, whether or not there is one.
func (c *Config) UserFile() string { return c.user }

// ProjectFile is the project's file, whether or not there is one.
func (c *Config) ProjectFile() string { return filepath.Join(c.project, projectFile) }

// ApprovalsFile is where approvals of this user are kept.
func (c *Config) ApprovalsFile() string { return filepath.Join(c.o.UserDir, "approvals.json") }

// entry finds the entry that counts for a name.
func (c *Config) entry(name string) (Entry, error) {
	for _, e := range c.entries {
		if e.Name == name && e.Shadowed == "" {
			return e, e.Err
		}
	}
	if len(c.entries) == 0 {
		return Entry{}, fmt.Errorf("there is no server %q, because none is set up: add one to %s or %s, or give a URL, builtin:NAME or a command after --", visible.Line(name), c.user, c.ProjectFile())
	}
	return Entry{}, fmt.Errorf("there is no server %q in %s or %s%s", visible.Line(name), c.user, c.ProjectFile(), didYouMean(name, c.Names()))
}
