// Package builtin lists the MCP servers that come with Tenon by name. To use a
// single server, import its package instead.
//
//	s, err := builtin.Open("fs", url.Values{"root": {"."}})
package builtin

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/auth/tokens"
	"github.com/tenon-mcp/tenon/builtin/api"
	"github.com/tenon-mcp/tenon/builtin/api/packs"
	"github.com/tenon-mcp/tenon/builtin/calc"
	"github.com/tenon-mcp/tenon/builtin/demo"
	"github.com/tenon-mcp/tenon/builtin/fs"
	"github.com/tenon-mcp/tenon/builtin/notes"
	"github.com/tenon-mcp/tenon/builtin/sql"
	_ "github.com/tenon-mcp/tenon/builtin/sql/mysql"    // an engine of sql
	_ "github.com/tenon-mcp/tenon/builtin/sql/postgres" // an engine of sql
	_ "github.com/tenon-mcp/tenon/builtin/sql/sqlite"   // an engine of sql
	"github.com/tenon-mcp/tenon/ext/tasks"
	"github.com/tenon-mcp/tenon/internal/typo"
	"github.com/tenon-mcp/tenon/server"
)

// A Kind describes a builtin server.
type Kind struct {
	Name  string
	About string
	// Usage lists the options, such as "root=DIR readonly=1".
	Usage string
	check func(url.Values) error
	open  func(url.Values) (*server.Server, error)
	// wraps is set for the servers of builtin/api.
	wraps bool
	// with is open for a server that has tasks, or accounts of its callers.
	with func(url.Values, Options) (*server.Server, error)
}

// Options has the stores of a builtin server that uses them.
type Options struct {
	// Tasks keeps the tasks of the server. Nil means in memory.
	Tasks tasks.Store
	// CallerTokens stores the tokens of callers who log in to an API. Nil means
	// files of the user.
	CallerTokens tokens.Store
	// ClientRoots lets a server for an API upload files below the roots of its
	// client, unless the query says clientroots=0: the client is this process.
	ClientRoots bool
	// RemoteClients says that clients may be on other machines, so that
	// clientroots=1 is refused.
	RemoteClients bool
}

// kind completes a Kind with functions that read the settings of a query and create
// a server from them.
func kind[C any](k Kind, read func(url.Values) (C, error), make func(C) (*server.Server, error)) Kind {
	k.check = func(q url.Values) error {
		if _, err := read(q); err != nil {
			return &OptionError{err}
		}
		return nil
	}
	k.open = func(q url.Values) (*server.Server, error) {
		c, err := read(q)
		if err != nil {
			return nil, &OptionError{err}
		}
		return make(c)
	}
	return k
}

var kinds = map[string]Kind{
	"api":   kind(Kind{Name: "api", About: "an HTTP API that a file describes", Usage: "file=FILE base=URL private=1 toolsets=A,B profile=NAME readonly=1 files=DIR clientroots=1", wraps: true, with: openAPI(api.FromQuery)}, api.FromQuery, api.New),
	"calc":  kind(Kind{Name: "calc", About: "exact arithmetic; a small example server"}, calc.FromQuery, calc.New),
	"demo":  kind(Kind{Name: "demo", About: "a slow tool that runs as a task; progress, logs and sampling", with: openDemo}, demo.FromQuery, demo.New),
	"fs":    kind(Kind{Name: "fs", About: "files below the folders you name", Usage: "root=DIR readonly=1"}, fs.FromQuery, fs.New),
	"notes": kind(Kind{Name: "notes", About: "a vault of Markdown notes, such as Obsidian's", Usage: "vault=DIR readonly=1 poll=2s grants=FILE"}, notes.FromQuery, notes.New),
	"sql":   kind(Kind{Name: "sql", About: "a SQLite, PostgreSQL or MariaDB database", Usage: "dsn=FILE-OR-URL writes=1"}, sql.FromQuery, sql.New),
}

// An OptionError reports an unknown builtin server or invalid settings of one.
type OptionError struct{ err error }

func (e *OptionError) Error() string { return e.err.Error() }
func (e *OptionError) Unwrap() error { return e.err }

// Permanent reports true: only another configuration helps.
func (e *OptionError) Permanent() bool { return true }

// Kinds returns the builtin servers sorted by name.
func Kinds() []Kind {
	var all []Kind
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		all = append(all, kinds[name])
	}
	return all
}

// Open creates the server with a name and the settings of a query, as in
// builtin:NAME?query.
func Open(name string, query url.Values) (*server.Server, error) {
	return openKind(name, func(k Kind) (*server.Server, error) { return k.open(query) })
}

// WrapsAPI reports whether a builtin server sends requests to an API, maybe with a
// token that it exchanges for that of its caller.
func WrapsAPI(name string) bool { return kinds[name].wraps }

// HasTasks reports whether a builtin server has tools that run as tasks.
func HasTasks(name string) bool { return kinds[name].with != nil }

// OpenWith is [Open] for a server that uses stores, which the caller closes after
// the server. It returns an *OptionError if the server has no tasks, see
// [HasTasks], and there is a store for them.
func OpenWith(name string, query url.Values, o Options) (*server.Server, error) {
	return openKind(name, func(k Kind) (*server.Server, error) {
		switch {
		case k.with != nil:
			return k.with(query, o)
		case o.Tasks != nil:
			return nil, &OptionError{errors.New("no tool of this server runs as a task")}
		}
		return k.open(query)
	})
}

func openKind(name string, open func(Kind) (*server.Server, error)) (*server.Server, error) {
	k, err := find(name)
	if err != nil {
		return nil, err
	}
	s, err := open(k)
	if err != nil {
		return nil, fmt.Errorf("builtin:%s: %w", name, err)
	}
	return s, nil
}

// Check returns the *OptionError that [Open] would return, without creating the
// server.
func Check(name string, query url.Values) error {
	k, err := find(name)
	if err != nil {
		return err
	}
	if err := k.check(query); err != nil {
		return fmt.Errorf("builtin:%s: %w", name, err)
	}
	return nil
}

// find returns the builtin server with a name.
func find(name string) (Kind, error) {
	k, ok := kinds[name]
	if ok {
		return k, nil
	}
	names := slices.Sorted(maps.Keys(kinds))
	if near := typo.Nearest(name, names); near != "" {
		return k, &OptionError{fmt.Errorf("unknown builtin server %q; did you mean %q?", name, near)}
	}
	return k, &OptionError{fmt.Errorf("unknown builtin server %q; there are %s", name, strings.Join(names, ", "))}
}

// packUsage lists the options of a pack.
const packUsage = "base=URL private=1 toolsets=A,B profile=NAME readonly=1 files=DIR clientroots=1"

// The packs are files of builtin/api.
func init() {
	for name, about := range map[string]string{
		"github": "issues, pull requests, files, search and actions of GitHub", "slack": "channels, messages, search and files of Slack",
		"onenote": "notebooks and pages of OneNote", "orders": "orders and refunds of a small shop; see tenon demo orders",
	} {
		data, ok := packs.File(name)
		if !ok {
			continue
		}
		read := api.Pack(name+".yaml", data)
		kinds[name] = kind(Kind{Name: name, About: about, Usage: packUsage, wraps: true, with: openAPI(read)}, read, api.New)
	}
}

// openAPI opens an API with stores.
func openAPI(read func(url.Values) (api.Config, error)) func(url.Values, Options) (*server.Server, error) {
	return func(q url.Values, o Options) (*server.Server, error) {
		c, err := read(q)
		if err != nil {
			return nil, &OptionError{err}
		}
		if c.ClientRoots && o.RemoteClients {
			return nil, &OptionError{errors.New("clientroots=1 is for clients on this machine, over standard input and output: the folders of others are elsewhere. Use files=DIR")}
		}
		c.ClientRoots = c.ClientRoots || o.ClientRoots && !q.Has("clientroots")
		c.Store, c.CallerTokens = o.Tasks, o.CallerTokens
		return api.New(c)
	}
}

func openDemo(q url.Values, o Options) (*server.Server, error) {
	c, err := demo.FromQuery(q)
	if err != nil {
		return nil, &OptionError{err}
	}
	c.Store = o.Tasks
	return demo.New(c)
}
