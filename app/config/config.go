// Package config finds and reads the servers that a person has set up, and
// remembers which of a project's servers that person has approved. It starts
// nothing, opens no connection and knows no protocol.
//
// There are two files. A project may carry .mcp.json: it came with the project,
// so nothing in it is trusted before [Approvals] say so. The person's own file
// is tenon.json in their configuration folder; where both name a server, the
// person's own entry counts.
package config

import (
	"net/url"
	"time"
)

// A Kind is how a server is reached.
type Kind string

const (
	Stdio   Kind = "stdio"   // a program, over its standard input and output
	HTTP    Kind = "http"    // streamable HTTP, or the older pair of endpoints where that is all there is
	SSE     Kind = "sse"     // the older pair of endpoints, and nothing else
	Builtin Kind = "builtin" // a server inside this program
)

// A Server is an entry with its variables filled in, ready to be opened.
type Server struct {
	// Name is the name in the config, or for what [Parse] made, a short name
	// to show.
	Name string
	Kind Kind

	// Command, Args and Env start a server of kind Stdio. No shell reads them.
	// Env is added to what a child process is given anyway: a few variables
	// that programs need, or, with InheritEnv, all of this process. Dir is where
	// the program runs, and what a builtin takes relative paths from; empty
	// means the current folder.
	Command    string
	Args       []string
	Env        map[string]string
	InheritEnv bool
	Dir        string

	// URL, Headers and OAuth reach a server of kind HTTP or SSE. Nil OAuth
	// means that a login, if one is wanted, needs nothing from the config.
	URL     string
	Headers map[string]string
	OAuth   *OAuth

	// Builtin names a server of kind Builtin, and Query are its options.
	Builtin string
	Query   url.Values

	// Timeout is how long a call may be silent. 0 means the default.
	Timeout time.Duration

	// Disabled servers are listed but not opened unless asked for by name.
	Disabled bool

	// Source is where the entry stands; zero for what Parse made.
	Source Source

	// Secrets are values in this server that must not be shown or sent
	// anywhere else. They are not in any order.
	Secrets []string

	entry   Entry             // as it stands in the file: this is what approvals are about
	shown   map[string]string // its texts by their place, filled in as far as they may be shown
	envData []byte            // what its envFile held
	project string            // what ${workspaceFolder} stands for

	approvals *Approvals // what a project's server must have at each start
}

// An OAuth says who this program is at the server's authorization server.
type OAuth struct {
	ClientID     string
	ClientSecret string   // empty: none
	Issuer       string   // empty: the first that the server names
	Scopes       []string // asked for beside those that the server wants
	Resource     string   // what the server calls itself, where that is not its URL

	// RedirectURI is where the browser comes back to. CallbackPort is short
	// for one on this machine. Empty means any free port.
	RedirectURI string

	// ClientIDMetadataURL is a client id that is the address of a document.
	ClientIDMetadataURL string

	// Proxy is the proxy for metadata and tokens: a URL, or "environment" for
	// HTTPS_PROXY and NO_PROXY. Empty means none.
	Proxy string
}

// A Source is where an entry stands.
type Source struct {
	File string
	// Project says that the file came with a project, so that nothing in it
	// may be acted on before the person has approved it.
	Project bool
	Line    int // of the entry's name; 0 if unknown
}

// An Entry is a server as it stands in a file, with its variables not filled
// in.
type Entry struct {
	Name     string
	Kind     Kind
	Command  string
	Args     []string
	Env      map[string]string
	EnvFile  string // a file of NAME=value lines; Env wins over it
	Dir      string
	URL      string
	Headers  map[string]string
	OAuth    *OAuth
	Builtin  string // with its options: "fs?root=."
	Timeout  time.Duration
	Disabled bool
	Source   Source

	// Inputs are the questions that ${input:id} in this entry refers to.
	Inputs []Input
	// Warnings are about members that were passed over, in sentences.
	Warnings []string
	// Err says why the entry cannot be used. The other entries can.
	Err error
	// Shadowed is the file whose entry of the same name counts instead of this
	// one. Empty means that this one counts.
	Shadowed string
}

// An Input is a question whose answer ${input:id} stands for.
type Input struct {
	ID          string
	Description string
	Default     string
	Password    bool     // must not be shown while typed
	Options     []string // if not empty, the answer is one of these

	// Server and Source say who asks: show both with the question.
	Server string
	Source Source
}

// Options say where to look. Nil is a good answer.
type Options struct {
	// Dir is a folder in the project. Empty means the current folder.
	Dir string
	// UserDir holds tenon.json. Empty means "tenon" in the user's
	// configuration folder.
	UserDir string
	// Home is the user's home folder. Empty means what the system says.
	Home string
	// Getenv looks up a variable. Nil means the environment of this process.
	Getenv func(string) (string, bool)
	// Input asks the person for ${input:id}. Each question is asked once. Nil
	// means that the answer must be in the environment, as TENON_INPUT_id.
	Input func(Input) (string, error)
}
