// Package validate validates JSON values against JSON Schemas. Package schema
// is its public interface.
//
// A document, a schema or a value, is parsed once into a flat list of items
// (tape.go). [Compile] builds nodes from the items of a schema: keywords.go
// checks each keyword, refs.go resolves references at the end. [Schema.Check]
// applies nodes to the items of a value, first only to find out whether it is
// valid (check.go and apply.go), and if it is not, again to report why
// (report.go).
//
// The package does nothing at program start and never fetches anything. Work
// that an attacker could make expensive is counted in steps.
package validate
