package validate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/schema"
	"github.com/tenon-mcp/tenon/schema/internal/format"
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
	// about a second at the very worst.
	Steps int
	// Formats makes "format" a rule for date-time, date, email, uri, uuid, ipv4
	// and ipv6. Unset: a format is a remark, as JSON Schema 2020-12 has it.
	Formats bool
}

func (l *Limits) orDefaults() Limits {
	var out Limits
	if l != nil {
		out = *l
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

// schemaURL is the base that a schema without $id has. Nothing is ever there.
const schemaURL = "tenon:///schema"

// A Validator checks values against one schema. It is safe for use by many
// goroutines.
//
// The library underneath cannot be interrupted, so work is bounded in two
// ways. Nearly always the cost of the schema times the size of the value is
// within Limits.Steps, and the value is simply checked. Where it is not (a
// recursive schema, references that multiply, a huge value) the steps are
// counted while they are taken, one Check at a time, and the Check ends with a
// problem when there are too many.
type Validator struct {
	limits Limits
	source json.RawMessage
	schema *jsonschema.Schema
	cost   int // schemas held against one part of a value at worst; maxCost if unknown

	mu      sync.Mutex         // held while steps are counted
	fits    *jsonschema.Schema // says only whether a value fits
	counted *jsonschema.Schema // says what is wrong
	left    int                // steps
}

func init() {
	schema.RegisterChecker(func(s json.RawMessage) (schema.Checker, error) {
		v, err := New(s, nil)
		if err != nil {
			return nil, err // and not a nil Validator in a Checker
		}
		return v, nil
	})
}

// New prepares to check values against a schema. Without $schema it is read as
// 2020-12; 2019-09 and drafts 7, 6 and 4 are read as what they say they are. Any other dialect, a reference out of the schema (nothing is ever
// fetched or opened), a regular expression that Go does not take (look-around,
// back references), a schema that breaks its meta-schema or a limit: all are
// errors that say so.
func New(schema json.RawMessage, limits *Limits) (*Validator, error) {
	v := &Validator{limits: limits.orDefaults()}
	if len(schema) > v.limits.Bytes {
		return nil, fmt.Errorf("schema: the schema has %d bytes; at most %d are allowed", len(schema), v.limits.Bytes)
	}
	if err := rawjson.Check(schema); err != nil {
		return nil, fmt.Errorf("schema: the schema is not valid JSON: %w", err)
	}
	v.source = bytes.Clone(schema)
	doc, err := parse(v.source)
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	survey, err := look(doc, v.limits)
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	v.cost = survey.cost()
	survey.keepFormats(v.limits.Formats)
	c, err := newCompiler(doc, survey)
	if err == nil {
		v.schema, err = compile(c, schemaURL)
	}
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	return v, nil
}

// Check holds a value against the schema. If the error is not nil it is a
// [*schema.Problems]. Value that is not strict JSON is a problem too.
func (v *Validator) Check(value json.RawMessage) error {
	if err := rawjson.Check(value); err != nil {
		return one("is not valid JSON: " + err.Error())
	}
	tree, err := parse(value)
	if err != nil {
		return one(err.Error())
	}
	size := measure(tree) + len(value)/64
	if size <= v.limits.Steps/v.cost {
		return report(v.schema.Validate(tree), tree)
	}
	return v.checkCounting(tree)
}

func one(message string) *schema.Problems {
	return &schema.Problems{List: []schema.Problem{{Message: message}}}
}

// noLoader stands where the library would fetch a schema.
type noLoader struct{}

var errNotFetched = errors.New("references out of the schema are never fetched")

func (noLoader) Load(string) (any, error) { return nil, errNotFetched }

// newCompiler sets the library up so that it reads nothing but the document.
// The document is our own copy, and patterns are those that the survey found.
func newCompiler(doc any, survey *survey) (*jsonschema.Compiler, error) {
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noLoader{})
	c.UseRegexpEngine(func(expr string) (jsonschema.Regexp, error) { return survey.pattern(expr) })
	c.AssertFormat() // formats that are only remarks are taken out, see keepFormats
	for name, check := range format.Checks {
		c.RegisterFormat(&jsonschema.Format{Name: name, Validate: func(v any) error {
			if s, ok := v.(string); ok && !check.Valid(s) {
				return errors.New(check.Expects)
			}
			return nil
		}})
	}
	return c, c.AddResource(schemaURL, doc)
}

// compile compiles the schema at one address of a compiler.
func compile(c *jsonschema.Compiler, url string) (s *jsonschema.Schema, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the schema cannot be compiled: %v", p)
		}
	}()
	s, err = c.Compile(url)
	return s, explain(err)
}
