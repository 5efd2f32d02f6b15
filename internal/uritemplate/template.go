// Package uritemplate parses URI templates (RFC 6570, all four levels) and
// matches URIs with them.
//
// The RFC defines expansion but not matching; [Template.Match] states the rules
// of this package. Matching takes time linear in the length of the URI, without
// backtracking.
//
// A Template is immutable and safe for concurrent use.
package uritemplate

import (
	"fmt"
	"slices"
)

// Limits.
const (
	MaxTemplate    = 8 << 10  // bytes in a template
	MaxExpressions = 32       // expressions in a template
	MaxURI         = 64 << 10 // bytes in a URI; Match rejects a longer one
)

// A Template is a parsed URI template.
type Template struct {
	source     string
	parts      []part
	names      []string
	unmatched  error // why Match cannot work, or nil
	expression int   // how many parts are expressions
}

// A part is literal text or an expression.
type part struct {
	literal string // percent-encoded; empty for an expression
	anchor  string // the literal in the normal form that Match compares
	expr    *expression
}

// An expression is one pair of braces.
type expression struct {
	offset int // of the opening brace
	source string
	op     *operator
	vars   []variable
	body   charset // allowed after the lead in a URI
}

// A variable is one name in an expression, with its modifier.
type variable struct {
	name    string
	key     string // decoded name of the parameter in a URI
	explode bool   // {name*}
	prefix  int    // {name:3}; 0 means none
}

// A ParseError reports where a template is invalid.
type ParseError struct {
	Template string
	Offset   int // in bytes, from 0
	Reason   string
}

func (e *ParseError) Error() string {
	shown := e.Template
	if len(shown) > 200 {
		shown = shown[:200] + "…"
	}
	return fmt.Sprintf("URI template %q, offset %d: %s", shown, e.Offset, e.Reason)
}

// String returns the template as it was given to Parse.
func (t *Template) String() string { return t.source }

// Names returns the variables' names, each once, in the order of their first
// appearance. The slice is the caller's.
func (t *Template) Names() []string { return slices.Clone(t.names) }
