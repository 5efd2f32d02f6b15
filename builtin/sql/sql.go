package sql

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strconv"
	"time"

	"github.com/tenon-mcp/tenon/builtin/sql/engine"
	"github.com/tenon-mcp/tenon/ext/apps"
	"github.com/tenon-mcp/tenon/internal/settings"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// A database is the state shared by all features.
type database struct {
	Config
	engine  engine.Database
	server  *server.Server
	catalog catalog
	slots   chan struct{} // one for each concurrent statement
}

// concurrent is the maximum number of concurrent statements; more wait.
const concurrent = 4

// New returns the server. It checks the DSN but does not connect: the tables
// are listed in the background, and while the database is down, tools return
// errors. Close the server to end its background work.
func New(c Config) (*server.Server, error) {
	c = c.withDefaults()
	db, err := engine.Open(c.DSN, engine.Options{Writes: c.Writes, Privileged: c.Privileged})
	if err != nil {
		return nil, err
	}
	c.DSN = "" // not needed below, and may contain a password
	d := &database{Config: c, engine: db, slots: make(chan struct{}, concurrent)}
	d.server = server.New(mcp.Implementation{Name: "sql", Title: db.Product() + " " + db.Location(), Version: "1.0.0"}, &server.Options{
		Instructions: d.instructions(),
		Middleware:   []mcp.Middleware{d.waitForTables},
		Log:          c.Log,
	})
	d.addTableTools()
	d.addSearch()
	server.AddTool(d.server, "run_query", d.queryDescription(), d.runQuery, &server.ToolOptions{Title: "Run a query", Annotations: reading(), Meta: apps.ToolMeta(chartURI)})
	if c.Writes {
		server.AddTool(d.server, "run_statement", "Run one statement that changes the database. The user is asked first. "+db.Dialect(), d.runStatement, &server.ToolOptions{Title: "Run a statement", Annotations: writing()})
	}
	if c.Queries != "" {
		if err := d.addQueries(c.Queries); err != nil {
			return nil, err
		}
	}
	d.addPrompts()
	if err := errors.Join(d.addResources(), d.addSkills(), d.addView()); err != nil {
		return nil, err
	}
	d.catalog.first = make(chan struct{})
	d.catalog.ctx, d.catalog.end = context.WithCancel(context.Background())
	d.server.OnClose(d.closeCatalog)
	d.listInBackground()
	return d.server, nil
}

func (d *database) instructions() string {
	text := fmt.Sprintf("The %s %s. Use list_tables and describe_table before you write a query. %s ", d.engine.Product(), d.engine.Location(), d.engine.Dialect())
	if d.Writes {
		return text + "run_query only reads; run_statement writes and asks the user first."
	}
	return text + "The database is read-only."
}

func (d *database) queryDescription() string {
	return "Run one query and get its rows. It can only read: the database refuses changes. " + d.engine.Dialect()
}

func reading() *mcp.ToolAnnotations {
	a := server.ReadOnly()
	yes, no := true, false
	a.IdempotentHint, a.OpenWorldHint = &yes, &no
	return a
}

func writing() *mcp.ToolAnnotations {
	yes, no := true, false
	return &mcp.ToolAnnotations{ReadOnlyHint: &no, DestructiveHint: &yes, IdempotentHint: &no, OpenWorldHint: &no}
}

// limited runs f on the database when a slot is free, with a timeout, and
// reports progress. seconds is the timeout; 0 means the timeout of the
// server, which is also the maximum.
func (d *database) limited(ctx context.Context, c *mcp.Call, seconds int, run func(context.Context) error) error {
	limit := d.Timeout
	if s := time.Duration(seconds) * time.Second; s > 0 && s < limit {
		limit = s
	}
	select {
	case d.slots <- struct{}{}:
		defer func() { <-d.slots }()
	case <-ctx.Done():
		return ctx.Err()
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	defer reportProgress(c, limit)()
	return run(ctx)
}

// reportProgress reports progress every two seconds until stop is called.
func reportProgress(c *mcp.Call, limit time.Duration) (stop func()) {
	if c == nil || !c.Progress {
		return func() {}
	}
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(2 * time.Second)
		defer tick.Stop()
		for began := time.Now(); ; {
			select {
			case <-tick.C:
				server.Progress(c, time.Since(began).Seconds(), limit.Seconds(), "seconds of at most "+limit.String())
			case <-quit:
				return
			}
		}
	}()
	return func() { close(quit); <-done }
}

// Config configures the server.
type Config struct {
	// DSN names the database: an SQLite file, or a URL that begins with
	// postgres:// or mysql://. It is required. Its password appears in no
	// result, error or log.
	DSN string

	// Writes adds the tool run_statement. If unset, the server cannot write.
	Writes bool

	// Privileged lets queries run as an account that a read-only transaction
	// cannot restrict, such as a superuser. If unset, such accounts are
	// refused.
	Privileged bool

	// Queries is a file of queries that become tools; see
	// docs/servers/sql.md. Empty means none.
	Queries string

	// MaxRows is the maximum number of rows in one result. 0 means 1000.
	MaxRows int

	// MaxBytes is the approximate maximum size of one result in bytes. 0
	// means 64 KiB.
	MaxBytes int

	// Timeout is the maximum duration of a statement. 0 means 30 seconds.
	Timeout time.Duration

	// Log receives errors of background work. Nil means slog.Default().
	Log *slog.Logger
}

func (c Config) withDefaults() Config {
	if c.MaxRows <= 0 {
		c.MaxRows = 1000
	}
	if c.MaxBytes <= 0 {
		c.MaxBytes = 64 << 10
	}
	if c.Timeout <= 0 {
		c.Timeout = 30 * time.Second
	}
	c.Log = cmp.Or(c.Log, slog.Default())
	return c
}

// keys are the settings that FromQuery accepts, in the order of error messages.
var keys = []string{"dsn", "writes", "privileged", "queries", "maxrows", "maxbytes", "timeout"}

// FromQuery returns the Config for the query of a URL such as
// builtin:sql?dsn=shop.db&writes=1. The keys are
//
//	dsn         the database; required. A URL must be percent-encoded
//	writes      1 or 0
//	privileged  1 or 0
//	queries     a file of queries that become tools
//	maxrows, maxbytes  numbers
//	timeout     such as 30s
func FromQuery(q url.Values) (Config, error) {
	var c Config
	err := settings.Read(q, "sql", keys, nil, func(key string, values []string) error { return c.set(key, values[0]) })
	if c.DSN == "" && err == nil {
		err = errors.New("dsn is missing; name the database, such as dsn=shop.db")
	}
	return c, err
}

func (c *Config) set(key, value string) (err error) {
	switch key {
	case "dsn":
		c.DSN = value
	case "queries":
		c.Queries = value
	case "writes":
		c.Writes, err = flag(key, value)
	case "privileged":
		c.Privileged, err = flag(key, value)
	case "maxrows":
		c.MaxRows, err = count(key, value)
	case "maxbytes":
		c.MaxBytes, err = count(key, value)
	case "timeout":
		if c.Timeout, err = time.ParseDuration(value); err != nil || c.Timeout <= 0 {
			err = fmt.Errorf("timeout must be a duration such as 30s or 2m, got %q", value)
		}
	}
	return err
}

func flag(key, value string) (bool, error) {
	on, err := strconv.ParseBool(value)
	if err != nil {
		return false, fmt.Errorf("%s must be 1 or 0, got %q", key, value)
	}
	return on, nil
}

func count(key, value string) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("%s must be a number above 0, got %q", key, value)
	}
	return n, nil
}
