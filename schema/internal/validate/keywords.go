package validate

import (
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/schema/internal/format"
)

// A keyword is one member of a schema while it is compiled.
type keyword struct {
	c      *compiler
	n      *node
	schema int32 // the schema that it is in
	name   []byte
	at     int32 // its value
	depth  int   // of schemas under it
}

// read reads the keyword. Unknown keywords are annotations.
func (k *keyword) read() {
	n := k.n
	switch string(k.name) {
	case "type":
		k.types()
	case "enum":
		if k.is(isArray, "an array") && !k.c.judging {
			n.choice = newChoice(k.c.doc, k.at)
		}
	case "const":
		n.value = &place{k.c.doc, k.at}
	case "title", "description", "$comment", "contentEncoding", "contentMediaType", "$schema", "$id", "id", "$anchor", "$dynamicAnchor":
		k.is(isString, "a string")
	case "deprecated", "readOnly", "writeOnly", "$recursiveAnchor":
		k.is(isBool, "true or false")
	case "examples":
		k.is(isArray, "an array")
	case "$vocabulary":
		k.is(isObject, "an object")
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf":
		k.numbers()
	case "minLength":
		k.count(&n.texts().min)
	case "maxLength":
		k.count(&n.texts().max)
	case "pattern":
		if k.is(isString, "a string") {
			n.texts().pattern = k.c.pattern(k.c.doc.string(k.at))
		}
	case "format":
		if k.is(isString, "a string") && k.c.limits.Formats {
			if check, ok := format.Of(k.c.doc.string(k.at)); ok {
				n.texts().format = &check
			}
		}
	case "minItems":
		k.count(&n.lists().min)
	case "maxItems":
		k.count(&n.lists().max)
	case "minContains":
		k.count(&n.lists().least)
	case "maxContains":
		k.count(&n.lists().most)
	case "uniqueItems":
		if k.is(isBool, "true or false") {
			n.lists().unique = k.c.doc.isTrue(k.at)
		}
	case "minProperties":
		k.count(&n.objects().min)
	case "maxProperties":
		k.count(&n.objects().max)
	case "required":
		k.required()
	case "$ref", "$dynamicRef", "$recursiveRef":
		if k.is(isString, "a string") && !k.c.judging {
			k.c.pending = append(k.c.pending, reference{from: n, kind: string(k.name), to: k.c.doc.string(k.at)})
			n.heres()
		}
	default:
		k.applicator()
	}
}

// applicator reads a keyword that contains schemas.
func (k *keyword) applicator() {
	n := k.n
	switch string(k.name) {
	case "$defs", "definitions":
		k.each(func(string, int32) bool { return true }, func(string, *node) {})
	case "allOf":
		n.heres().all = k.list()
	case "anyOf":
		n.heres().any = k.list()
	case "oneOf":
		n.heres().one = k.list()
	case "not":
		n.heres().not = k.one()
	case "if":
		n.heres().cond = k.one()
	case "then":
		n.heres().yes = k.one()
	case "else":
		n.heres().no = k.one()
	case "prefixItems":
		n.lists().first = k.list()
	case "items":
		switch {
		case n.home.dialect == draft2020 || k.c.doc.items[k.at].kind != isArray:
			n.lists().rest = k.one()
		default:
			n.lists().first = k.list()
		}
	case "additionalItems": // is nothing unless items is an array
		sub := k.one()
		if items := k.c.doc.member(k.schema, "items"); items >= 0 && k.c.doc.items[items].kind == isArray {
			n.lists().rest = sub
		}
	case "contains":
		n.lists().contains = k.one()
		n.lists().containing = n.home.dialect == draft2020
	case "unevaluatedItems":
		n.lists().unevaluated = k.one()
	case "additionalProperties":
		n.objects().rest = k.one()
	case "unevaluatedProperties":
		n.objects().unevaluated = k.one()
	case "propertyNames":
		n.objects().names = k.one()
	case "contentSchema":
		k.one()
	default:
		k.named()
	}
}

// named reads a keyword that maps names to schemas.
func (k *keyword) named() {
	o := k.n.object
	switch string(k.name) {
	case "properties":
		o = k.n.objects()
		if o.named == nil {
			o.named = make(map[string]property, k.c.doc.items[k.at].count)
		}
		k.each(nil, func(name string, sub *node) {
			o.named[name] = property{node: sub, required: o.named[name].required}
		})
	case "patternProperties":
		o = k.n.objects()
		k.each(nil, func(name string, sub *node) {
			o.patterns = append(o.patterns, patternProperty{k.c.pattern(name), sub})
		})
	case "dependentSchemas", "dependentRequired", "dependencies":
		o = k.n.objects()
		if o.dependent == nil {
			o.dependent = map[string]dependent{}
		}
		needs := func(name string, at int32) bool {
			if string(k.name) == "dependentSchemas" || string(k.name) == "dependencies" && k.c.doc.items[at].kind != isArray {
				return true
			}
			d := o.dependent[name]
			d.required = append(d.required, k.names(at)...)
			o.dependent[name] = d
			return false
		}
		k.each(needs, func(name string, sub *node) {
			d := o.dependent[name]
			d.node = sub
			o.dependent[name] = d
		})
	}
}

// is reports whether the value is of a kind, and records an error if not.
func (k *keyword) is(want kind, words string) bool {
	if k.c.doc.items[k.at].kind&want != 0 {
		return true
	}
	k.c.bad(string(k.name), "must be %s, not %s", words, k.c.text(k.at))
	return false
}

// count reads a non-negative integer.
func (k *keyword) count(into *int) {
	if !k.is(isNumber, "an integer of at least 0") {
		return
	}
	v, ok := natural(k.c.doc.raw(k.at))
	if !ok {
		k.c.bad(string(k.name), "must be an integer of at least 0, not %s", k.c.text(k.at))
	}
	*into = v
}

func (k *keyword) one() *node {
	return k.c.within(k.at, k.n.home, k.depth, crumb{name: k.name})
}

func (k *keyword) list() (nodes []*node) {
	if !k.is(isArray, "an array of schemas") {
		return nil
	}
	it := &k.c.doc.items[k.at]
	if it.count == 0 {
		k.c.bad(string(k.name), "must not be empty")
	}
	nodes = make([]*node, 0, it.count)
	for i := k.at + 1; i < it.next; i = k.c.doc.items[i].next {
		nodes = append(nodes, k.c.within(i, k.n.home, k.depth, crumb{name: k.name}, crumb{number: len(nodes)}))
	}
	return nodes
}

// each compiles the schemas of an object, except those that are not wanted.
func (k *keyword) each(want func(name string, at int32) bool, see func(name string, n *node)) {
	if !k.is(isObject, "an object") {
		return
	}
	for m := k.at + 1; m < k.c.doc.items[k.at].next; m = k.c.doc.items[m+1].next {
		name := k.c.doc.string(m)
		if want == nil || want(name, m+1) {
			see(name, k.c.within(m+1, k.n.home, k.depth, crumb{name: k.name}, crumb{name: k.c.doc.bytes(m)}))
		}
	}
}

// names reads an array of distinct strings.
func (k *keyword) names(at int32) []string {
	it := &k.c.doc.items[at]
	if it.kind != isArray {
		k.c.bad(string(k.name), "must be an array of names, not %s", k.c.text(at))
		return nil
	}
	names := make([]string, 0, it.count)
	seen := make(map[string]bool)
	for i := at + 1; i < it.next; i = k.c.doc.items[i].next {
		name := k.c.doc.string(i)
		if k.c.doc.items[i].kind != isString || seen[name] {
			k.c.bad(string(k.name), "must contain distinct names; %s is not one", k.c.text(i))
			return nil
		}
		if it.count > 1 {
			seen[name] = true
		}
		names = append(names, name)
	}
	return names
}

func (k *keyword) required() {
	o := k.n.objects()
	names := k.names(k.at)
	if o.named == nil {
		o.named = make(map[string]property, len(names))
	}
	for _, name := range names {
		o.named[name] = property{node: o.named[name].node, required: true}
	}
	o.required = len(names)
}

func (k *keyword) types() {
	doc := k.c.doc
	one := func(i int32) kind {
		name := doc.string(i)
		for t := isNull; t <= isInteger; t <<= 1 {
			if doc.items[i].kind == isString && t.String() == name {
				return t
			}
		}
		k.c.bad("type", "must be one of %s, not %s", strings.Join(typeNames(0x7f), ", "), k.c.text(i))
		return 0
	}
	it := &doc.items[k.at]
	if it.kind != isArray {
		k.n.types = one(k.at)
		return
	}
	if it.count == 0 {
		k.c.bad("type", "must not be empty")
	}
	for i := k.at + 1; i < it.next; i = doc.items[i].next {
		t := one(i)
		if k.n.types&t != 0 {
			k.c.bad("type", "contains %s twice", t)
		}
		k.n.types |= t
	}
}

// typeNames lists kinds by name.
func typeNames(types kind) (names []string) {
	for t := isNull; t <= isInteger; t <<= 1 {
		if types&t != 0 {
			names = append(names, t.String())
		}
	}
	slices.Sort(names)
	return names
}

func (k *keyword) numbers() {
	doc, name := k.c.doc, string(k.name)
	if k.n.home.dialect == draft4 && strings.HasPrefix(name, "exclusive") {
		// Once it was a word about minimum or maximum.
		bound := doc.member(k.schema, strings.ToLower(strings.TrimPrefix(name, "exclusive")))
		if k.is(isBool, "true or false") && doc.isTrue(k.at) && bound >= 0 && doc.items[bound].kind == isNumber {
			k.bound(name, numberOf(doc.raw(bound)))
		}
		return
	}
	if !k.is(isNumber, "a number") {
		return
	}
	v := numberOf(doc.raw(k.at))
	if name == "multipleOf" && v.float <= 0 && v.exact().Sign() <= 0 {
		k.c.bad(name, "must be more than 0")
		return
	}
	k.bound(name, v)
}

func (k *keyword) bound(name string, v number) {
	n := k.n.numbers()
	n.cost += v.cost()
	switch name {
	case "minimum":
		n.min = &v
	case "maximum":
		n.max = &v
	case "exclusiveMinimum":
		n.above = &v
	case "exclusiveMaximum":
		n.below = &v
	default:
		v.rat = v.exact()
		n.multiple = &v
	}
}
