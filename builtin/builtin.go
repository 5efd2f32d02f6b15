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
	// tasks is open for a server that has tasks, which a store keeps.
	tasks func(url.Values, tasks.Store) (*server.Server, error)
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
	"calc":  kind(Kind{Name: "calc", About: "exact arithmetic; a small example server"}, calc.FromQuery, calc.New),
	"demo":  kind(Kind{Name: "demo", About: "a slow tool that runs as a task", tasks: openDemo}, demo.FromQuery, demo.New),
	"fs":    kind(Kind{Name: "fs", About: "files below the folders you name", Usage: "root=DIR readonly=1"}, fs.FromQuery, fs.New),
	"notes": kind(Kind{Name: "notes", About: "a vault of Markdown notes, such as Obsidian's", Usage: "vault=DIR readonly=1 poll=1 grants=FILE"}, notes.FromQuery, notes.New),
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

func openDemo(q url.Values, store tasks.Store) (*server.Server, error) {
	c, err := demo.FromQuery(q)
	if err != nil {
		return nil, &OptionError{err}
	}
	c.Store = store
	return demo.New(c)
}
