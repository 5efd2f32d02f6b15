// Package validate holds JSON values against JSON Schemas that somebody else
// wrote. Package schema shows it to the world.
//
// A document is read once into a flat list of items (tape.go), a schema as well
// as a value. [Compile] makes nodes of the items of a schema: what is in it is
// checked by the keyword (keywords.go), references are tied at the end
// (refs.go). [Schema.Check] holds nodes against the items of a value, first
// only to find out whether it fits (check.go and the files beside it), and if
// it does not, once more to say why (report.go).
//
// Nothing is done when a program starts, and nothing is ever fetched. All that
// a stranger could make expensive is counted in steps.
package validate
