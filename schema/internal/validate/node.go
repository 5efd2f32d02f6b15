package validate

import "github.com/tenon-mcp/tenon/schema/internal/format"

// A node is one compiled schema. Rules that it does not have are nil.
type node struct {
	verdict int8 // 1 takes everything, -1 nothing, 0 has to look
	meta    dialect
	types   kind      // 0 if any will do
	home    *resource // what its references are relative to
	value   *place    // const
	choice  *choice   // enum
	number  *numberRules
	text    *textRules
	list    *listRules
	object  *objectRules
	here    *hereRules
}

type numberRules struct {
	min, max, above, below, multiple *number
	cost                             int // to compute with them
}

type textRules struct {
	min, max int // max is -1 if there is none
	pattern  *pattern
	format   *format.Check
}

type listRules struct {
	min, max    int
	unique      bool
	first       []*node // prefixItems, or items as an array
	rest        *node   // items, or additionalItems
	contains    *node
	least, most int  // how many it contains; most is -1 if there is no bound
	containing  bool // what is contained counts as evaluated
	unevaluated *node
}

type objectRules struct {
	min, max    int
	required    int                 // how many in named are
	named       map[string]property // properties and required
	patterns    []patternProperty
	rest        *node // additionalProperties
	names       *node
	dependent   map[string]dependent
	unevaluated *node
}

type property struct {
	node     *node // nil if only required
	required bool
}

type patternProperty struct {
	pattern *pattern
	node    *node
}

// dependent is what the presence of a property requires.
type dependent struct {
	required []string
	node     *node
}

// hereRules hold schemas against the value itself.
type hereRules struct {
	ref      *node
	dynamic  *dynamicRef
	all      []*node
	any, one []*node
	not      *node
	cond     *node // if
	yes, no  *node // then, else
}

// A dynamicRef leads to the outermost resource that has the name, else to the
// target. The name is empty for a $recursiveRef.
type dynamicRef struct {
	target *node
	name   string
}

// A resource is a schema with its own URI: the whole document, or a schema in
// it with an $id.
type resource struct {
	base      string
	dialect   dialect
	at        int32
	anchors   map[string]*node
	dynamic   map[string]*node // $dynamicAnchor
	recursive *node            // the root, if it has $recursiveAnchor
}

var (
	anything = &node{verdict: 1}
	nothing  = &node{verdict: -1}
)

func (n *node) numbers() *numberRules { return made(&n.number, numberRules{}) }
func (n *node) texts() *textRules     { return made(&n.text, textRules{max: -1}) }
func (n *node) lists() *listRules     { return made(&n.list, listRules{max: -1, least: 1, most: -1}) }
func (n *node) objects() *objectRules { return made(&n.object, objectRules{max: -1}) }
func (n *node) heres() *hereRules     { return made(&n.here, hereRules{}) }

// made returns rules, and makes them first if there are none.
func made[T any](rules **T, fresh T) *T {
	if *rules == nil {
		*rules = &fresh
	}
	return *rules
}

// each shows the nodes that a node applies, and nil here and there.
func (n *node) each(see func(*node)) {
	if l := n.list; l != nil {
		for _, sub := range l.first {
			see(sub)
		}
		see(l.rest)
		see(l.contains)
		see(l.unevaluated)
	}
	if o := n.object; o != nil {
		for _, p := range o.named {
			see(p.node)
		}
		for _, p := range o.patterns {
			see(p.node)
		}
		for _, d := range o.dependent {
			see(d.node)
		}
		see(o.rest)
		see(o.names)
		see(o.unevaluated)
	}
	if h := n.here; h != nil {
		for _, list := range [][]*node{h.all, h.any, h.one, {h.ref, h.not, h.cond, h.yes, h.no}} {
			for _, sub := range list {
				see(sub)
			}
		}
		if h.dynamic != nil {
			see(h.dynamic.target)
		}
	}
}
