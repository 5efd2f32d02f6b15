package validate

import "sync"

const (
	bytesPerStep = 64
	maxNesting   = 10_000 // checks inside checks
)

// A run is one check of one value.
type run struct {
	schema *Schema
	doc    document
	left   int         // steps
	depth  int         // checks that are under way
	scope  []*resource // those on the way here, where references need to know
	refs   []visit     // references that are being followed
	free   []bool      // what marks are cut from

	// loud is set to report problems. Otherwise the first problem ends the
	// check.
	loud  bool
	path  []step
	found []Problem
	more  int
}

// runs are used again: what a client checks is mostly small.
var runs = sync.Pool{New: func() any { return new(run) }}

// A visit is a node that is applied to an item.
type visit struct {
	node *node
	item int32
}

// A stop ends a check from within, with the reason.
type stop string

const (
	tooMuch stop = "too many steps"
	endless stop = "cannot be checked: its schema refers to itself endlessly"
	tooDeep stop = "cannot be checked: its schema has too many references in a row"
)

// Check validates a value and returns the first problems and the number of
// further ones.
func (s *Schema) Check(value []byte) (problems []Problem, more int) {
	doc, err := read(value, 4*s.steps)
	if err != nil {
		return []Problem{{Message: err.Error()}}, 0
	}
	r := runs.Get().(*run)
	defer func() {
		*r = run{}
		runs.Put(r)
	}()
	*r = run{schema: s, doc: doc, left: s.steps}
	fits, why := r.start()
	switch {
	case why == tooMuch:
		return []Problem{{Message: tooManySteps(s.steps)}}, 0
	case why != "":
		return []Problem{{Message: string(why)}}, 0
	case fits:
		return nil, 0
	}
	*r = run{schema: s, doc: doc, left: max(s.steps/10, 1000), loud: true}
	_, why = r.start()
	switch {
	case why != "" && r.found == nil:
		return []Problem{{Message: "does not fit its schema; it would take too many steps to say where"}}, 0
	case why != "" && len(r.found) < MaxProblems:
		r.found = append(r.found, Problem{Message: "there may be more; it would take too many steps to find out"})
	}
	return r.found, r.more
}

// start checks the whole value. If it was stopped early, why says why.
func (r *run) start() (fits bool, why stop) {
	defer func() {
		if p := recover(); p != nil {
			reason, ok := p.(stop)
			if !ok {
				panic(p)
			}
			why = reason
		}
	}()
	return r.check(r.schema.root, 0, nil), ""
}

// spend counts steps.
func (r *run) spend(steps int) {
	if r.left -= steps; r.left < 0 {
		panic(tooMuch)
	}
}

// size returns the approximate cost of visiting all of a value.
func (r *run) size(i int32) int {
	it := &r.doc.items[i]
	return int(it.next-i) + int(it.end-it.at)/bytesPerStep
}

// check applies a node to an item. It sets marks, if not nil, for the members
// or elements that a schema was applied to.
func (r *run) check(n *node, i int32, marks []bool) bool {
	r.spend(1)
	if n.verdict != 0 {
		if n.verdict < 0 && r.loud {
			r.addf("is not allowed here")
		}
		return n.verdict > 0
	}
	if r.depth++; r.depth > maxNesting {
		panic(tooDeep)
	}
	inner := r.schema.dynamic && n.home != nil && (len(r.scope) == 0 || r.scope[len(r.scope)-1] != n.home)
	if inner {
		r.scope = append(r.scope, n.home)
	}
	good := r.rules(n, i, marks)
	if inner {
		r.scope = r.scope[:len(r.scope)-1]
	}
	r.depth--
	return good
}

// rules applies the rules of a node.
func (r *run) rules(n *node, i int32, marks []bool) bool {
	it := &r.doc.items[i]
	good := true
	if n.types != 0 && n.types&it.kind == 0 && !(it.kind == isNumber && n.types&isInteger != 0 && isWhole(r.doc.raw(i))) {
		good = r.wrongType(n, it.kind)
	}
	if n.value != nil && (good || r.loud) && !r.equal(place{&r.doc, i}, *n.value) {
		good = r.wrongf("must be %s", shown{*n.value})
	}
	if n.choice != nil && (good || r.loud) && !r.has(n.choice, place{&r.doc, i}) {
		good = r.wrongChoice(n.choice, i)
	}
	if !good && !r.loud {
		return false
	}
	outer, own := marks, n.unevaluated(it.kind) != nil
	kept := r.free
	if own {
		marks = r.marks(int(it.count))
	}
	switch it.kind {
	case isNumber:
		good = (n.number == nil || r.number(n.number, r.doc.raw(i))) && good
	case isString:
		good = (n.text == nil || r.text(n.text, i)) && good
	case isArray:
		good = (n.list == nil || r.list(n.list, i, marks)) && good
	case isObject:
		good = (n.object == nil || r.object(n.object, i, marks)) && good
	}
	if n.here != nil && (good || r.loud) {
		good = r.here(n.here, i, marks) && good
	}
	if n.meta != unknown && (good || r.loud) {
		good = r.isSchema(n.meta, i) && good
	}
	if own && (good || r.loud) {
		good = r.unevaluated(n.unevaluated(it.kind), i, marks) && good
		for k := range outer {
			outer[k] = true
		}
	}
	r.free = kept
	return good
}

// unevaluated gives the schema for what no other schema has looked at.
func (n *node) unevaluated(k kind) *node {
	switch {
	case k == isObject && n.object != nil:
		return n.object.unevaluated
	case k == isArray && n.list != nil:
		return n.list.unevaluated
	}
	return nil
}

// marks returns temporary marks: the caller restores r.free.
func (r *run) marks(n int) []bool {
	r.spend(n / 8)
	if len(r.free) < n {
		r.free = make([]bool, max(2*n, 64))
	}
	m := r.free[:n:n]
	r.free = r.free[n:]
	clear(m)
	return m
}

// unevaluated holds the rest against a schema.
func (r *run) unevaluated(n *node, i int32, marks []bool) bool {
	good := true
	isObject := r.doc.items[i].kind == isObject
	for k, at := 0, i+1; at < r.doc.items[i].next; k++ {
		value := at
		if isObject {
			value++
		}
		if !marks[k] && !r.child(n, at, value, k) {
			if good = false; !r.loud {
				return false
			}
		}
		at = r.doc.items[value].next
	}
	return good
}

// child checks a member, whose name is the item before it, or element k.
func (r *run) child(n *node, name, value int32, k int) bool {
	if !r.loud {
		return r.check(n, value, nil)
	}
	r.path = append(r.path, step{name, value, k})
	good := r.check(n, value, nil)
	r.path = r.path[:len(r.path)-1]
	return good
}

// quietly checks without reporting problems.
func (r *run) quietly(n *node, i int32, marks []bool) bool {
	was := r.loud
	r.loud = false
	good := r.check(n, i, marks)
	r.loud = was
	return good
}

// maybe checks quietly and sets marks only if the value is valid.
func (r *run) maybe(n *node, i int32, marks []bool) bool {
	if marks == nil {
		return r.quietly(n, i, nil)
	}
	kept := r.free
	own := r.marks(len(marks))
	good := r.quietly(n, i, own)
	for k := range own {
		marks[k] = marks[k] || good && own[k]
	}
	r.free = kept
	return good
}

// follow follows a reference and detects cycles.
func (r *run) follow(n *node, i int32, marks []bool) bool {
	k := len(r.refs) - 1
	for ; k >= 0 && r.refs[k].item == i; k-- {
		if r.refs[k].node == n {
			panic(endless)
		}
	}
	r.spend((len(r.refs) - k) / 16)
	r.refs = append(r.refs, visit{n, i})
	good := r.check(n, i, marks)
	r.refs = r.refs[:len(r.refs)-1]
	return good
}

// outermost finds the target of a dynamic reference.
func (r *run) outermost(d *dynamicRef) *node {
	if d.name == "" && (d.target.home == nil || d.target.home.recursive == nil) {
		return d.target
	}
	r.spend(len(r.scope) / 8)
	for _, res := range r.scope {
		if d.name == "" && res.recursive != nil {
			return res.recursive
		}
		if n := res.dynamic[d.name]; n != nil {
			return n
		}
	}
	return d.target
}
