package validate

import "strings"

// A dialect is an edition of JSON Schema. Later ones are greater.
type dialect int8

const (
	unknown dialect = iota
	draft4
	draft6
	draft7
	draft2019
	draft2020
)

// dialectOf parses the URI of a $schema. The schemes http and https are
// equivalent, and an empty fragment is ignored.
func dialectOf(uri string) dialect {
	name, ok := strings.CutPrefix(strings.TrimSuffix(uri, "#"), "https://")
	if !ok {
		name = strings.TrimPrefix(name, "http://")
	}
	switch name {
	case "json-schema.org/schema", "json-schema.org/draft/2020-12/schema":
		return draft2020
	case "json-schema.org/draft/2019-09/schema":
		return draft2019
	case "json-schema.org/draft-07/schema":
		return draft7
	case "json-schema.org/draft-06/schema":
		return draft6
	case "json-schema.org/draft-04/schema":
		return draft4
	}
	return unknown
}

// knows reports whether a dialect has a keyword; others are annotations. All
// have "dependencies", which newer ones keep for old schemas.
func (d dialect) knows(keyword []byte) bool {
	switch string(keyword) {
	case "const", "contains", "propertyNames", "examples":
		return d >= draft6
	case "if", "then", "else", "$comment", "readOnly", "writeOnly", "contentEncoding", "contentMediaType":
		return d >= draft7
	case "$defs", "$anchor", "dependentRequired", "dependentSchemas", "minContains", "maxContains",
		"unevaluatedItems", "unevaluatedProperties", "deprecated", "contentSchema", "$vocabulary":
		return d >= draft2019
	case "prefixItems", "$dynamicRef", "$dynamicAnchor":
		return d >= draft2020
	case "$recursiveRef", "$recursiveAnchor":
		return d == draft2019
	case "additionalItems":
		return d <= draft2019
	case "id":
		return d == draft4
	case "$id":
		return d != draft4
	}
	return true
}
