package engine

import (
	"encoding/json"
	"strings"
)

// A Table is the schema of a table or view.
type Table struct {
	// ID is the name that callers use: the name, preceded by the schema and
	// a dot if it is not the default schema.
	ID     string `json:"table"`
	Schema string `json:"schema,omitempty"`
	Name   string `json:"-"`
	// Kind is table, view, materialized view, foreign table, …
	Kind    string `json:"kind"`
	Comment string `json:"comment,omitempty"`
	// Rows is the engine's estimate of the number of rows; nil means unknown.
	Rows *int64 `json:"rowEstimate,omitempty" doc:"the engine's estimate of the number of rows"`

	// More means that there are more rows than Rows.
	More bool `json:"more,omitempty" doc:"there are more rows than rowEstimate"`

	Columns     []TableColumn `json:"columns,omitempty"`
	PrimaryKey  []string      `json:"primaryKey,omitempty"`
	ForeignKeys []ForeignKey  `json:"foreignKeys,omitempty"`
	Indexes     []Index       `json:"indexes,omitempty"`
	Checks      []string      `json:"checks,omitempty"`
	// Definition is the query of a view.
	Definition string `json:"definition,omitempty" doc:"the query of a view"`
}

// A TableColumn is one column of a table.
type TableColumn struct {
	Name      string `json:"name"`
	Type      string `json:"type"`
	NotNull   bool   `json:"notNull,omitempty"`
	Default   string `json:"default,omitempty"`
	Generated string `json:"generated,omitempty" doc:"the expression of a generated column"`
	Comment   string `json:"comment,omitempty"`
}

// A ForeignKey is a reference to another table.
type ForeignKey struct {
	Columns    []string `json:"columns"`
	Table      string   `json:"table"`
	References []string `json:"references,omitempty"`
}

// An Index is one index of a table.
type Index struct {
	Name    string   `json:"name"`
	Columns []string `json:"columns"`
	Unique  bool     `json:"unique,omitempty"`
	Where   string   `json:"where,omitempty" doc:"the condition of a partial index"`
}

// Kinds of an Object.
const (
	KindColumn  = "column"
	KindIndex   = "index"
	KindRoutine = "routine"
	KindTrigger = "trigger"
)

// An Object is a part of a schema other than a table.
type Object struct {
	Kind string `json:"kind" doc:"column, index, routine or trigger"`
	// Table is the ID of the table; a routine has none.
	Table string `json:"table,omitempty"`
	Name  string `json:"name"`
	// Detail is the type of a column, the columns of an index, the arguments
	// and result of a routine, or the event of a trigger.
	Detail  string `json:"detail,omitempty" doc:"the type of a column, the columns of an index, the arguments and result of a routine, when a trigger fires"`
	Comment string `json:"comment,omitempty"`
}

// A Filter selects objects.
type Filter struct {
	Kind     string
	Contains string // substring of the name or the comment, ignoring case
	Limit    int
}

// Like returns Contains as a pattern for lower(x) LIKE pattern ESCAPE '!'.
func (f Filter) Like() string {
	return "%" + strings.NewReplacer("!", "!!", "%", "!%", "_", "!_").Replace(strings.ToLower(f.Contains)) + "%"
}

// A Decimal is an exact decimal number, such as "0.10".
type Decimal string

// Bytes is binary data, of which only the beginning may have been read.
type Bytes struct {
	Head []byte
	Size int64 // total number of bytes
}

// JSON is the value of a JSON column as the engine returned it.
type JSON json.RawMessage
