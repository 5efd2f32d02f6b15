// Package validate holds JSON values to schemas that somebody else wrote.
//
// A [Validator] never fetches or opens anything, and both the schema and the
// work of a check are bounded by [Limits]. What does not fit is reported as
// [schema.Problems], in the words of [schema.Plan].
//
// The package stands apart from package schema because of what it costs to
// start: the library underneath reads all meta-schemas of JSON Schema when a
// program starts, some milliseconds and 2 MB, whether they are needed or not.
// A program whose schemas all come from Go types does without.
//
// Importing the package is enough to make it the validator of
// [schema.NewChecker], which serves types with a method JSONSchema and the raw
// tools of a server:
//
//	import _ "github.com/tenon-mcp/tenon/schema/validate"
package validate
