package discovery

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/tenon-mcp/tenon/mcp"
)

// A Manifest is the manifest.json of a bundle, without the members that Tenon
// does not use.
type Manifest struct {
	ManifestVersion string `json:"manifest_version"`
	DXTVersion      string `json:"dxt_version"` // the old name of manifest_version
	Name            string `json:"name"`
	DisplayName     string `json:"display_name"`
	Version         string `json:"version"`
	Description     string `json:"description"`
	Author          struct {
		Name string `json:"name"`
	} `json:"author"`
	Homepage   string `json:"homepage"`
	Repository struct {
		URL string `json:"url"`
	} `json:"repository"`
	Server        manifestServer `json:"server"`
	Compatibility struct {
		Platforms []string `json:"platforms"`
	} `json:"compatibility"`
	UserConfig map[string]userConfig `json:"user_config"`
}

// manifestServer is the server in a bundle.
type manifestServer struct {
	Type       string     `json:"type"`
	EntryPoint string     `json:"entry_point"`
	Config     *mcpConfig `json:"mcp_config"` // nil only for the type uv
}

// mcpConfig says how the server is started.
type mcpConfig struct {
	Command   string               `json:"command"`
	Args      []string             `json:"args"`
	Env       map[string]string    `json:"env"`
	Overrides map[string]mcpConfig `json:"platform_overrides"`
}

// userConfig is an input of a bundle.
type userConfig struct {
	Type        string          `json:"type"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Required    bool            `json:"required"`
	Default     json.RawMessage `json:"default"`
	Multiple    bool            `json:"multiple"`
	Sensitive   bool            `json:"sensitive"`
	Min         *float64        `json:"min"`
	Max         *float64        `json:"max"`
}

// manifestVersions are the versions of manifests that Tenon reads. All have the
// members above; 0.4 adds the type uv.
var manifestVersions = []string{"0.1", "0.2", "0.3", "0.4"}

// ParseManifest decodes a manifest and checks it.
func ParseManifest(data []byte) (*Manifest, error) {
	var m Manifest
	if err := mcp.Unmarshal(data, &m); err != nil {
		return nil, fmt.Errorf("manifest.json: %w", shortened(err))
	}
	if err := m.check(); err != nil {
		return nil, fmt.Errorf("manifest.json: %w", err)
	}
	return &m, nil
}

func (m *Manifest) check() error {
	if m.ManifestVersion == "" {
		m.ManifestVersion = m.DXTVersion
	}
	if !slices.Contains(manifestVersions, m.ManifestVersion) {
		return fmt.Errorf("manifest_version is %q; Tenon reads %s", clip(m.ManifestVersion), strings.Join(manifestVersions, ", "))
	}
	var errs []error
	for name, value := range map[string]string{"name": m.Name, "version": m.Version, "description": m.Description, "author.name": m.Author.Name, "server.entry_point": m.Server.EntryPoint} {
		if value == "" {
			errs = append(errs, fmt.Errorf("%s is missing", name))
		}
	}
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	switch m.Server.Type {
	case "node", "python", "binary":
		if m.Server.Config == nil || m.Server.Config.Command == "" {
			errs = append(errs, errors.New("server.mcp_config.command is missing"))
		}
	case "uv":
	default:
		errs = append(errs, fmt.Errorf("server.type must be node, python, binary or uv, not %q", clip(m.Server.Type)))
	}
	if m.Server.EntryPoint != "" && !inBundle(m.Server.EntryPoint) {
		errs = append(errs, errors.New("server.entry_point must be a path inside the bundle"))
	}
	for _, name := range slices.Sorted(maps.Keys(m.UserConfig)) {
		if _, err := m.UserConfig[name].input(name); err != nil {
			errs = append(errs, fmt.Errorf("user_config.%s: %w", clip(name), err))
		}
	}
	return errors.Join(errs...)
}

// inBundle reports whether a path is relative and stays in its folder.
func inBundle(name string) bool {
	return filepath.IsLocal(filepath.FromSlash(name)) && !strings.ContainsAny(name, "\\:\x00")
}

// input returns the input for a member of user_config.
func (u userConfig) input(name string) (Input, error) {
	in := Input{Name: name, Description: u.Title, Target: "the bundle", Required: u.Required, Secret: u.Sensitive, Multiple: u.Multiple, Format: u.Type, Min: u.Min, Max: u.Max}
	if u.Description != "" && u.Description != u.Title {
		in.Description = strings.Trim(u.Title+": "+u.Description, ": ")
	}
	switch {
	case name == "" || strings.ContainsAny(name, "{}=\x00"):
		return in, errors.New("the name is not valid")
	case !slices.Contains([]string{formatString, formatNumber, formatBoolean, formatDirectory, formatFile}, u.Type):
		return in, fmt.Errorf("type must be string, number, boolean, directory or file, not %q", clip(u.Type))
	}
	var err error
	in.Default, err = defaults(u.Default)
	return in, err
}

// defaults returns the texts of a default: a string, a number, a boolean or a
// list of strings.
func defaults(raw json.RawMessage) ([]string, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	var v any
	if err := mcp.Unmarshal(raw, &v); err != nil {
		return nil, fmt.Errorf("default: %w", err)
	}
	switch v := v.(type) {
	case nil:
		return nil, nil
	case string:
		return []string{v}, nil
	case float64:
		return []string{number(v)}, nil
	case bool:
		return []string{strconv.FormatBool(v)}, nil
	case []any:
		var list []string
		for _, e := range v {
			text, ok := e.(string)
			if !ok {
				return nil, errors.New("default must be a list of strings")
			}
			list = append(list, text)
		}
		return list, nil
	}
	return nil, errors.New("default must be a string, a number, a boolean or a list of strings")
}

// platform returns the name of an operating system in manifests.
func platform(system string) string {
	if system == "windows" {
		return "win32"
	}
	return system
}

// Describe returns the description of a bundle that will be unpacked below dir.
func (b *Bundle) Describe(source, dir string) *Description {
	m := b.Manifest
	d := &Description{Source: source, Name: m.Name, Title: m.DisplayName, Version: m.Version, Description: m.Description,
		Publisher: m.Author.Name, Website: m.Homepage, Repository: m.Repository.URL}
	o := &Option{Kind: PackageOption, Number: 1, Type: "mcpb", Target: m.Name + " " + m.Version, Bundle: b}
	d.Options = []*Option{o}
	if p := m.Compatibility.Platforms; len(p) > 0 && !slices.Contains(p, platform(runtime.GOOS)) {
		o.Unsupported = fmt.Sprintf("it supports %s, and this is %s", clip(strings.Join(p, ", ")), platform(runtime.GOOS))
		return d
	}
	for _, name := range slices.Sorted(maps.Keys(m.UserConfig)) {
		in, _ := m.UserConfig[name].input(name) // ParseManifest has checked it
		for i, text := range in.Default {
			in.Default[i], _ = plain(b.fill(text, ""), nil, 0) // has no inputs
		}
		o.Inputs = append(o.Inputs, in)
	}
	if err := b.prepare(o, b.Folder(dir)); err != nil {
		o.Unsupported = err.Error()
	}
	return d
}

// prepare sets the recipe of a bundle in a folder.
func (b *Bundle) prepare(o *Option, dir string) error {
	m := b.Manifest
	c := m.Server.config()
	if b.file(path.Clean(m.Server.EntryPoint)) == nil && b.file(path.Clean(m.Server.EntryPoint)+".exe") == nil {
		return fmt.Errorf("it has no file %s, its entry point", clip(m.Server.EntryPoint))
	}
	o.recipe.dir = dir
	o.recipe.command = b.command(o, c.Command, dir)
	if text, _ := plain(o.recipe.command, nil, 0); b.runs == "" && o.Program == "" && !strings.Contains(c.Command, "${user_config.") && (!filepath.IsAbs(text) || strings.Contains(c.Command, "${__dirname}")) {
		return fmt.Errorf("its command %q is neither a file of the bundle nor the name of a program", clip(c.Command))
	}
	for _, a := range c.Args {
		o.recipe.args = append(o.recipe.args, argument{value: b.fill(a, dir)})
	}
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		if !variablePattern().MatchString(name) {
			return fmt.Errorf("%q is not the name of an environment variable", clip(name))
		}
		o.recipe.env = append(o.recipe.env, binding{name, b.fill(c.Env[name], dir)})
	}
	return o.recipe.check(m)
}

// config returns the configuration for this operating system.
func (s *manifestServer) config() mcpConfig {
	if s.Config == nil {
		return mcpConfig{Command: "uv", Args: []string{"run", "--directory", "${__dirname}", s.EntryPoint}}
	}
	c := *s.Config
	if o, ok := c.Overrides[platform(runtime.GOOS)]; ok {
		if o.Command != "" {
			c.Command = o.Command
		}
		if o.Args != nil {
			c.Args = o.Args
		}
		if o.Env != nil {
			c.Env = o.Env
		}
	}
	return c
}

// command returns the program. A path inside the bundle becomes absolute, because
// relative paths depend on the folder that the host is started in.
func (b *Bundle) command(o *Option, command, dir string) template {
	inside := path.Clean(strings.TrimPrefix(strings.ReplaceAll(command, "${/}", "/"), "${__dirname}/"))
	if runtime.GOOS == "windows" && b.file(inside) == nil {
		inside += ".exe"
	}
	if b.file(inside) != nil {
		b.runs = inside
		return literal(filepath.Join(dir, filepath.FromSlash(inside)))
	}
	if !strings.ContainsAny(command, `/\$`) {
		o.Program = command
	}
	return b.fill(command, dir)
}

// fill returns the template for a text of the manifest. Unknown variables stay as
// they are.
func (b *Bundle) fill(text, dir string) template {
	var t template
	for {
		start := strings.Index(text, "${")
		end := -1
		if start >= 0 {
			end = strings.IndexByte(text[start:], '}')
		}
		if end < 0 {
			return append(t, segment{text: text})
		}
		name := text[start+2 : start+end]
		t = append(t, segment{text: text[:start]})
		text = text[start+end+1:]
		if key, ok := strings.CutPrefix(name, "user_config."); ok {
			t = append(t, segment{input: key, blank: true})
		} else {
			t = append(t, segment{text: variable(name, dir)})
		}
		t = slices.DeleteFunc(t, func(s segment) bool { return s.text == "" && s.input == "" })
		if text == "" {
			return t
		}
	}
}

// variable returns the value of a variable of manifests, or the variable itself
// if there is none.
func variable(name, dir string) string {
	home, _ := os.UserHomeDir() // without one the variable stays
	switch {
	case name == "__dirname" && dir != "":
		return dir
	case name == "/", name == "pathSeparator":
		return string(filepath.Separator)
	case name == "HOME" && home != "":
		return home
	}
	folders := map[string]string{"DESKTOP": "Desktop", "DOCUMENTS": "Documents", "DOWNLOADS": "Downloads"}
	if folder := folders[name]; folder != "" && home != "" {
		return filepath.Join(home, folder)
	}
	return "${" + name + "}"
}

// check returns an error if the recipe uses an input that the manifest does not
// define.
func (r *recipe) check(m *Manifest) error {
	templates := []template{r.command}
	for _, a := range r.args {
		templates = append(templates, a.value)
	}
	for _, b := range r.env {
		templates = append(templates, b.value)
	}
	for _, t := range templates {
		var unknown string
		t.inputs(func(name string) {
			if _, ok := m.UserConfig[name]; !ok {
				unknown = name
			}
		})
		if unknown != "" {
			return fmt.Errorf("it uses ${user_config.%s}, which user_config does not define", clip(unknown))
		}
	}
	return nil
}
