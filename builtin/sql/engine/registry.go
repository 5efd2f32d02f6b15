package engine

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

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
