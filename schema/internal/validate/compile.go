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

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/tenon-mcp/tenon/schema/internal/words"
)

// Limits are those of package schema, which documents them. None may be zero
// here.
type Limits struct {
	Bytes, Depth, Subschemas, PatternBytes, Steps int
	Formats                                       bool
}

// A Schema is a compiled schema. It is safe for concurrent use.
type Schema struct {
	root    *node
	dynamic bool // some reference depends on the way to it
	steps   int
}

// A compiler builds the nodes of one document.
type compiler struct {
	limits Limits
	doc    *document
	// judging is set if the document is not compiled for use but only checked
	// for its form.
	judging bool

	nodes     []*node // by item
	resources map[string]*resource
	pending   []reference
	loose     []looseEnd
	dynamic   bool

	path     []crumb  // to the schema that is being compiled
	count    int      // schemas
	program  int      // size of all patterns
	problems []string // in which the schema breaks its meta-schema
	err      error    // what ended the work
	indexes  map[int32]map[string]int32
}

// Compile compiles a schema. It does not retain text.
func Compile(text []byte, limits Limits) (*Schema, error) {
	if len(text) > limits.Bytes {
		return nil, fmt.Errorf("the schema has %d bytes; at most %d are allowed", len(text), limits.Bytes)
	}
	doc, err := read(text, len(text))
	if err != nil {
		return nil, fmt.Errorf("the schema %w", err)
	}
	if k := doc.items[0].kind; k != isObject && k != isBool {
		return nil, errors.New("a schema must be an object, true or false")
	}
	doc.names = string(text)
	doc.text = []byte(doc.names) // const and enum stay there
	c := &compiler{limits: limits, doc: &doc, nodes: make([]*node, len(doc.items))}
	home := &resource{base: noBase, dialect: draft2020}
	root := c.schema(0, home, 1)
	c.tie()
	c.trim(root)
	if c.err == nil && c.problems != nil {
		c.err = fmt.Errorf("the schema is not a valid JSON Schema: %s", strings.Join(c.problems, "; "))
	}
	if c.err != nil {
		return nil, c.err
	}
	return &Schema{root: root, dynamic: c.dynamic, steps: limits.Steps}, nil
}

// A crumb is a step of the path to a schema: a name, or the index of an
// element.
type crumb struct {
	name   []byte
	number int
}

func (c crumb) String() string {
	if c.name == nil {
		return strconv.Itoa(c.number)
	}
	return string(c.name)
}

// fail ends the compilation with the first error.
func (c *compiler) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf(format, args...)
	}
}

// bad reports that the value of a keyword is invalid.
func (c *compiler) bad(keyword string, format string, args ...any) {
	const most = 5
	switch len(c.problems) {
	case most:
		c.problems = append(c.problems, "and more")
	case most + 1:
	default:
		where := ""
		for _, step := range c.path {
			if step.name == nil {
				where += words.Index(step.number)
			} else {
				where = words.Path(where, words.Member(string(step.name)))
			}
		}
		if keyword != "" {
			where = words.Path(where, words.Member(keyword))
		}
		if where != "" {
			where = words.Clip(where) + ": "
		}
		c.problems = append(c.problems, where+fmt.Sprintf(format, args...))
	}
}

// pointer returns the current position as a URI fragment.
func (c *compiler) pointer() string {
	var b strings.Builder
	for _, step := range c.path {
		b.WriteByte('/')
		b.WriteString(strings.ReplaceAll(strings.ReplaceAll(step.String(), "~", "~0"), "/", "~1"))
	}
	return "#" + words.Clip(b.String())
}

// schema compiles the schema at an item, once.
func (c *compiler) schema(i int32, home *resource, depth int) *node {
	if c.err != nil {
		return anything
	}
	if !c.judging && c.nodes[i] != nil {
		return c.nodes[i]
	}
	n := anything
	switch c.doc.items[i].kind {
	case isBool:
		if !c.doc.isTrue(i) {
			n = nothing
		}
	case isObject:
		n = &node{}
	default:
		c.bad("", "must be a schema (an object, true or false), not %s", c.text(i))
	}
	if !c.judging {
		c.nodes[i] = n
	}
	if c.doc.items[i].kind == isObject {
		c.count++
		switch {
		case c.count > c.limits.Subschemas:
			c.fail("the schema contains more than %d schemas", c.limits.Subschemas)
		case depth > c.limits.Depth:
			c.fail("schemas are nested deeper than %d levels at %s", c.limits.Depth, c.pointer())
		default:
			c.fill(n, i, home, depth)
		}
	}
	return n
}

// fill reads the members of a schema into its node.
func (c *compiler) fill(n *node, i int32, home *resource, depth int) {
	core := c.core(i)
	n.home = c.locate(n, i, core, home)
	k := keyword{c: c, n: n, schema: i, depth: depth + 1}
	end := c.doc.items[i].next
	for m := i + 1; m < end && c.err == nil; m = c.doc.items[m+1].next {
		if k.name, k.at = c.doc.bytes(m), m+1; n.home.dialect.knows(k.name) {
			k.read()
		}
	}
	if core.ref && n.home.dialect <= draft7 && n.here != nil { // it stands for the whole schema
		*n = node{home: n.home, here: &hereRules{ref: n.here.ref}}
	}
}

// within compiles a schema one or two steps further down.
func (c *compiler) within(at int32, home *resource, depth int, steps ...crumb) *node {
	was := len(c.path)
	c.path = append(c.path, steps...)
	n := c.schema(at, home, depth)
	c.path = c.path[:was]
	return n
}

// text formats a value of the schema for an error.
func (c *compiler) text(i int32) string { return valueText(place{c.doc, i}) }

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
