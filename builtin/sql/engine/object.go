package engine

import "strings"

// Kinds of an Object.
const (
	KindColumn  = "column"
	KindIndex   = "index"
	KindRoutine = "routine"
	KindTrigger = "trigger"
)

// An Object is a part of a schema that is no table.
type Object struct {
	Kind string `json:"kind" doc:"column, index, routine or trigger"`
	// Table is the ID of the table that it belongs to; a routine has none.
	Table string `json:"table,omitempty"`
	Name  string `json:"name"`
	// Detail is the type of a column, the columns of an index, the arguments
	// and result of a routine, when a trigger fires.
	Detail  string `json:"detail,omitempty" doc:"the type of a column, the columns of an index, the arguments and result of a routine, when a trigger fires"`
	Comment string `json:"comment,omitempty"`
}

// A Filter says which objects are wanted.
type Filter struct {
	Kind     string
	Contains string // in the name or the comment, whatever the case
	Limit    int
}

// Like is Contains as a pattern for lower(x) LIKE pattern ESCAPE '!'.
func (f Filter) Like() string {
	return "%" + strings.NewReplacer("!", "!!", "%", "!%", "_", "!_").Replace(strings.ToLower(f.Contains)) + "%"
}
