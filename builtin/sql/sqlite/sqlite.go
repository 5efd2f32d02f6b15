// Package sqlite is the engine for SQLite files, without cgo. A DSN is a
// file name, or sqlite:NAME or sqlite://NAME.
//
// Each statement opens and closes the file. The file is never created.
package sqlite

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/tenon-mcp/tenon/builtin/sql/engine"
	"modernc.org/libc"
	_ "modernc.org/sqlite" // sets the library up
	lib "modernc.org/sqlite/lib"
)

func init() {
	engine.Register(Open, "sqlite")
	boundMemory()
}

// maxHeap is the maximum memory of the library in this process. Values have
// a limit, but a statement can have any number of values.
const maxHeap = 1 << 30

// boundMemory makes the library count and limit its memory. It must run
// before the first use of the library.
func boundMemory() {
	tls := libc.NewTLS()
	defer tls.Close()
	args := libc.Xcalloc(tls, 2, 8)
	if args == 0 {
		return
	}
	defer libc.Xfree(tls, args)
	if lib.Xsqlite3_config(tls, lib.SQLITE_CONFIG_MEMSTATUS, libc.VaList(args, int32(1))) == lib.SQLITE_OK {
		lib.Xsqlite3_hard_heap_limit64(tls, maxHeap)
	}
}

// A database is a file.
type database struct {
	path string
	o    engine.Options
}

// Open returns the database of a file. The file is checked when it is used.
func Open(dsn string, o engine.Options) (engine.Database, error) {
	path := dsn
	for _, prefix := range []string{"sqlite://", "sqlite:"} {
		if rest, ok := strings.CutPrefix(path, prefix); ok {
			path = rest
			break
		}
	}
	switch {
	case path == "" || strings.ContainsRune(path, 0):
		return nil, errors.New("the dsn has no file name; write sqlite:shop.db or shop.db")
	case path == ":memory:" || strings.HasPrefix(path, "file:"):
		return nil, errors.New("the dsn must be a file name; in-memory databases and URI options are not supported")
	}
	absolute, err := filepath.Abs(path) // the process may change its directory
	if err != nil {
		return nil, err
	}
	return &database{path: absolute, o: o.WithDefaults()}, nil
}

func (d *database) Product() string  { return "SQLite" }
func (d *database) Location() string { return filepath.Base(d.path) }
func (d *database) Dialect() string {
	return "SQLite " + lib.SQLITE_VERSION + ": placeholders are ?, names are quoted with \"double quotes\", dates are text or numbers (date(), strftime(), unixepoch()), JSON is read with -> and ->>."
}

func (d *database) Quote(t engine.Table) string { return quote(t.Name) }

func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

func (d *database) Read(ctx context.Context, q engine.Query, to engine.Sink) error {
	return d.with(ctx, false, func(h *handle) error { return h.statement(q, to) })
}

func (d *database) Write(ctx context.Context, q engine.Query, to engine.Sink) (changed engine.Changed, err error) {
	if !d.o.Writes {
		return changed, engine.ReadOnly("writes are not enabled")
	}
	err = d.with(ctx, true, func(h *handle) error {
		if err := h.statement(q, to); err != nil {
			return err
		}
		if changed.Rows = lib.Xsqlite3_changes64(h.tls, h.db); changed.Rows > 0 {
			changed.LastID = lib.Xsqlite3_last_insert_rowid(h.tls, h.db)
		}
		return nil
	})
	return changed, err
}

// with opens the file for one use.
func (d *database) with(ctx context.Context, write bool, use func(*handle) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	h, err := open(d.path, write, d.o)
	if err != nil {
		return fmt.Errorf("open %s: %w. Nothing was run", d.Location(), err)
	}
	defer h.close()
	return h.interruptible(ctx, func() error { return use(h) })
}

// statement compiles, binds and runs one statement.
func (h *handle) statement(q engine.Query, to engine.Sink) error {
	sql := q.SQL
	if q.Explain {
		sql = "EXPLAIN QUERY PLAN " + sql
	}
	stmt, err := h.prepare(sql)
	if err != nil {
		return err
	}
	defer lib.Xsqlite3_finalize(h.tls, stmt)
	if err := h.bind(stmt, q.Params); err != nil {
		return err
	}
	return h.run(stmt, to)
}
