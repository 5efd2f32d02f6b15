package api

import (
	"cmp"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/tenon-mcp/tenon/auth/tokens"
	"github.com/tenon-mcp/tenon/builtin/api/credential"
	"github.com/tenon-mcp/tenon/builtin/api/spec"
	"github.com/tenon-mcp/tenon/builtin/api/upstream"
	"github.com/tenon-mcp/tenon/ext/tasks"
	"github.com/tenon-mcp/tenon/internal/settings"
)

// Config configures the server.
type Config struct {
	// File is the path of the file; see docs/wrap-an-api.md. The server loads
	// it again when it changes.
	File string

	// Data is the content of a file that is part of the program, instead of
	// File. Name is its name in messages.
	Data []byte
	Name string

	// Base replaces the base URL of the file.
	Base string

	// Private allows loopback and private networks, whatever the file says.
	Private bool

	// Toolsets selects tools by the names of toolsets. Empty means the toolset
	// default, or all tools if the file has none.
	Toolsets []string

	// Profile selects a profile of the file.
	Profile string

	// ReadOnly leaves out tools that do not only read.
	ReadOnly bool

	// Files is the folder of files that tools may upload. Empty means none.
	Files string

	// ClientRoots allows tools to upload files below the roots of their client,
	// where Files is empty. Set it only if every client runs on this machine and
	// may read what this process may.
	ClientRoots bool

	// Resolver finds secrets. The zero value uses the environment, the keyring
	// and files.
	Resolver credential.Resolver

	// Auth replaces the credentials of the file; nil means those of the file.
	Auth []spec.Auth

	// Tokens stores the tokens of logins. Nil means files of the user.
	Tokens tokens.Store

	// CallerTokens stores the tokens of callers who have accounts of their own.
	// Nil means Tokens.
	CallerTokens tokens.Store

	// Store keeps tasks. Nil means in memory.
	Store tasks.Store

	// RootCAs are the trusted certificates. Nil means those of the system.
	RootCAs *x509.CertPool

	// Transport sends requests instead of the network, for tests. Addresses are
	// not checked then. Nil means the network.
	Transport http.RoundTripper

	// TokenTransport sends requests for tokens. Nil means Transport.
	TokenTransport http.RoundTripper

	// Log receives errors of background work, such as mistakes in a changed
	// file. Nil means slog.Default().
	Log *slog.Logger
}

func (c Config) withDefaults() Config {
	c.Log = cmp.Or(c.Log, slog.Default())
	c.Name = cmp.Or(c.Name, c.File)
	return c
}

// keys are the settings that FromQuery accepts.
var keys = []string{"file", "base", "private", "toolsets", "profile", "readonly", "files", "clientroots"}

// FromQuery returns the Config for the query of a URL such as
// builtin:api?file=tracker.yaml&toolsets=issues. The keys are
//
//	file       the file that describes the API; required
//	base       another base URL, such as that of a test
//	private    1 to allow loopback and private networks
//	toolsets   names of toolsets, separated by commas
//	profile    a profile of the file
//	readonly   1 to leave out tools that do not only read
//	files      a folder of files that tools may upload
//	clientroots  1 to let tools upload files below the roots of the client
func FromQuery(q url.Values) (Config, error) {
	c, err := fromQuery(q, keys)
	if err == nil && c.File == "" {
		err = errors.New("file is missing; name the file that describes the API, such as file=tracker.yaml")
	}
	return c, err
}

// Pack returns the function that makes a Config of a query for a file that is part
// of the program.
func Pack(name string, data []byte) func(url.Values) (Config, error) {
	return func(q url.Values) (Config, error) {
		c, err := fromQuery(q, keys[1:])
		c.Data, c.Name = data, name
		return c, err
	}
}

func fromQuery(q url.Values, known []string) (Config, error) {
	var c Config
	err := settings.Read(q, "api", known, nil, func(key string, values []string) error { return c.set(key, values[0]) })
	return c, err
}

func (c *Config) set(key, value string) (err error) {
	switch key {
	case "file":
		c.File = value
	case "base":
		c.Base = value
	case "profile":
		c.Profile = value
	case "files":
		c.Files = value
	case "toolsets":
		c.Toolsets = strings.Split(value, ",")
	case "private":
		c.Private, err = flag(key, value)
	case "readonly":
		c.ReadOnly, err = flag(key, value)
	case "clientroots":
		c.ClientRoots, err = flag(key, value)
	}
	return err
}

func flag(key, value string) (bool, error) {
	on, err := strconv.ParseBool(value)
	if err != nil {
		return false, fmt.Errorf("%s must be 1 or 0, got %q", key, value)
	}
	return on, nil
}

// Network returns what sends requests to the network: to public addresses, and to
// loopback and private networks if private is set.
func Network(private bool) http.RoundTripper { return upstream.Network(private) }
