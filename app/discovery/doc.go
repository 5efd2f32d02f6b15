// Package discovery reads the files that describe MCP servers, and turns them
// into entries of the configuration:
//
//	server.json    how to run or reach a server, from a file, a URL or a registry
//	.mcpb          a bundle: a zip file with a server and its manifest
//	server card    where a remote server is, from a file or a URL
//
// A [Description] is what such a file says. It has one or several [Option]s: a
// package to run, a remote server to connect to. An Option has [Input]s, which
// the user provides, and makes a [config.Entry] from them. Reading and adding
// starts no program.
//
// The files come from others. Texts in them must be escaped before they are
// shown. What is fetched is bounded in size and time, and a URL in a file
// reaches neither this machine nor a private network unless the user named a URL
// there.
package discovery

import (
	"net/url"

	"github.com/tenon-mcp/tenon/app/config"
)

// A Description is what a file says about a server.
type Description struct {
	Source string // the file or URL that was read

	Name, Title, Version, Description string

	Publisher, Website, Repository string // empty if unknown

	// Options are the ways to use the server, in the order of the file.
	Options []*Option

	// Warnings are sentences to show before the server is added.
	Warnings []string

	given *url.URL // the URL that the user named; nil if it was a file
}

// An Option is one way to use a server.
type Option struct {
	Kind   OptionKind
	Number int    // among the options of this kind, from 1
	Type   string // npm, pypi, oci, nuget or mcpb; streamable-http or sse
	Target string // what is run or connected to, such as weather@1.2.3

	// Unsupported says why Tenon cannot use the option. Empty means that it can.
	Unsupported string

	// Program is the program that runs a package, such as npx. Empty for remote
	// servers and for programs inside a bundle.
	Program string

	Inputs   []Input
	Warnings []string

	// Download is set for a bundle that has to be downloaded first; see
	// [Option.Fetch]. Such an option has no inputs.
	Download *Download

	// Bundle is set for an option whose files must be unpacked before the entry
	// is used.
	Bundle *Bundle

	recipe recipe
}

// An OptionKind says what using an option means.
type OptionKind string

const (
	PackageOption OptionKind = "package" // runs a program on this machine
	RemoteOption  OptionKind = "remote"  // connects to a URL
)

// Summary returns the option in a few words, such as "npm weather@1.2.3".
func (o *Option) Summary() string { return o.Type + " " + o.Target }

// kind returns the kind of the entry.
func (o *Option) kind() config.Kind {
	switch {
	case o.Kind == PackageOption:
		return config.Stdio
	case o.Type == "sse":
		return config.SSE
	}
	return config.HTTP
}
