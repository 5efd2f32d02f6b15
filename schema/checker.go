package schema

import (
	"encoding/json"
	"errors"
	"sync/atomic"
)

// A Checker holds values against a schema that was written by hand. An error
// about the value is a [*Problems]. Many goroutines may use it.
type Checker interface {
	Check(value json.RawMessage) error
}

// registered makes Checkers. It is nil until a validator is imported.
var registered atomic.Pointer[func(json.RawMessage) (Checker, error)]

// RegisterChecker sets what [NewChecker] uses, in place of what was set before.
// A validator calls it from its init; package schema/validate does. It is not
// simply a part of this package because it makes every start slower, also that
// of programs whose schemas all come from Go types.
func RegisterChecker(prepare func(schema json.RawMessage) (Checker, error)) {
	if prepare == nil {
		panic("schema: RegisterChecker needs a func")
	}
	registered.Store(&prepare)
}

var errNoChecker = errors.New(`schemas written by hand need a validator: import _ "github.com/tenon-mcp/tenon/schema/validate"`)

// NewChecker prepares to check values against a schema, with the validator that
// the program imports. If it imports none, the error says what to import.
func NewChecker(schema json.RawMessage) (Checker, error) {
	if prepare := registered.Load(); prepare != nil {
		return (*prepare)(schema)
	}
	return nil, errNoChecker
}
