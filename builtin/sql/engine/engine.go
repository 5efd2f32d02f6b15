// Package engine defines the interface between the SQL server and a
// database, and registers the engines of a program. Each engine is a
// package, so that a program links only the drivers that it imports:
//
//	import _ "github.com/tenon-mcp/tenon/builtin/sql/sqlite"
package engine

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// A Database is the database of a server. Every call opens and closes its
// own session: a lock, a setting or a temporary table of one statement does
// not affect the next, and a database that was down can be used as soon as
// it is up. It is safe for concurrent use.
type Database interface {
	// Product returns the name of the engine, such as "PostgreSQL".
	Product() string

	// Location returns a description of the database without secrets.
	Location() string

	// Dialect returns one sentence for the model about how to write
	// statements for this engine.
	Dialect() string

	// Read runs one statement that cannot change anything: the engine
	// refuses writes. When ctx ends, the engine cancels the statement.
	Read(ctx context.Context, q Query, to Sink) error

	// Write runs and commits one statement.
	Write(ctx context.Context, q Query, to Sink) (Changed, error)

	// Tables lists tables and views, without their columns.
	Tables(ctx context.Context) ([]Table, error)

	// Table fills in the rest of a Table that Tables returned.
	Table(ctx context.Context, t Table) (Table, error)

	// Objects returns the objects that match a filter, sorted by table and
	// name. An engine without objects of that kind returns none.
	Objects(ctx context.Context, f Filter) ([]Object, error)

	// Placeholder returns the placeholder for parameter n, counted from 1.
	Placeholder(n int) string

	// Quote returns the quoted name of a table for use in a statement.
	Quote(t Table) string
}

// A Query is one statement.
type Query struct {
	SQL string
	// Params are the values of the placeholders, in order: nil, bool, int64,
	// float64, Decimal, string, Bytes or JSON.
	Params []any
	// Explain requests the query plan instead of the rows.
	Explain bool
}

// A Sink receives the rows of a statement. It returns Enough to end the
// statement early without an error.
type Sink interface {
	// Columns is called once, before any row, even if there are no rows.
	Columns([]Column) error
	// Row receives one row: nil, bool, int64, uint64, float64, Decimal,
	// string, Bytes, JSON, or a []any of these.
	Row([]any) error
}

// Enough is returned by a Sink to end a statement.
var Enough = errors.New("enough rows") //lint:ignore ST1012 it is an answer, not a failure

// A Column is one column of a result.
type Column struct {
	Name string `json:"name"`
	Type string `json:"type,omitempty" doc:"the engine's name of the type; absent if it has none"`
}

// Changed is the result of a statement that writes.
type Changed struct {
	Rows   int64 // number of rows changed
	LastID int64 // key generated for the last new row; 0 means none
}

// Options configure every engine.
type Options struct {
	// Writes allows Write. If unset, the database is opened read-only where
	// the engine supports it.
	Writes bool
	// Privileged lets Read use an account that can do harm even while
	// reading; see the documentation of each engine.
	Privileged bool
	// ConnectTimeout and LockTimeout limit the wait for a connection and for
	// a lock. 0 means 4 seconds.
	ConnectTimeout, LockTimeout time.Duration
	// MaxMessage is the maximum number of bytes that one statement may send
	// to this process before it is cancelled. 0 means 64 MiB.
	MaxMessage int
}

// WithDefaults returns o with defaults for unset fields.
func (o Options) WithDefaults() Options {
	if o.ConnectTimeout <= 0 {
		o.ConnectTimeout = 4 * time.Second
	}
	if o.LockTimeout <= 0 {
		o.LockTimeout = 4 * time.Second
	}
	if o.MaxMessage <= 0 {
		o.MaxMessage = 64 << 20
	}
	return o
}

// An Opener opens the Database of a DSN. It checks the DSN but does not
// connect, so that a server can start while its database is down. Its error
// must not contain the DSN, which may include a password.
type Opener func(dsn string, o Options) (Database, error)

var registry struct {
	mu      sync.Mutex
	openers map[string]Opener
}

// Register registers an engine for the URL schemes of its DSNs, such as
// "postgres". Engines call it from init.
func Register(open Opener, schemes ...string) {
	registry.mu.Lock()
	defer registry.mu.Unlock()
	if registry.openers == nil {
		registry.openers = map[string]Opener{}
	}
	for _, s := range schemes {
		registry.openers[s] = open
	}
}

// known maps the schemes of the engines of this module to their packages,
// for errors.
var known = map[string]string{
	"sqlite": "sqlite", "postgres": "postgres", "postgresql": "postgres", "mysql": "mysql", "mariadb": "mysql",
}

// forServer matches DSNs in the formats of other programs and URLs without
// slashes. Taken for a file name, such a DSN would be shown with its
// password.
var forServer = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^(?:postgres|postgresql|mysql|mariadb):|(?:^|[\s;])(?:password|pwd|user|uid|host|server|dbname|data source)\s*=|^[^/\\]+@(?:tcp|unix)?\(|^[^/\\@]+:[^/\\@]+@`)
})

// Open opens the database of a DSN. A DSN without a scheme is an SQLite file.
func Open(dsn string, o Options) (Database, error) {
	if dsn == "" {
		return nil, fmt.Errorf("the dsn is missing; name the database, such as shop.db, postgres://user@host/name or mysql://user@host/name")
	}
	scheme := "sqlite"
	if s, _, ok := strings.Cut(dsn, "://"); ok && !strings.ContainsAny(s, `/\ @`) {
		scheme = strings.ToLower(s)
	}
	if !strings.HasPrefix(dsn, ".") && scheme == "sqlite" && forServer().MatchString(dsn) {
		return nil, fmt.Errorf("the dsn is for a database server but is not a URL; write postgres://user:password@host:5432/name or mysql://user:password@host:3306/name, or put ./ before the name of an SQLite file")
	}
	registry.mu.Lock()
	open, ok := registry.openers[scheme]
	names := make([]string, 0, len(registry.openers))
	for name := range registry.openers {
		names = append(names, name)
	}
	registry.mu.Unlock()
	if ok {
		return open(dsn, o.WithDefaults())
	}
	slices.Sort(names)
	if pkg := known[scheme]; pkg != "" {
		return nil, fmt.Errorf("this program has no engine for %s; import _ \"github.com/tenon-mcp/tenon/builtin/sql/%s\"", scheme, pkg)
	}
	return nil, fmt.Errorf("unknown engine %q; a dsn is a file name, or begins with one of %s and ://", scheme, strings.Join(names, ", "))
}
