package sql

import (
	"context"
	"fmt"
	"time"

	"github.com/tenon-mcp/tenon/builtin/sql/engine"
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
	server.AddTool(d.server, "run_query", d.queryDescription(), d.runQuery, &server.ToolOptions{Title: "Run a query", Annotations: reading()})
	if c.Writes {
		server.AddTool(d.server, "run_statement", "Run one statement that changes the database. The user is asked first. "+db.Dialect(), d.runStatement, &server.ToolOptions{Title: "Run a statement", Annotations: writing()})
	}
	if c.Queries != "" {
		if err := d.addQueries(c.Queries); err != nil {
			return nil, err
		}
	}
	d.addPrompts()
	if err := d.addResources(); err != nil {
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
