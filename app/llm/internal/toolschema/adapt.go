package toolschema

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/tenon-mcp/tenon/internal/rawjson"
)

// Rules describes the schemas that a provider accepts. The zero value accepts any
// JSON Schema whose root is an object.
type Rules struct {
	PlainRoot bool           // no oneOf, anyOf, allOf, enum, const or not at the root
	Names     *regexp.Regexp // names of properties at the root; nil means any
	Inline    bool           // no $ref: targets are written in its place
	Keywords  []string       // supported keywords; nil means all
	Formats   []string       // supported formats; nil means all
	AnyOfOnly bool           // anyOf, but no oneOf, allOf and const
	OneType   bool           // type is a string; "nullable" allows null
	Enums     bool           // enum has only strings
	Grammar   bool           // the schema becomes a grammar: patterns need both anchors, counts are limited
	NoEmpty   bool           // no schema for a tool without properties, and no empty "properties"
}

// Adapted is a schema adapted to a provider.
type Adapted struct {
	Schema json.RawMessage   // nil if the provider wants no schema
	Note   string            // text to add to the tool's description
	Names  map[string]string // original names of renamed properties by new name; nil if there are none
}

// Adapt changes a schema as little as the rules allow. It treats a schema that is
// not a JSON object as one without arguments.
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
			if original, ok := out.Names[m.name]; ok {
				notes = append(notes, "The argument "+m.name+" stands for "+string(str(original))+".")
			}
		}
	}
	out.Note = strings.Join(notes, " ")
	if len(props.members) > 0 || !r.NoEmpty {
		top.members = slices.Insert(top.members, 0, member{"type", top.remove("type")}) // type first, the rest in order
		out.Schema = render(top)
	}
	return out
}

type adapter struct {
	rules     Rules
	root      *object
	left      int // number of schemas that may still be written, to bound expanded references
	depth     int // nesting depth of the current schema
	rootNotes []string
}

// maxDepth is the nesting limit for schemas after references are expanded.
const maxDepth = 60

// enter counts a schema and reports whether it is within the limits.
func (a *adapter) enter() bool {
	a.depth++
	a.left--
	return a.depth <= maxDepth && a.left > 0
}

func (a *adapter) leave() { a.depth-- }

// count returns the number of objects in a tree.
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

// openRoot replaces references at the root by their targets.
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

// resolve returns the target of a reference within the document, or nil.
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
				if step == strconv.Itoa(i) {
					at = e
				}
			}
		default:
			return nil
		}
	}
	return at
}

// farRefs reports whether a reference points to a place that adapting may move.
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

// rename changes the names of properties that do not match fit. It returns the
// original names by new name.
func rename(top, props *object, fit *regexp.Regexp) map[string]string {
	var names map[string]string
	required := top.strings("required")
	for i, m := range props.members {
		if fit.MatchString(m.name) {
			continue
		}
		name := fittingName(m.name, props, fit)
		if names == nil {
			names = map[string]string{}
		}
		names[name] = m.name
		props.members[i].name = name
		if at := slices.Index(required, m.name); at >= 0 {
			required[at] = name
		}
	}
	if names != nil {
		top.setStrings("required", required)
	}
	return names
}

var unfit = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^A-Za-z0-9_.-]+`) })

func fittingName(name string, props *object, fit *regexp.Regexp) string {
	base := cmp.Or(strings.Trim(unfit().ReplaceAllString(name, "_"), "_"), "argument")
	base = base[:min(len(base), 60)]
	fitting := base
	for n := 2; props.has(fitting) || !fit.MatchString(fitting); n++ {
		fitting = base + "_" + strconv.Itoa(n)
	}
	return fitting
}

// Restore renames arguments to the names in the original schema.
func (a Adapted) Restore(arguments json.RawMessage) json.RawMessage {
	if len(a.Names) == 0 {
		return arguments
	}
	o, ok := parse(arguments).(*object)
	if !ok {
		return arguments
	}
	for i, m := range o.members {
		if original, ok := a.Names[m.name]; ok && !o.has(original) {
			o.members[i].name = original
		}
	}
	return render(o)
}

// Describe adds text to the description of a schema. It treats nil as an object
// without properties.
func Describe(schema json.RawMessage, text string) json.RawMessage {
	o, ok := parse(schema).(*object)
	if !ok {
		o = &object{[]member{{"type", str("object")}, {"properties", &object{}}}}
	}
	o.describe(text)
	return render(o)
}
