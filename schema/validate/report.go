package validate

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	failure "github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/tenon-mcp/tenon/schema"
	"github.com/tenon-mcp/tenon/schema/internal/words"
)

// explain says in our words why a schema does not compile.
func explain(err error) error {
	var load *jsonschema.LoadURLError
	var pattern *jsonschema.InvalidRegexError
	var invalid *jsonschema.SchemaValidationError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &load):
		return fmt.Errorf("the schema refers to %s, which is not in it: %w", words.Quote(strings.TrimPrefix(load.URL, "tenon:///")), errNotFetched)
	case errors.As(err, &pattern):
		return pattern.Err // in our words already
	case errors.As(err, &invalid):
		var problems schema.Problems
		collect(invalid.Err, nil, &problems)
		return fmt.Errorf("the schema is not a valid JSON Schema: %s", strings.ReplaceAll(problems.Error(), "\n", "; "))
	}
	return errors.New(words.Clip(strings.ReplaceAll(err.Error(), schemaURL, "")))
}

// report turns what the library found into Problems, in a fixed order.
func report(err error, tree any) error {
	if err == nil {
		return nil
	}
	var problems schema.Problems
	collect(err, tree, &problems)
	slices.SortFunc(problems.List, func(a, b schema.Problem) int {
		return strings.Compare(a.Path+"\x00"+a.Message, b.Path+"\x00"+b.Message)
	})
	return &problems
}

// collect adds the leaves of the library's tree of errors.
func collect(err error, tree any, into *schema.Problems) {
	var e *jsonschema.ValidationError
	if !errors.As(err, &e) {
		into.Addf("", "%s", words.OneLine(err.Error()))
		return
	}
	path := pathOf(e.InstanceLocation, tree)
	switch k := e.ErrorKind.(type) {
	case *failure.Required:
		for _, name := range k.Missing {
			into.Addf(words.Path(path, words.Member(name)), "is required but missing")
		}
	case *failure.AdditionalProperties:
		slices.Sort(k.Properties)
		for _, name := range k.Properties {
			into.Addf(words.Path(path, words.Member(name)), "unknown property")
		}
	case *failure.AnyOf, *failure.OneOf:
		into.Addf(path, "%s", alternatives(e, tree))
	case *failure.Contains, *failure.MinContains:
		into.Addf(path, "%s", message(k))
	case *failure.PropertyNames:
		into.Addf(words.Path(path, words.Member(k.Property)), "the name of this property is not allowed")
	default:
		if len(e.Causes) == 0 {
			into.Addf(path, "%s", message(e.ErrorKind))
		}
		for _, cause := range e.Causes {
			collect(cause, tree, into)
		}
	}
}

// alternatives tells what keeps a value from each of several schemas.
func alternatives(e *jsonschema.ValidationError, tree any) string {
	if k, ok := e.ErrorKind.(*failure.OneOf); ok && k.Subschemas != nil {
		return fmt.Sprintf("must fit exactly one of the alternatives, but fits number %d and number %d", k.Subschemas[0]+1, k.Subschemas[1]+1)
	}
	const most = 4
	var reasons []string
	for _, cause := range e.Causes {
		var inner schema.Problems
		collect(cause, tree, &inner)
		if len(inner.List) > 0 {
			reasons = append(reasons, words.Clip(strings.ReplaceAll(inner.List[0].String(), "\n", " ")))
		}
	}
	more := ""
	if len(reasons) > most {
		more = fmt.Sprintf("; and %d more", len(reasons)-most)
		reasons = reasons[:most]
	}
	return "fits none of the alternatives (" + strings.Join(reasons, "; ") + more + ")"
}

// pathOf writes a location the way a Plan does.
func pathOf(location []string, tree any) string {
	path := ""
	for _, step := range location {
		switch in := tree.(type) {
		case []any:
			path = words.Path(path, "["+step+"]")
			tree, _ = find(in, "/"+step)
		case map[string]any:
			path = words.Path(path, words.Member(step))
			tree = in[step]
		default:
			path = words.Path(path, words.Member(step))
		}
	}
	return path
}

func message(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *failure.Type:
		return fmt.Sprintf("expected %s, got %s", strings.Join(k.Want, " or "), k.Got)
	case *failure.Enum:
		return fmt.Sprintf("%s is not allowed; use one of %s", valueText(k.Got), valueList(k.Want))
	case *failure.Const:
		return fmt.Sprintf("must be %s", valueText(k.Want))
	case *failure.Format:
		return fmt.Sprintf("expected %s, got %s", k.Err, valueText(k.Got))
	case *failure.Pattern:
		return fmt.Sprintf("%s does not match the pattern %s", words.Quote(k.Got), words.Clip(k.Want))
	case *failure.MinLength:
		return fmt.Sprintf("must have at least %s, not %d", words.Characters(k.Want), k.Got)
	case *failure.MaxLength:
		return fmt.Sprintf("must have at most %s, not %d", words.Characters(k.Want), k.Got)
	case *failure.MinItems:
		return fmt.Sprintf("must have at least %s, not %d", words.Items(k.Want), k.Got)
	case *failure.MaxItems:
		return fmt.Sprintf("must have at most %s, not %d", words.Items(k.Want), k.Got)
	case *failure.Minimum:
		return "must be at least " + numberText(k.Want)
	case *failure.Maximum:
		return "must be at most " + numberText(k.Want)
	case *failure.ExclusiveMinimum:
		return "must be more than " + numberText(k.Want)
	case *failure.ExclusiveMaximum:
		return "must be less than " + numberText(k.Want)
	case *failure.MultipleOf:
		return "must be a multiple of " + numberText(k.Want)
	case *failure.UniqueItems:
		return fmt.Sprintf("must not have equal items, but [%d] and [%d] are", k.Duplicates[0], k.Duplicates[1])
	case *failure.FalseSchema:
		return "is not allowed here"
	case *failure.Not:
		return "fits a schema that it must not fit"
	case *failure.RefCycle:
		return "cannot be checked: its schema refers to itself without end"
	}
	return countMessage(k)
}

// countMessage is message for the keywords that are seldom used.
func countMessage(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *failure.MinProperties:
		return fmt.Sprintf("must have at least %d properties, not %d", k.Want, k.Got)
	case *failure.MaxProperties:
		return fmt.Sprintf("must have at most %d properties, not %d", k.Want, k.Got)
	case *failure.AdditionalItems:
		return fmt.Sprintf("has %s too many", words.Items(k.Count))
	case *failure.Dependency:
		return fmt.Sprintf("with %s there must also be %s", words.Quote(k.Prop), words.Clip(strings.Join(k.Missing, ", ")))
	case *failure.DependentRequired:
		return fmt.Sprintf("with %s there must also be %s", words.Quote(k.Prop), words.Clip(strings.Join(k.Missing, ", ")))
	case *failure.Contains:
		return "has no item of the kind that it must contain"
	case *failure.MinContains:
		return fmt.Sprintf("must contain at least %s of a certain kind, not %d", words.Items(k.Want), len(k.Got))
	case *failure.MaxContains:
		return fmt.Sprintf("must contain at most %s of a certain kind, not %d", words.Items(k.Want), len(k.Got))
	}
	return "does not fit the schema"
}

// valueText writes a value as JSON of bounded length.
func valueText(v any) string {
	if s, ok := v.(string); ok {
		return words.Quote(s)
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return "the value"
	}
	return words.Clip(string(raw))
}

func valueList(values []any) string {
	texts := make([]string, 0, 21)
	for _, v := range values {
		texts = append(texts, valueText(v))
	}
	return words.List(texts)
}

func numberText(r *big.Rat) string {
	if r.IsInt() {
		return words.Clip(r.Num().String())
	}
	f, _ := r.Float64()
	return string(words.AppendFloat(nil, f, 64))
}
