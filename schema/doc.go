// Package schema says once, in a Go type, what a JSON value must look like, and
// holds values to it.
//
//   - [For] and [Of] write the JSON Schema (2020-12) of a Go type.
//   - A [Plan] is compiled from a Go type and decodes into it, checking while it
//     decodes. It reports everything that is wrong at once, as [Problems] that a
//     model can act on, and it encodes values of the type.
//   - [Marshal] and [Unmarshal] do the same for values whose type is known only at
//     run time. A client uses them, so one struct serves both ends of a call.
//   - A [Validator] holds values to a schema that somebody else wrote. It never
//     fetches or opens anything, both the schema and the work of a check are
//     bounded by [Limits], and it says what is wrong in the words of a Plan.
//   - [ApplyDefaults] and [Headers] read single things out of a schema.
//
// # From a type to a schema
//
// Names and embedding follow encoding/json. A field is a required property
// unless it is a pointer, has omitempty or omitzero, has a default, or comes
// from an embedded pointer. Properties that the struct does not have are refused
// ("additionalProperties": false).
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
//	json.Number                          number; its digits are kept
//	*T as an element of a slice or map   T or null
//	any, json.RawMessage, own MarshalJSON   {} (anything)
//	JSONSchema() json.RawMessage         what the method returns
//
// Channels, functions, complex numbers, interfaces with methods, other map keys
// and the json tag option string are refused, with the field that has them.
//
// A type with MarshalText and no UnmarshalText can be written only, and the other
// way round read only, unless it is a string: see [Plan.CanDecode].
//
// A number in an any is decoded as a float64, which knows integers up to 2^53
// only; use a typed field, json.Number or json.RawMessage for larger ones.
//
// A duration is text because that is what people and models write; a bare
// number would have to be nanoseconds.
//
// A method JSONSchema supplies the schema of its own type. It is called once,
// on a zero value, and what it returns must stand on its own (no $ref).
//
// # Tags
//
// The tag doc is the description. The tag schema holds the rest, separated by
// commas:
//
//	Count int    `json:"count" doc:"how many" schema:"minimum=1,maximum=10,default=5"`
//	Size  string `json:"size" schema:"enum=small|large,title=Size"`
//	Code  string `json:"code" schema:"maxLength=9,pattern=^[A-Z]{2,3}$"`
//
// Its keywords are minimum, maximum, exclusiveMinimum, exclusiveMaximum,
// multipleOf, minLength, maxLength, pattern, format, enum, const, minItems,
// maxItems, uniqueItems, default, examples, title and header (which becomes
// "x-mcp-header"; over HTTP its integers lie within ±(2^53-1)). In enum and examples | stands between values.
// A value in single quotes may contain commas and |; a single quote in it is
// written twice. A pattern comes last and is everything up to the end of the
// tag, so it needs no quotes (but a Go tag needs \\ for a backslash). The default
// of a slice, map or struct is JSON. On a slice, the keywords for text and
// numbers are about its items. A keyword that does not fit its field is an
// error of [For] and [Compile], not a surprise later. So is a tag jsonschema,
// which other libraries read: its words would be lost.
//
// # Where a Plan and its schema differ
//
// What [Plan.Decode] accepts is what the schema of the Plan accepts, except:
//
//   - null for a property that may be left out counts as left out. Models often
//     send it; the schema does not invite it.
//   - Numbers that do not fit the Go type are refused: integers beyond 64 bits,
//     floats beyond float32 or float64.
//   - Text that its type refuses is refused: base64, a duration that overflows,
//     an own UnmarshalText or UnmarshalJSON.
//   - Numbers that are zero or small in spite of an exponent beyond 400 are
//     taken by a Plan, while a [Validator] does not compute with them.
//   - Values nested deeper than 100 are refused (only recursive types, any and
//     json.RawMessage could take them; the latter two do).
package schema
