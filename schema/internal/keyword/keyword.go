// Package keyword lists the keywords of JSON Schema, old and new, under which
// other schemas stand.
package keyword

// The lists are by what stands there, and by how often it is held against a
// value. "items" is in two of them: it was a list once.
var (
	// OneHere: a schema for the value itself.
	OneHere = []string{"not", "if", "then", "else", "contentSchema"}
	// OneInside: a schema for every member or element.
	OneInside = []string{"additionalProperties", "additionalItems", "items", "contains", "propertyNames", "unevaluatedItems", "unevaluatedProperties"}
	// ListHere: an array of schemas for the value itself, or each for one element.
	ListHere = []string{"allOf", "anyOf", "oneOf", "prefixItems", "items"}
	// NamedHere: an object of schemas for the value itself, or each for one member.
	NamedHere = []string{"properties", "dependentSchemas", "dependencies"}
	// NamedInside: an object of schemas, each for any number of members.
	NamedInside = []string{"patternProperties"}
	// NamedOnly: an object of schemas that count only when referred to.
	NamedOnly = []string{"$defs", "definitions"}
)
