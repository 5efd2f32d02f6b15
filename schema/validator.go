package schema

import (
	"encoding/json"

	"github.com/tenon-mcp/tenon/schema/internal/validate"
)

// Limits bounds the cost of a schema from elsewhere. Nil, or zero in a field,
// means the default.
type Limits struct {
	// Bytes is the maximum length of a schema. 0 means 1 MiB.
	Bytes int
	// Depth is the maximum nesting of schemas. 0 means 64.
	Depth int
	// Subschemas is the maximum number of schemas within the schema. 0 means
	// 10,000.
	Subschemas int
	// PatternBytes is the maximum length of a regular expression. 0 means
	// 4,096.
	PatternBytes int
	// Steps is the maximum work of one Check: about one step for each schema
	// that is applied to each part of the value. 0 means 1,000,000, about a
	// tenth of a second.
	Steps int
	// Formats makes "format" a rule for date-time, date, email, uri, uuid, ipv4
	// and ipv6. Otherwise a format is an annotation, as in JSON Schema 2020-12.
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

// A Validator validates JSON against a schema. It is safe for concurrent use.
type Validator struct{ schema *validate.Schema }

// NewValidator compiles a schema and does not retain it. Without $schema, the
// dialect is 2020-12; 2019-09 and drafts 7, 6 and 4 are supported.
//
// It returns an error for any other dialect, a reference to another document
// (nothing is ever fetched or opened), an invalid keyword, an exceeded limit,
// or a regular expression with look-around or back references, which cannot be
// matched in bounded time. Other regular expressions follow ECMA-262.
func NewValidator(schema json.RawMessage, limits *Limits) (*Validator, error) {
	compiled, err := validate.Compile(schema, limits.orDefaults())
	if err != nil {
		return nil, err
	}
	return &Validator{compiled}, nil
}

// Check validates a value. A non-nil error is a [*Problems]. A value that is
// not strict JSON, or that would take more than Limits.Steps to check, is a
// problem, too.
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
