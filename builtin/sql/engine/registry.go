package engine

import (
	"fmt"
	"regexp"
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

// forServer fits what other programs take for a DSN, and a URL without its two
// slashes. Taken for the name of a file, it would be told to everybody with the
// password in it.
var forServer = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^(?:postgres|postgresql|mysql|mariadb):|(?:^|[\s;])(?:password|pwd|user|uid|host|server|dbname|data source)\s*=|^[^/\\]+@(?:tcp|unix)?\(|^[^/\\@]+:[^/\\@]+@`)
})

// Open opens what a DSN names. One without a scheme is a file of SQLite.
func Open(dsn string, o Options) (Database, error) {
	if dsn == "" {
		return nil, fmt.Errorf("there is no dsn: say which database, such as shop.db, postgres://user@host/name or mysql://user@host/name")
	}
	scheme := "sqlite"
	if s, _, ok := strings.Cut(dsn, "://"); ok && !strings.ContainsAny(s, `/\ @`) {
		scheme = strings.ToLower(s)
	}
	if !strings.HasPrefix(dsn, ".") && scheme == "sqlite" && forServer().MatchString(dsn) {
		return nil, fmt.Errorf("the dsn looks like one for a database server, and is not a URL: write postgres://user:password@host:5432/name or mysql://user:password@host:3306/name, or put ./ before the name of a file of SQLite")
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
