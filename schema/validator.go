package schema

import (
	"encoding/json"
	"fmt"

	"github.com/tenon-mcp/tenon/schema/internal/validate"
)

// Limits bound what a schema that somebody else wrote may cost. Nil, and zero
// in any field, mean the default.
type Limits struct {
	// Bytes is how long a schema may be. Unset: 1 MiB.
	Bytes int
	// Depth is how deep schemas may be nested in schemas. Unset: 64.
	Depth int
	// Subschemas is how many schemas there may be in the schema. Unset: 10,000.
	Subschemas int
	// PatternBytes is how long one regular expression may be. Unset: 4,096.
	PatternBytes int
	// Steps is how much work one Check may be: about one step for each schema
	// that is held against each part of the value. Unset: 1,000,000, which is
	// about a tenth of a second.
	Steps int
	// Formats makes "format" a rule for date-time, date, email, uri, uuid, ipv4
	// and ipv6. Unset: a format is a remark, as JSON Schema 2020-12 has it.
	Formats bool
}

func (l *Limits) orDefaults() validate.Limits {
	var out validate.Limits
	if l != nil {
		out = validate.Limits(*l)
	}
	set := func(field *int, unset int) {
		if *field <= 0 {
			*field = unset
		}
	}
	set(&out.Bytes, 1<<20)
	set(&out.Depth, 64)
	set(&out.Subschemas, 10_000)
	set(&out.PatternBytes, 4096)
	set(&out.Steps, 1_000_000)
	return out
}

// A Validator holds values to a schema that was not made from a Go type. Many
// goroutines may use it.
type Validator struct{ schema *validate.Schema }

// NewValidator prepares to check values against a schema. It keeps no part of
// it. Without $schema it is read as 2020-12; 2019-09 and drafts 7, 6 and 4 are
// read as what they say they are.
//
// Any other dialect, a reference out of the schema (nothing is ever fetched or
// opened), a keyword with a value that it cannot have, a limit that is passed:
// all are errors that say so. So is a regular expression with look-around or
// back references, which cannot be searched for in bounded time. Others are
// read as ECMA-262, the way JSON Schema wants it.
func NewValidator(schema json.RawMessage, limits *Limits) (*Validator, error) {
	compiled, err := validate.Compile(schema, limits.orDefaults())
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	return &Validator{compiled}, nil
}

// Check holds a value against the schema. If the error is not nil it is a
// [*Problems]. A value that is not strict JSON is a problem too, and so is one
// that would take more than Limits.Steps to check.
func (v *Validator) Check(value json.RawMessage) error {
	found, more := v.schema.Check(value)
	if found == nil {
		return nil
	}
	problems := &Problems{List: make([]Problem, len(found)), More: more}
	for i, p := range found {
		problems.List[i] = Problem(p)
	}
	return problems
}
