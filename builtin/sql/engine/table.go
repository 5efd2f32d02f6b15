package engine

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
