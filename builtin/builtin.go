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

	"github.com/tenon-mcp/tenon/builtin/calc"
	"github.com/tenon-mcp/tenon/builtin/demo"
	"github.com/tenon-mcp/tenon/builtin/fs"
	"github.com/tenon-mcp/tenon/builtin/notes"
	"github.com/tenon-mcp/tenon/builtin/sql"
	_ "github.com/tenon-mcp/tenon/builtin/sql/mysql"    // an engine of sql
	_ "github.com/tenon-mcp/tenon/builtin/sql/postgres" // an engine of sql
	_ "github.com/tenon-mcp/tenon/builtin/sql/sqlite"   // an engine of sql
	"github.com/tenon-mcp/tenon/ext/tasks"
	"github.com/tenon-mcp/tenon/server"
)

// A Kind describes a builtin server.
type Kind struct {
	Name  string
	About string
	// Usage lists the options, such as "root=DIR readonly=1".
	Usage string
	open  func(url.Values) (*server.Server, error)
	// tasks is open for a server that has tasks, which a store keeps.
	tasks func(url.Values, tasks.Store) (*server.Server, error)
}

// open returns a function that creates a server from the settings of a query.
func open[C any](read func(url.Values) (C, error), make func(C) (*server.Server, error)) func(url.Values) (*server.Server, error) {
	return func(q url.Values) (*server.Server, error) {
		c, err := read(q)
		if err != nil {
			return nil, &OptionError{err}
		}
		return make(c)
	}
}

var kinds = map[string]Kind{
	"calc":  {Name: "calc", About: "exact arithmetic; a small example server", open: open(calc.FromQuery, calc.New)},
	"demo":  {Name: "demo", About: "a slow tool that runs as a task", open: open(demo.FromQuery, demo.New), tasks: openDemo},
	"fs":    {Name: "fs", About: "files below the folders you name", Usage: "root=DIR readonly=1", open: open(fs.FromQuery, fs.New)},
	"notes": {Name: "notes", About: "a vault of Markdown notes, such as Obsidian's", Usage: "vault=DIR readonly=1 poll=1 grants=FILE", open: open(notes.FromQuery, notes.New)},
	"sql":   {Name: "sql", About: "a SQLite, PostgreSQL or MariaDB database", Usage: "dsn=FILE-OR-URL writes=1", open: open(sql.FromQuery, sql.New)},
}

// An OptionError reports an unknown builtin server or invalid settings of one.
type OptionError struct{ err error }

func (e *OptionError) Error() string { return e.err.Error() }
func (e *OptionError) Unwrap() error { return e.err }

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

// HasTasks reports whether a builtin server has tools that run as tasks.
func HasTasks(name string) bool { return kinds[name].tasks != nil }

// OpenTasks is [Open] for a server that keeps its tasks in a store, which the
// caller closes after the server. It returns an *OptionError if the server has
// no tasks, see [HasTasks].
func OpenTasks(name string, query url.Values, store tasks.Store) (*server.Server, error) {
	return openKind(name, func(k Kind) (*server.Server, error) {
		if k.tasks == nil {
			return nil, &OptionError{errors.New("no tool of this server runs as a task")}
		}
		return k.tasks(query, store)
	})
}

func openKind(name string, open func(Kind) (*server.Server, error)) (*server.Server, error) {
	k, ok := kinds[name]
	if !ok {
		return nil, &OptionError{fmt.Errorf("unknown builtin server %q; there are %s", name, strings.Join(slices.Sorted(maps.Keys(kinds)), ", "))}
	}
	s, err := open(k)
	if err != nil {
		return nil, fmt.Errorf("builtin:%s: %w", name, err)
	}
	return s, nil
}

func openDemo(q url.Values, store tasks.Store) (*server.Server, error) {
	c, err := demo.FromQuery(q)
	if err != nil {
		return nil, &OptionError{err}
	}
	c.Store = store
	return demo.New(c)
}
