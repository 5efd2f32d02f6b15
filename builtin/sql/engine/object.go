package engine

import "strings"

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
