package validate

import (
	"fmt"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/tenon-mcp/tenon/schema/internal/format"
)

// cost is how many schemas, at worst, are held against one part of a value.
// It is maxCost where that depends on the value (recursion) or cannot be seen
// (references by name or to elsewhere).
func (s *survey) cost() int {
	root := s.parts[""]
	if root == nil { // true or false
		return 1
	}
	return s.costOf(root)
}

func (s *survey) costOf(p *part) int {
	if p.state == 1 {
		return maxCost
	}
	if p.state == 2 {
		return p.total
	}
	p.state = 1
	total := p.weight()
	add := func(n int) { total = min(total+n, maxCost) }
	for _, ref := range p.refs {
		pointer, ok := localPointer(ref)
		if target := s.parts[pointer]; ok && target != nil {
			add(s.costOf(target))
		} else if v, found := find(s.root, pointer); !ok || !found || !isBool(v) {
			add(maxCost)
		}
	}
	for _, sub := range p.once {
		add(s.costOf(sub))
	}
	for _, sub := range p.each {
		add(s.costOf(sub))
	}
	p.state, p.total = 2, total
	return total
}

func isBool(v any) bool { _, ok := v.(bool); return ok }

// weight is the work of one schema by itself.
func (p *part) weight() int {
	n := 1
	for _, key := range []string{"enum", "required"} {
		values, _ := p.object[key].([]any)
		n += len(values)
	}
	if c, ok := p.object["const"]; ok {
		n += measure(c)
	}
	return n
}

// keepFormats takes out of a schema, which is our own copy, the formats that
// are only remarks.
func (s *survey) keepFormats(asserted bool) {
	for _, p := range s.order {
		name, ok := p.object["format"].(string)
		if _, checked := format.Checks[name]; ok && !(asserted && checked) {
			delete(p.object, "format")
		}
	}
}

// tooManySteps is what ends a Check that costs too much. It is thrown through
// the library, which has no other way out, and caught in within.
type tooManySteps struct{}

// checkCounting checks a value with copies of the schema that count. The first
// only says yes or no; it stops early and keeps no account of what is wrong,
// which can cost far more than finding out that something is. The second is
// asked where the answer is no, with a tenth of the steps.
func (v *Validator) checkCounting(tree any) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.counted == nil {
		if err := v.compileCounting(); err != nil {
			return one(err.Error())
		}
	}
	no, done := v.within(v.limits.Steps, v.fits, tree)
	if !done {
		return one(fmt.Sprintf("checking this value against its schema takes more than %d steps", v.limits.Steps))
	}
	if no == nil {
		return nil
	}
	problems, done := v.within(v.limits.Steps/10, v.counted, tree)
	if !done {
		return one("does not fit its schema; it would take too many steps to say where")
	}
	return report(problems, tree)
}

// within validates with a number of steps, and says whether they were enough.
func (v *Validator) within(steps int, s *jsonschema.Schema, tree any) (err error, done bool) {
	defer func() {
		if p := recover(); p != nil {
			if _, ok := p.(tooManySteps); !ok {
				panic(p)
			}
			err, done = nil, false
		}
	}()
	v.left = steps
	return s.Validate(tree), true
}

// compileCounting compiles the schema again with a format of its own in every
// schema, because a format is what the library calls each time it holds that
// schema against a value.
func (v *Validator) compileCounting() error {
	doc, err := parse(v.source)
	if err != nil {
		return err
	}
	survey, err := look(doc, v.limits)
	if err != nil {
		return err
	}
	c, err := newCompiler(doc, survey)
	if err != nil {
		return err
	}
	for i, p := range survey.order {
		was, _ := p.object["format"].(string)
		name := fmt.Sprintf("tenon-step-%d", i)
		p.object["format"] = name
		c.RegisterFormat(&jsonschema.Format{Name: name, Validate: v.step(p, was)})
	}
	// Inside "not" the library only asks whether a value fits.
	const twice = schemaURL + "/fits"
	inner := map[string]any{"not": map[string]any{"$ref": schemaURL}}
	if err := c.AddResource(twice, map[string]any{"not": inner}); err != nil {
		return err
	}
	if v.fits, err = compile(c, twice); err != nil {
		return err
	}
	v.counted, err = compile(c, schemaURL)
	return err
}

// step is called when a schema is held against a value. It pays for the schema
// and for those directly in it, since one that fails at once is not called.
func (v *Validator) step(p *part, name string) func(any) error {
	once, each := p.weight(), 0
	for _, sub := range p.once {
		once += sub.weight()
	}
	for _, sub := range p.each {
		each += sub.weight()
	}
	check, checked := format.Checks[name]
	checked = checked && v.limits.Formats
	return func(value any) error {
		cost := once
		switch value := value.(type) {
		case map[string]any:
			cost += (1 + each) * len(value)
		case []any:
			cost += (1 + each) * len(value)
		case string:
			cost += len(value) / 64
			if checked && !check.Valid(value) {
				return formatError(check.Expects)
			}
		}
		if v.left -= cost; v.left < 0 {
			panic(tooManySteps{})
		}
		return nil
	}
}

// A formatError is what a text that does not have its format should be.
type formatError string

func (e formatError) Error() string { return string(e) }
