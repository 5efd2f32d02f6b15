package engine

import (
	"fmt"
	"slices"
	"strings"
	"sync"
)

// An Opener makes a Database of a DSN. It checks the DSN and connects to
// nothing: a database that is down must not keep a server from starting. Its
// error never repeats the DSN, which may hold a password.
type Opener func(dsn string, o Options) (Database, error)

var registry struct {
	mu      sync.Mutex
	openers map[string]Opener
}

// Register makes an engine known under the schemes of its DSNs, such as
// "postgres". Engines call it from their init.
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

// known are the engines of this module, by scheme, for the advice in an error.
var known = map[string]string{
	"sqlite": "sqlite", "postgres": "postgres", "postgresql": "postgres", "mysql": "mysql", "mariadb": "mysql",
}

// Open opens what a DSN names. One without a scheme is a file of SQLite.
func Open(dsn string, o Options) (Database, error) {
	if dsn == "" {
		return nil, fmt.Errorf("there is no dsn: say which database, such as shop.db, postgres://user@host/name or mysql://user@host/name")
	}
	scheme := "sqlite"
	if s, _, ok := strings.Cut(dsn, "://"); ok && !strings.ContainsAny(s, `/\ @`) {
		scheme = strings.ToLower(s)
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
		return nil, fmt.Errorf("this program was built without the engine for %s: import _ \"github.com/tenon-mcp/tenon/builtin/sql/%s\"", scheme, pkg)
	}
	return nil, fmt.Errorf("no engine is called %q: a dsn is the name of a file, or begins with one of %s and ://", scheme, strings.Join(names, ", "))
}
