// Package engine is what the SQL server asks of a database, and the list of the
// databases that a program can talk to. Each lives in a package of its own, so
// that a program carries only the drivers that it uses:
//
//	import _ "github.com/tenon-mcp/tenon/builtin/sql/sqlite"
package engine

import (
	"context"
	"errors"
	"time"
)

// A Database is one database behind the server. Every call opens a session of
// its own and ends it: nothing that a statement leaves behind (a lock, a
// setting, a temporary table) meets the next one, and a database that was gone
// is there again as soon as it is back. Many goroutines may use it.
type Database interface {
	// Product is the name that people know the engine by.
	Product() string

	// Place is what to tell a person about where the database is. There is
	// no secret in it.
	Place() string

	// Dialect is one sentence for a model on how to write for this engine.
	Dialect() string

	// Read runs one statement that cannot change anything: the engine refuses
	// whatever could. When ctx ends, the engine stops working on it.
	Read(ctx context.Context, q Query, to Sink) error

	// Write runs one statement and keeps what it does.
	Write(ctx context.Context, q Query, to Sink) (Changed, error)

	// Tables lists tables and views, without their columns.
	Tables(ctx context.Context) ([]Table, error)

	// Table fills in the rest of a Table that Tables returned.
	Table(ctx context.Context, t Table) (Table, error)

	// Objects lists the objects that a filter is about, by table and name. An
	// engine without objects of that kind has none.
	Objects(ctx context.Context, f Filter) ([]Object, error)

	// Placeholder is how a statement names its parameter number n, counted
	// from 1. Where all are written the same, they are taken in order.
	Placeholder(n int) string

	// Quote writes the name of a table as the engine wants it in a statement.
	Quote(t Table) string
}

// A Query is one statement.
type Query struct {
	SQL string
	// Params fill the placeholders, in order: nil, bool, int64, float64,
	// Decimal, string, Bytes or JSON.
	Params []any
	// Explain asks for the plan of the statement in place of its rows.
	Explain bool
}

// A Sink takes what a statement returns. It returns Enough to end the
// statement early, without an error.
type Sink interface {
	// Columns comes first, once, even if there are no rows.
	Columns([]Column) error
	// Row takes one row: nil, bool, int64, uint64, float64, Decimal, string,
	// Bytes, JSON, or a []any of these.
	Row([]any) error
}

// Enough ends a statement whose further rows nobody wants.
var Enough = errors.New("enough rows") //lint:ignore ST1012 it is an answer, not a failure

// A Column is one column of a result.
type Column struct {
	Name string `json:"name"`
	Type string `json:"type,omitempty" doc:"as the engine names it; left out where it has none"`
}

// Changed is what a statement that writes did.
type Changed struct {
	Rows   int64 // how many rows it changed
	LastID int64 // the key that the engine made for the last new row; 0 is none
}

// Options are what every engine needs to know.
type Options struct {
	// Writes allows Write. Without it the database is opened, where the engine
	// can, in a way that could not write.
	Writes bool
	// Privileged lets Read use an account that could do harm even while
	// reading: see the documentation of each engine.
	Privileged bool
	// ConnectTimeout and LockTimeout bound the waiting for a database that is
	// gone and for one that somebody else has locked. 0 means 4 seconds.
	ConnectTimeout, LockTimeout time.Duration
	// MaxMessage is how much one statement may send to this process before it
	// is ended. 0 means 64 MiB.
	MaxMessage int
}

// WithDefaults fills in what is unset.
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
