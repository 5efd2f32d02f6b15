// Package schema derives JSON Schema from Go types, and decodes, encodes and
// validates JSON accordingly.
//
//   - [For] and [Of] return the JSON Schema (2020-12) of a Go type.
//   - A [Plan] is compiled from a Go type. It decodes JSON into the type and
//     validates it in one pass, reports all problems at once, as [Problems]
//     that a model can act on, and encodes values of the type.
//   - [Marshal] and [Unmarshal] do the same for types that are known only at
//     run time. Package client uses them, so that one struct serves both ends
//     of a call.
//   - A [Validator] validates JSON against any other schema. It never fetches
//     or opens anything; [Limits] bound the schema and the work of a check.
//   - [ApplyDefaults] and [Headers] extract single things from a schema.
//
// For example:
//
//	type search struct {
//		Query string `json:"query" doc:"what to look for" schema:"minLength=1"`
//		Limit int    `json:"limit,omitzero" schema:"minimum=1,maximum=50,default=10"`
//	}
//	plan, err := schema.Compile[search]()
//	…
//	var in search
//	err = plan.Decode(data, &in)
//
// # From a type to a schema
//
// Names and embedding follow encoding/json. A field is a required property
// unless it is a pointer, has omitempty or omitzero, has a default, or comes
// from an embedded pointer. Properties that the struct does not have are
// rejected ("additionalProperties": false).
//
//	Go                                   JSON Schema
//	bool                                 boolean
//	int, int64                           integer
//	int8 … int32, uint8 … uint32         integer with minimum and maximum
//	uint, uint64, uintptr                integer with minimum 0
//	float32, float64                     number
//	string                               string
//	[]byte, [n]byte                      string, contentEncoding base64
//	time.Time                            string, format date-time
//	time.Duration                        string such as "1m30s", with a pattern
//	encoding.TextMarshaler               string
//	struct                               object; recursive types through $ref
//	[]T                                  array
//	[n]T                                 array with minItems = maxItems = n
//	map[string]T                         object with additionalProperties
//	map[K]T, K an integer or text        the same, with propertyNames
//	json.Number                          number; its digits are preserved
//	*T as an element of a slice or map   T or null
//	any, json.RawMessage, own MarshalJSON   {} (anything)
//	JSONSchema() json.RawMessage         what the method returns
//
// Channels, functions, complex numbers, interfaces with methods, other map keys
// and the json tag option string are errors that name the field.
//
// A type with MarshalText and no UnmarshalText can only be encoded, and the
// other way round only decoded, unless it is a string; see [Plan.CanDecode].
//
// A number in an any is decoded as a float64, which represents integers up to
// 2^53 only; use a typed field, json.Number or json.RawMessage for larger ones.
//
// A duration is text because that is what people and models write; a number
// would have to be nanoseconds.
//
// The method JSONSchema supplies the schema of its type. It is called once, on
// a zero value; its result must not contain $ref.
//
// # Tags
//
// The tag doc is the description. The tag schema holds keywords, separated by
// commas:
//
//	Count int    `json:"count" doc:"how many" schema:"minimum=1,maximum=10,default=5"`
//	Size  string `json:"size" schema:"enum=small|large,title=Size"`
//	Code  string `json:"code" schema:"maxLength=9,pattern=^[A-Z]{2,3}$"`
//
// The keywords are minimum, maximum, exclusiveMinimum, exclusiveMaximum,
// multipleOf, minLength, maxLength, pattern, format, enum, const, minItems,
// maxItems, uniqueItems, default, examples, title and header (which becomes
// "x-mcp-header"; over HTTP its integers are limited to ±(2^53-1)). In enum
// and examples, | separates values. A value in single quotes may contain commas
// and |; write a single quote in it twice. A pattern comes last and extends to
// the end of the tag, so it needs no quotes (but a Go tag needs \\ for a
// backslash). The default of a slice, map or struct is JSON. On a slice, the
// keywords for text and numbers apply to its items. For and Compile return an
// error for a keyword that does not apply to its field, and for a tag
// jsonschema, which other libraries use.
//
// # Differences between a Plan and its schema
//
// [Plan.Decode] accepts what the schema of the Plan accepts, except:
//
//   - null for an optional property counts as absent. Models often send it,
//     although the schema does not allow it.
//   - Numbers that do not fit the Go type are rejected: integers beyond 64
//     bits, floats beyond float32 or float64.
//   - Text that its type rejects is rejected: base64, a duration that
//     overflows, an own UnmarshalText or UnmarshalJSON.
//   - A Plan accepts numbers with an exponent beyond 400 that are zero or
//     small; a Validator rejects them.
//   - Values nested deeper than 100 are rejected, except in any and
//     json.RawMessage.
package schema
