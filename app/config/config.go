// Package config reads the user's and the project's configuration of servers and
// records which of a project's servers the user has approved. It starts nothing
// and opens no connection.
//
//	c, err := config.Load(nil)
//	s, err := c.Server("weather")
//
// A project may have a file .mcp.json. Because it came with the project, its
// servers need an approval; see [Approvals]. The user's own file is tenon.json in
// the configuration folder. It takes precedence if both files have a server with
// the same name.
package config

import (
	"net/url"
	"time"
)

// A Kind is the transport of a server.
type Kind string

const (
	Stdio   Kind = "stdio"   // a program, over its standard input and output
	HTTP    Kind = "http"    // streamable HTTP, falling back to HTTP+SSE
	SSE     Kind = "sse"     // HTTP+SSE only
	Builtin Kind = "builtin" // a server inside this program
)

// A Server is an entry with its variables expanded.
type Server struct {
	// Name is the name in the configuration, or a short name for a server from
	// [Parse].
	Name string
	Kind Kind

	// Command, Args and Env start a server of kind Stdio, without a shell. Env
	// is added to a few variables that programs need, or with InheritEnv to the
	// whole environment of this process. Dir is the folder of the program or the
	// base of a builtin's relative paths; empty means the current folder.
	Command    string
	Args       []string
	Env        map[string]string
	InheritEnv bool
	Dir        string

	// URL, Headers and OAuth are for kinds HTTP and SSE. OAuth may be nil even if
	// the server requires a login.
	URL     string
	Headers map[string]string
	OAuth   *OAuth

	// Builtin is the name of a server of kind Builtin, and Query its options.
	Builtin string
	Query   url.Values

	// Timeout is the idle timeout of a call. 0 means the default.
	Timeout time.Duration

	// Connection says which callers of tenon gateway share a connection.
	Connection Connection

	// Disabled servers are listed, and started only if selected by name.
	Disabled bool

	// Source is the place of the entry; zero for a server from Parse.
	Source Source

	// Secrets are values of this server, in no order, that must not be displayed
	// or sent elsewhere.
	Secrets []string

	entry   Entry             // as written in the file; approvals cover this
	shown   map[string]string // displayable texts by place
	envData []byte            // content of its envFile
	project string            // value of ${workspaceFolder}

	approvals *Approvals // checked by MayStart
}

// A Source is the place of an entry.
type Source struct {
	File string
	// Project says that the file came with a project, so that its servers need
	// an approval.
	Project bool
	Line    int // of the entry's name; 0 if unknown
}

// An Entry is a server as written in a file, with variables not expanded.
type Entry struct {
	Name     string
	Kind     Kind
	Command  string
	Args     []string
	Env      map[string]string
	EnvFile  string // a file of NAME=value lines; Env takes precedence
	Dir      string
	URL      string
	Headers  map[string]string
	OAuth    *OAuth
	Builtin  string // with its options: "fs?root=."
	Timeout  time.Duration
	Disabled bool

	Connection Connection
	Source     Source

	// Inputs are the inputs that ${input:id} in this entry refers to.
	Inputs []Input
	// Warnings are sentences about ignored members.
	Warnings []string
	// Err is the reason why the entry cannot be used, or nil.
	Err error
	// Shadowed is the file with an entry of the same name that takes precedence,
	// or empty.
	Shadowed string
}

// An Input is a value that the user enters for ${input:id}.
type Input struct {
	ID          string
	Description string
	Default     string
	Password    bool     // do not echo the value
	Options     []string // if not empty, the allowed values

	// Server and Source are to be shown with the prompt.
	Server string
	Source Source
}

// Options configures [Load] and [Import]. Nil means all defaults.
type Options struct {
	// Dir is a folder in the project. Empty means the current folder.
	Dir string
	// UserDir holds tenon.json. Empty means "tenon" in the user's
	// configuration folder.
	UserDir string
	// Home is the user's home folder. Empty means that of the system.
	Home string
	// Getenv looks up a variable. Nil means the environment of this process.
	Getenv func(string) (string, bool)
	// Input asks the user for the value of ${input:id}, once per input. Nil means
	// that the value must be in the environment, as TENON_INPUT_id.
	Input func(Input) (string, error)
	// From lists programs whose servers [Load] reads, as [Import] does, instead of
	// the servers of the user's and the project's file. At least one must have a
	// file.
	From []string
	// Keyring returns a secret from the keyring for ${keyring:name} in the user's
	// own file; "" means that there is none. Nil means that there is no keyring.
	Keyring func(name string) (string, error)
}
