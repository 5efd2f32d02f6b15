package sql

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/builtin/sql/engine"
	"github.com/tenon-mcp/tenon/internal/textclip"
	"github.com/tenon-mcp/tenon/mcp"
)

// A catalog caches the list of tables for completion and for the resource
// list. Tool calls always query the database.
type catalog struct {
	mu     sync.Mutex
	tables []engine.Table
	shown  map[string]bool // the tables that are resources
	again  bool            // list again after the current listing
	busy   bool
	first  chan struct{}   // closed after the first listing, successful or not
	ctx    context.Context // ends when the server is closed
	end    context.CancelFunc
	wait   sync.WaitGroup
}

// listed is the maximum number of tables that are resources; the template
// reaches all.
const listed = 500

// tables queries the list of tables and updates the resources.
func (d *database) tables(ctx context.Context) ([]engine.Table, error) {
	tables, err := d.engine.Tables(ctx)
	if err != nil {
		return nil, err
	}
	for i := range tables {
		tables[i].Comment = textclip.Clip(tables[i].Comment, maxRemark)
	}
	d.updateResources(tables)
	return tables, nil
}

// table returns the table with the name that callers use.
func (d *database) table(ctx context.Context, id string) (engine.Table, bool, error) {
	tables, err := d.tables(ctx)
	if err != nil {
		return engine.Table{}, false, err
	}
	match := func(same func(t engine.Table) bool) (engine.Table, bool) {
		if i := slices.IndexFunc(tables, same); i >= 0 {
			return tables[i], true
		}
		return engine.Table{}, false
	}
	t, ok := match(func(t engine.Table) bool { return t.ID == id })
	if !ok { // try the name with schema, and ignoring case
		t, ok = match(func(t engine.Table) bool {
			return strings.EqualFold(t.ID, id) || strings.EqualFold(t.Schema+"."+t.Name, id)
		})
	}
	if !ok {
		return t, false, nil
	}
	t, err = d.engine.Table(ctx, t)
	return t, true, err
}

// closeCatalog ends the background work.
func (d *database) closeCatalog() error {
	c := &d.catalog
	c.mu.Lock()
	c.end()
	c.mu.Unlock()
	c.wait.Wait()
	return nil
}

// listInBackground updates the resources in the background.
func (d *database) listInBackground() {
	c := &d.catalog
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.busy {
		c.again = true
		return
	}
	if c.ctx.Err() != nil {
		return
	}
	c.busy = true
	c.wait.Go(d.listUntilQuiet)
}

func (d *database) listUntilQuiet() {
	c := &d.catalog
	for {
		ctx, cancel := context.WithTimeout(c.ctx, d.Timeout)
		_, err := d.tables(ctx)
		cancel()
		if err != nil && c.ctx.Err() == nil {
			d.Log.Warn("listing tables failed", "error", err)
		}
		c.mu.Lock()
		if c.first != nil {
			close(c.first)
			c.first = nil
		}
		if !c.again || c.ctx.Err() != nil {
			c.busy = false
			c.mu.Unlock()
			return
		}
		c.again = false
		c.mu.Unlock()
	}
}

// waitForTables is middleware that delays resources/list until the first listing
// is done.
func (d *database) waitForTables(next mcp.Handler) mcp.Handler {
	return mcp.HandlerFunc(func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
		if c.Method == mcp.MethodResourcesList {
			d.catalog.mu.Lock()
			first := d.catalog.first
			d.catalog.mu.Unlock()
			if first != nil {
				select {
				case <-first:
				case <-ctx.Done():
					return mcp.Result{}, ctx.Err()
				}
			}
		}
		return next.Serve(ctx, c)
	})
}

// updateResources adds the tables as resources and removes those that no longer exist.
func (d *database) updateResources(tables []engine.Table) {
	c := &d.catalog
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tables = tables
	now := map[string]bool{}
	for _, t := range tables[:min(len(tables), listed)] {
		uri := tableURI(t.ID)
		now[uri] = true
		if !c.shown[uri] {
			err := d.server.AddResource(mcp.Resource{URI: uri, Name: t.ID, Title: t.Kind + " " + t.ID, Description: t.Comment, MIMEType: markdown}, d.readTable, nil)
			if err != nil {
				d.Log.Warn("adding a table as a resource failed", "table", t.ID, "error", err)
			}
		}
	}
	for uri := range c.shown {
		if !now[uri] {
			d.server.RemoveResources(uri)
		}
	}
	c.shown = now
}

// known returns the cached tables, and queries the database if there are none.
func (d *database) known(ctx context.Context) []engine.Table {
	d.catalog.mu.Lock()
	tables := d.catalog.tables
	d.catalog.mu.Unlock()
	if tables == nil {
		ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
		defer cancel()
		tables, _ = d.tables(ctx) // on error nothing is completed
	}
	return tables
}
