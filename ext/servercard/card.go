package servercard

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/mcp"
)

// Schema is the value of $schema in every card.
const Schema = "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json"

// CardType is the media type of a card.
const CardType = "application/mcp-server-card+json"

// CardSuffix is added to the URL of a streamable HTTP endpoint to get the
// default URL of its card.
const CardSuffix = "/server-card"

// The types of a [Remote].
const (
	StreamableHTTP = "streamable-http"
	SSE            = "sse"
)

// A Card describes a remote server.
type Card struct {
	Schema      string      `json:"$schema"`
	Name        string      `json:"name"` // such as com.example/weather
	Version     string      `json:"version"`
	Description string      `json:"description"` // at most 100 characters
	Title       string      `json:"title,omitzero"`
	WebsiteURL  string      `json:"websiteUrl,omitzero"`
	Repository  *Repository `json:"repository,omitzero"`
	Icons       []mcp.Icon  `json:"icons,omitzero"`
	Remotes     []Remote    `json:"remotes,omitzero"`
}

// A Repository is the place of a server's source code.
type Repository struct {
	URL       string `json:"url"`
	Source    string `json:"source"` // such as github
	Subfolder string `json:"subfolder,omitzero"`
	ID        string `json:"id,omitzero"`
}

// A Remote is an endpoint of a server.
type Remote struct {
	Type      string           `json:"type"` // StreamableHTTP or SSE
	URL       string           `json:"url"`  // {name} is replaced by the value of a variable
	Headers   []NamedInput     `json:"headers,omitzero"`
	Variables map[string]Input `json:"variables,omitzero"`

	// SupportedProtocolVersions may be empty, which means unknown.
	SupportedProtocolVersions []string `json:"supportedProtocolVersions,omitzero"`
}

// An Input is a value that the user provides, or that is fixed.
type Input struct {
	Description string   `json:"description,omitzero"`
	IsRequired  bool     `json:"isRequired,omitzero"`
	IsSecret    bool     `json:"isSecret,omitzero"`
	Format      string   `json:"format,omitzero"` // "", string, number, boolean or filepath
	Default     *string  `json:"default,omitzero"`
	Placeholder string   `json:"placeholder,omitzero"`
	Value       *string  `json:"value,omitzero"` // if not nil, the user is not asked
	Choices     []string `json:"choices,omitzero"`
}

// A NamedInput is an [Input] for a header or an environment variable. {name} in
// its Value is replaced by the value of a variable.
type NamedInput struct {
	Name string `json:"name"`
	Input
	Variables map[string]Input `json:"variables,omitzero"`
}

// Parse decodes a card and checks it.
func Parse(data []byte) (*Card, error) {
	var c Card
	if err := mcp.Unmarshal(data, &c); err != nil {
		return nil, fmt.Errorf("read the server card: %w", err)
	}
	if err := c.Check(); err != nil {
		return nil, fmt.Errorf("read the server card: %w", err)
	}
	return &c, nil
}

// Check returns an error that names all members that break the schema of cards.
func (c *Card) Check() error {
	var errs []error
	if c.Schema != Schema {
		errs = append(errs, fmt.Errorf("$schema must be %q", Schema))
	}
	errs = append(errs, CheckName(c.Name), CheckVersion("version", c.Version), checkLength("description", c.Description, 1, 100))
	if c.Title != "" {
		errs = append(errs, checkLength("title", c.Title, 1, 100))
	}
	for i, r := range c.Remotes {
		errs = append(errs, r.Check(fmt.Sprintf("remotes[%d]", i)))
	}
	return errors.Join(errs...)
}

// namePattern is the pattern of names in the schemas of cards and server.json.
var namePattern = pattern(`^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$`)

// CheckName returns an error if the name of a server does not have the form
// namespace/name.
func CheckName(name string) error {
	if len(name) < 3 || len(name) > 200 || !namePattern().MatchString(name) {
		return fmt.Errorf("name must have the form namespace/name, such as com.example/weather, not %q", clip(name))
	}
	return nil
}

// rangePattern finds version ranges such as ^1.2, >=1, 1.x and 1.*.
var rangePattern = pattern(`[\^~<>=*|\s]|(^|\.)[xX](\.|$)`)

// CheckVersion returns an error if a version is empty, too long, a range, or
// "latest". The error starts with place.
func CheckVersion(place, version string) error {
	switch {
	case version == "" || len(version) > 255:
		return fmt.Errorf("%s must have 1 to 255 characters", place)
	case version == "latest" || rangePattern().MatchString(version):
		return fmt.Errorf("%s must be one version, not %q", place, clip(version))
	}
	return nil
}

// urlPattern is the pattern of URLs in the schema of cards. A URL may start with
// a variable.
var urlPattern = pattern(`^(https?://\S+|\{[a-zA-Z_][a-zA-Z0-9_]*\}\S*)$`)

// Check returns an error that names all members that break the schema. The
// errors start with place.
func (r *Remote) Check(place string) error {
	var errs []error
	if r.Type != StreamableHTTP && r.Type != SSE {
		errs = append(errs, fmt.Errorf("%s.type must be %s or %s, not %q", place, StreamableHTTP, SSE, clip(r.Type)))
	}
	if !urlPattern().MatchString(r.URL) {
		errs = append(errs, fmt.Errorf("%s.url must start with http://, https:// or a variable, and have no spaces", place))
	}
	for i, h := range r.Headers {
		errs = append(errs, h.Check(fmt.Sprintf("%s.headers[%d]", place, i)))
	}
	for name, v := range r.Variables {
		errs = append(errs, v.Check(place+".variables."+member(name)))
	}
	return errors.Join(errs...)
}

// Check returns an error that names all members that break the schema. The
// errors start with place.
func (n *NamedInput) Check(place string) error {
	var errs []error
	if n.Name == "" {
		errs = append(errs, fmt.Errorf("%s.name is missing", place))
	}
	errs = append(errs, n.Input.Check(place))
	for name, v := range n.Variables {
		errs = append(errs, v.Check(place+".variables."+member(name)))
	}
	return errors.Join(errs...)
}

// Check returns an error if the format is unknown. The error starts with place.
func (in *Input) Check(place string) error {
	if !slices.Contains([]string{"", "string", "number", "boolean", "filepath"}, in.Format) {
		return fmt.Errorf("%s.format must be string, number, boolean or filepath, not %q", place, clip(in.Format))
	}
	return nil
}

func checkLength(place, text string, least, most int) error {
	if n := utf8.RuneCountInString(text); n < least || n > most {
		return fmt.Errorf("%s must have %d to %d characters", place, least, most)
	}
	return nil
}

// plainName matches names of members that need no quotes in errors.
var plainName = pattern(`^[\w.-]+$`)

// member returns the name of a member for errors.
func member(name string) string {
	if name = clip(name); plainName().MatchString(name) {
		return name
	}
	return strconv.Quote(name)
}

// publisher returns the domain of a card's namespace: com.example is
// example.com.
func (c *Card) publisher() (domain, name string) {
	namespace, name, _ := strings.Cut(c.Name, "/")
	labels := strings.Split(namespace, ".")
	slices.Reverse(labels)
	return strings.Join(labels, "."), name
}

// pattern returns a function that compiles a regular expression when it is first
// called, so that programs which never use it start faster.
func pattern(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
