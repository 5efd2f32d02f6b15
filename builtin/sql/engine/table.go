package engine

// A Table is what a schema says of a table or view.
type Table struct {
	// ID is how callers name it: its name, after its schema and a dot where
	// that is not the schema in which the engine looks first.
	ID     string `json:"table"`
	Schema string `json:"schema,omitempty"`
	Name   string `json:"-"`
	// Kind is table, view, materialized view, foreign table, …
	Kind    string `json:"kind"`
	Comment string `json:"comment,omitempty"`
	// Rows is how many rows the engine believes there are; nil means that it
	// does not say.
	Rows *int64 `json:"rowEstimate,omitempty" doc:"how many rows the engine believes there are"`

	// More says that there are more rows than Rows.
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
	Generated string `json:"generated,omitempty" doc:"how the engine fills it in"`
	Comment   string `json:"comment,omitempty"`
}

// A ForeignKey says that some columns name a row of another table.
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
	Where   string   `json:"where,omitempty" doc:"which rows it holds, if not all"`
}
