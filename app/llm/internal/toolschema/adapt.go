package toolschema

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/internal/rawjson"
)

// Rules say what a provider takes. The zero value takes any JSON Schema whose
// root is an object.
type Rules struct {
	PlainRoot bool           // the root may not be a choice (oneOf, anyOf, allOf, enum, const, not)
	Names     *regexp.Regexp // what a property at the root may be called; nil means anything
	Inline    bool           // $ref is not understood: what it means is written where it stands
	Keywords  []string       // all that are understood; nil means every one
	Formats   []string       // all formats that are understood; nil means every one
	AnyOfOnly bool           // of the ways to combine schemas, only anyOf is understood, and no const
	OneType   bool           // type is one word; "nullable" says that null is fine
	Enums     bool           // enum may hold strings only
	Grammar   bool           // the schema becomes a grammar: patterns need both anchors, counts must be small
	NoEmpty   bool           // an object without properties is left out at the root, and has no "properties" below
}

// Adapted is what a provider is given.
type Adapted struct {
	Schema json.RawMessage   // nil if there is nothing to say and the rules want nothing said
	Note   string            // what belongs into the tool's description
	Names  map[string]string // by the name at the provider, what a property is really called; nil if all are the same
}

// Adapt changes a schema as little as the rules allow. A schema that is no
// JSON object counts as one that wants no arguments.
func Adapt(schema []byte, r Rules) Adapted {
	root := &object{}
	if rawjson.Check(schema) == nil {
		if o, ok := parse(schema).(*object); ok {
			root = o
		}
	}
	a := adapter{rules: r, root: root, left: 4000 + count(root)}
	a.rules.Inline = a.rules.Inline || farRefs(root)
	top := a.openRoot(root.copy())
	var notes []string
	if r.PlainRoot || r.AnyOfOnly {
		notes = a.flatten(top)
	}
	top.remove("$schema")
	top = a.schema(top, nil, true).(*object)
	notes = append(notes, a.rootNotes...)
	out := Adapted{}
	top.set("type", str("object"))
	props := top.object("properties")
	if props == nil {
		props = &object{}
		top.set("properties", props)
	}
	if r.Names != nil {
		out.Names = rename(top, props, r.Names)
		for _, m := range props.members {
			if was, ok := out.Names[m.name]; ok {
				notes = append(notes, "The argument "+m.name+" stands for "+string(str(was))+".")
			}
		}
	}
	out.Note = strings.Join(notes, " ")
	if len(props.members) > 0 || !r.NoEmpty {
		out.Schema = render(sorted(top))
	}
	return out
}

// sorted puts the type first, where readers look for it; the rest stays.
func sorted(o *object) *object {
	t := o.remove("type")
	o.members = slices.Insert(o.members, 0, member{"type", t})
	return o
}

type adapter struct {
	rules     Rules
	root      *object
	left      int // how many schemas may still be written, so that references cannot blow up
	depth     int // how many schemas this one is in
	rootNotes []string
}

// deepest is how far schemas may be inside each other once references were
// followed; nobody writes arguments that deep.
const deepest = 60

// enter counts a schema, and reports whether there is room for it.
func (a *adapter) enter() bool {
	a.depth++
	a.left--
	return a.depth <= deepest && a.left > 0
}

func (a *adapter) leave() { a.depth-- }

// count is how many objects a tree holds.
func count(v any) int {
	n := 0
	switch v := v.(type) {
	case *object:
		n = 1
		for _, m := range v.members {
			n += count(m.value)
		}
	case []any:
		for _, e := range v {
			n += count(e)
		}
	}
	return n
}

// openRoot follows references at the root: the root must show its properties.
func (a *adapter) openRoot(o *object) *object {
	for range 8 {
		ref := o.text("$ref")
		if ref == "" {
			return o
		}
		target, ok := a.resolve(ref).(*object)
		o.remove("$ref")
		if !ok || target == o {
			return o
		}
		merged := target.copy()
		for _, m := range o.members {
			merged.set(m.name, m.value)
		}
		o = merged
	}
	return o
}

// resolve finds what a reference inside the document means, or nil.
func (a *adapter) resolve(ref string) any {
	path, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil
	}
	var at any = a.root
	if path == "" {
		return at
	}
	for _, step := range strings.Split(strings.TrimPrefix(path, "/"), "/") {
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(unescape(step))
		switch v := at.(type) {
		case *object:
			at = v.get(step)
		case []any:
			at = nil
			for i, e := range v {
				if string(jsontext.Value(step)) == itoa(i) {
					at = e
				}
			}
		default:
			return nil
		}
	}
	return at
}

// farRefs reports whether something refers to a place that adapting may move.
func farRefs(v any) bool {
	switch v := v.(type) {
	case *object:
		if ref := v.text("$ref"); ref != "" && ref != "#" && !strings.HasPrefix(ref, "#/$defs/") && !strings.HasPrefix(ref, "#/definitions/") {
			return true
		}
		return slices.ContainsFunc(v.members, func(m member) bool { return farRefs(m.value) })
	case []any:
		return slices.ContainsFunc(v, farRefs)
	}
	return false
}

// rename gives properties names that fit, and says which.
func rename(top, props *object, fit *regexp.Regexp) map[string]string {
	var names map[string]string
	required := top.strings("required")
	for i, m := range props.members {
		if fit.MatchString(m.name) {
			continue
		}
		now := fittingName(m.name, props, fit)
		if names == nil {
			names = map[string]string{}
		}
		names[now] = m.name
		props.members[i].name = now
		if at := slices.Index(required, m.name); at >= 0 {
			required[at] = now
		}
	}
	if names != nil {
		top.setStrings("required", required)
	}
	return names
}

var unfit = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^A-Za-z0-9_.-]+`) })

func fittingName(name string, props *object, fit *regexp.Regexp) string {
	base := strings.Trim(unfit().ReplaceAllString(name, "_"), "_")
	if base == "" {
		base = "argument"
	}
	base = base[:min(len(base), 60)]
	now := base
	for n := 2; props.has(now) || !fit.MatchString(now); n++ {
		now = base + "_" + itoa(n)
	}
	return now
}

// Restore writes arguments under the names that the tool knows.
func (a Adapted) Restore(arguments json.RawMessage) json.RawMessage {
	if len(a.Names) == 0 {
		return arguments
	}
	o, ok := parse(arguments).(*object)
	if !ok {
		return arguments
	}
	for i, m := range o.members {
		if was, ok := a.Names[m.name]; ok && !o.has(was) {
			o.members[i].name = was
		}
	}
	return render(o)
}

// Describe adds text to the description of a schema. Nil becomes an object
// without properties.
func Describe(schema json.RawMessage, text string) json.RawMessage {
	o, ok := parse(schema).(*object)
	if !ok {
		o = &object{[]member{{"type", str("object")}, {"properties", &object{}}}}
	}
	o.say(text)
	return render(o)
}
