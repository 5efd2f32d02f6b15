package discovery

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/ext/servercard"
	"github.com/tenon-mcp/tenon/internal/textclip"
	"github.com/tenon-mcp/tenon/internal/visible"
	"github.com/tenon-mcp/tenon/mcp"
)

// A Server is the content of a server.json file, without the members that Tenon
// does not use.
type Server struct {
	Schema      string                 `json:"$schema,omitzero"`
	Name        string                 `json:"name"`
	Title       string                 `json:"title,omitzero"`
	Description string                 `json:"description"`
	Version     string                 `json:"version"`
	WebsiteURL  string                 `json:"websiteUrl,omitzero"`
	Repository  *servercard.Repository `json:"repository,omitzero"`
	Packages    []Package              `json:"packages,omitzero"`
	Remotes     []servercard.Remote    `json:"remotes,omitzero"`
}

// A Package is a program that a package manager can run.
type Package struct {
	RegistryType         string                  `json:"registryType"`
	RegistryBaseURL      string                  `json:"registryBaseUrl,omitzero"`
	Identifier           string                  `json:"identifier"`
	Version              string                  `json:"version,omitzero"`
	FileSHA256           string                  `json:"fileSha256,omitzero"`
	RuntimeHint          string                  `json:"runtimeHint,omitzero"`
	Transport            Transport               `json:"transport"`
	RuntimeArguments     []Argument              `json:"runtimeArguments,omitzero"`
	PackageArguments     []Argument              `json:"packageArguments,omitzero"`
	EnvironmentVariables []servercard.NamedInput `json:"environmentVariables,omitzero"`
}

// A Transport says how to talk to a running package.
type Transport struct {
	Type string `json:"type"` // stdio, streamable-http or sse
	URL  string `json:"url,omitzero"`
}

// An Argument is a part of a package's command line.
type Argument struct {
	Type string `json:"type"` // positional or named
	servercard.Input
	Variables  map[string]servercard.Input `json:"variables,omitzero"`
	Name       string                      `json:"name,omitzero"`      // of a named argument, with its dashes
	ValueHint  string                      `json:"valueHint,omitzero"` // a label for a positional argument
	IsRepeated bool                        `json:"isRepeated,omitzero"`
}

// schemaPattern finds the date in the $schema of server.json.
var schemaPattern = pattern(`^https://static\.modelcontextprotocol\.io/schemas/([0-9-]+|draft)/server\.schema\.json$`)

// oldestSchema is the first schema with the member names of today.
const oldestSchema = "2025-09-29"

// maxOptions bounds the packages and remotes of a server, which are all listed.
const maxOptions = 50

// ParseServer decodes a server.json file and checks it.
func ParseServer(data []byte) (*Server, error) {
	var s Server
	if err := mcp.Unmarshal(data, &s); err != nil {
		return nil, fmt.Errorf("read server.json: %w", shortened(err))
	}
	if err := s.check(); err != nil {
		return nil, fmt.Errorf("read server.json: %w", err)
	}
	return &s, nil
}

// check returns an error that names all members that break the schema.
func (s *Server) check() error {
	if s.Schema != "" {
		m := schemaPattern().FindStringSubmatch(s.Schema)
		switch {
		case m == nil:
			return fmt.Errorf("$schema %q is not that of a server.json", clip(s.Schema))
		case m[1] != "draft" && m[1] < oldestSchema:
			return fmt.Errorf("its schema of %s is too old; Tenon reads those since %s", m[1], oldestSchema)
		}
	}
	errs := []error{servercard.CheckName(s.Name), servercard.CheckVersion("version", s.Version)}
	if n := utf8.RuneCountInString(s.Description); n < 1 || n > 100 {
		errs = append(errs, errors.New("description must have 1 to 100 characters"))
	}
	if utf8.RuneCountInString(s.Title) > 100 {
		errs = append(errs, errors.New("title must have at most 100 characters"))
	}
	if len(s.Packages)+len(s.Remotes) > maxOptions {
		return fmt.Errorf("it has more than %d packages and remotes", maxOptions)
	}
	for i, p := range s.Packages {
		errs = append(errs, p.check(fmt.Sprintf("packages[%d]", i)))
	}
	for i, r := range s.Remotes {
		errs = append(errs, r.Check(fmt.Sprintf("remotes[%d]", i)))
	}
	return errors.Join(errs...)
}

func (p *Package) check(place string) error {
	var errs []error
	if p.RegistryType == "" {
		errs = append(errs, fmt.Errorf("%s.registryType is missing", place))
	}
	if p.Identifier == "" {
		errs = append(errs, fmt.Errorf("%s.identifier is missing", place))
	}
	if p.Version != "" {
		errs = append(errs, servercard.CheckVersion(place+".version", p.Version))
	}
	if p.FileSHA256 != "" && !isSHA256(p.FileSHA256) {
		errs = append(errs, fmt.Errorf("%s.fileSha256 must be 64 lower-case hexadecimal digits", place))
	}
	if !slices.Contains([]string{"stdio", servercard.StreamableHTTP, servercard.SSE}, p.Transport.Type) {
		errs = append(errs, fmt.Errorf("%s.transport.type must be stdio, streamable-http or sse, not %q", place, clip(p.Transport.Type)))
	}
	for i, a := range p.RuntimeArguments {
		errs = append(errs, a.check(fmt.Sprintf("%s.runtimeArguments[%d]", place, i)))
	}
	for i, a := range p.PackageArguments {
		errs = append(errs, a.check(fmt.Sprintf("%s.packageArguments[%d]", place, i)))
	}
	for i, v := range p.EnvironmentVariables {
		at := fmt.Sprintf("%s.environmentVariables[%d]", place, i)
		errs = append(errs, v.Check(at))
		if v.Name != "" && !variablePattern().MatchString(v.Name) {
			errs = append(errs, fmt.Errorf("%s.name %q is not the name of an environment variable", at, clip(v.Name)))
		}
	}
	return errors.Join(errs...)
}

var (
	variablePattern = pattern(`^[A-Za-z_][A-Za-z0-9_]*$`)
	flagPattern     = pattern(`^[A-Za-z0-9_./:@%+-]+$`)
)

func (a *Argument) check(place string) error {
	errs := []error{a.Input.Check(place)}
	switch {
	case a.Type != "positional" && a.Type != "named":
		errs = append(errs, fmt.Errorf("%s.type must be positional or named, not %q", place, clip(a.Type)))
	case a.Type == "named" && !flagPattern().MatchString(a.Name):
		errs = append(errs, fmt.Errorf("%s.name must be a flag such as --port, not %q", place, clip(a.Name)))
	case a.Type == "positional" && a.Value == nil && a.ValueHint == "":
		errs = append(errs, fmt.Errorf("%s must have value or valueHint", place))
	}
	if a.Value != nil && strings.ContainsRune(*a.Value, 0) {
		errs = append(errs, fmt.Errorf("%s.value has a zero byte", place))
	}
	for name, v := range a.Variables {
		errs = append(errs, v.Check(place+".variables."+clip(name)))
	}
	return errors.Join(errs...)
}

var sha256Pattern = pattern(`^[a-f0-9]{64}$`)

func isSHA256(text string) bool { return sha256Pattern().MatchString(text) }

// shortened returns an error with a shorter text: one about a deeply nested value
// has a long path.
func shortened(err error) error { return errors.New(textclip.Clip(visible.Line(err.Error()), 300)) }

// clip makes text from others fit for errors.
func clip(s string) string { return textclip.Clip(visible.Line(s), 100) }

// Describe returns the description of a server from source, the file or URL that
// the server.json came from.
func (s *Server) Describe(source string) *Description {
	d := &Description{Source: source, Name: s.Name, Title: s.Title, Version: s.Version, Description: s.Description, Website: s.WebsiteURL}
	if s.Repository != nil {
		d.Repository = s.Repository.URL
	}
	for i, p := range s.Packages {
		d.Options = append(d.Options, p.option(i+1))
	}
	for i, r := range s.Remotes {
		d.Options = append(d.Options, remoteOption(i+1, r))
	}
	return d
}

// pattern returns a function that compiles a regular expression when it is first
// called, so that programs which never use it start faster.
func pattern(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
