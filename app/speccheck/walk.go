package speccheck

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/internal/visible"
)

// A walker walks a value along its form, in one revision. It calls see with every
// member, and bad with every problem; either may be nil. The value must have been
// checked.
type walker struct {
	letter byte
	see    func(pointer string, m *member, known bool)
	bad    func(rule, pointer, text string)
	extras bool // check values as well as types
}

func (w *walker) fault(rule, pointer, text string) {
	if w.bad != nil {
		w.bad(rule, pointer, text)
	}
}

// value walks raw as a value of kind k.
func (w *walker) value(k kind, raw []byte, pointer string) {
	if f := table().forms[k.base]; f != nil {
		if f.alias == nil {
			w.object(f, raw, pointer)
			return
		}
		k = *f.alias
	}
	switch {
	case k.any != nil:
		w.choice(k, raw, pointer)
	case k.list != nil:
		if !rawjson.IsArray(raw) {
			w.wrong(k, raw, pointer)
			return
		}
		i := 0
		for e := rawjson.Array(raw); e.Next(); i++ {
			w.value(*k.list, e.Value, pointer+"/"+strconv.Itoa(i))
		}
	case k.dict != nil:
		if !rawjson.IsObject(raw) {
			w.wrong(k, raw, pointer)
			return
		}
		for m := rawjson.Object(raw); m.Next(); {
			w.value(*k.dict, m.Value, pointer+"/"+rawjson.EscapePointer(string(m.Name)))
		}
	case !k.plainFits(raw):
		w.wrong(k, raw, pointer)
	}
}

// plainFits reports whether raw is a word or a plain value of the kind.
func (k *kind) plainFits(raw []byte) bool {
	if k.word != nil {
		s, ok := rawjson.String(raw)
		return ok && slices.Contains(k.word, s)
	}
	switch k.base {
	case "any":
		return true
	case "string":
		return rawjson.IsString(raw)
	case "object":
		return rawjson.IsObject(raw)
	case "schema":
		return rawjson.IsObject(raw) || raw[0] == 't' || raw[0] == 'f'
	case "bool":
		return raw[0] == 't' || raw[0] == 'f'
	case "null":
		return rawjson.IsNull(raw)
	case "number":
		return raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9'
	case "int":
		return whole(raw)
	}
	return false
}

// whole reports whether a number is an integer, however it is written.
func whole(raw []byte) bool {
	if raw[0] != '-' && (raw[0] < '0' || raw[0] > '9') {
		return false
	}
	if !bytes.ContainsAny(raw, ".eE") {
		return true
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	return err == nil && f == float64(int64(f))
}

// choice walks raw as the nearest alternative.
func (w *walker) choice(k kind, raw []byte, pointer string) {
	best, least := -1, 1<<30
	flat := w.flatten(k)
	for i := range flat {
		if n := w.distance(&flat[i], raw); n < least {
			best, least = i, n
		}
	}
	if least >= 1000 {
		w.wrong(k, raw, pointer)
		return
	}
	w.value(flat[best], raw, pointer)
}

// flatten replaces alternatives that are names of further alternatives.
func (w *walker) flatten(k kind) (flat []kind) {
	for _, of := range k.any {
		if f := table().forms[of.base]; f != nil && f.alias != nil && f.alias.any != nil {
			flat = append(flat, w.flatten(*f.alias)...)
			continue
		}
		flat = append(flat, of)
	}
	return flat
}

// distance returns how far raw is from a kind; 1000 is another type. It compares
// one level only.
func (w *walker) distance(k *kind, raw []byte) int {
	f := table().forms[k.base]
	switch {
	case k.list != nil:
		return far(rawjson.IsArray(raw))
	case k.dict != nil:
		return far(rawjson.IsObject(raw))
	case f == nil:
		return far(k.plainFits(raw))
	case f.alias != nil:
		return far(f.alias.plainFits(raw))
	case !rawjson.IsObject(raw) || len(f.members) == 0 || !f.members[0].in.has(w.letter):
		return 1000
	}
	n := 0
	for m := rawjson.Object(raw); m.Next(); {
		if f.find(string(m.Name), w.letter) == nil {
			n += 5
		}
	}
	for i := range f.members {
		m := &f.members[i]
		if !m.in.has(w.letter) {
			continue
		}
		value := rawjson.Lookup(raw, m.name)
		switch {
		case value == nil && m.required && len(m.kind.word) == 1, value != nil && m.kind.word != nil && !m.kind.plainFits(value):
			n += 100
		case value == nil && m.required:
			n += 10
		}
	}
	return n
}

func far(fits bool) int {
	if fits {
		return 0
	}
	return 1000
}

// find returns the member with this name in a revision, or nil.
func (f *form) find(name string, letter byte) *member {
	for i := range f.members {
		if m := &f.members[i]; m.name == name && m.in.has(letter) {
			return m
		}
	}
	return nil
}

// elsewhere reports whether another revision has a member with this name.
func (f *form) elsewhere(name string) bool {
	return slices.ContainsFunc(f.members, func(m member) bool { return m.name == name })
}

func (w *walker) object(f *form, raw []byte, pointer string) {
	if !rawjson.IsObject(raw) {
		w.fault(ruleType, pointer, "this must be an object")
		return
	}
	for i := range f.members {
		if m := &f.members[i]; m.required && m.in.has(w.letter) && rawjson.Lookup(raw, m.name) == nil {
			w.fault(requiredRule(m.name), pointer, "the member "+strconv.Quote(m.name)+" is missing")
		}
	}
	for o := rawjson.Object(raw); o.Next(); {
		name := string(o.Name)
		at := pointer + "/" + rawjson.EscapePointer(name)
		m := f.find(name, w.letter)
		if w.see != nil {
			w.see(at, m, m != nil)
		}
		if m != nil {
			w.value(m.kind, o.Value, at)
			w.look(f.name+"/"+name, o.Value, at)
		} else if f.elsewhere(name) {
			w.fault(ruleMember, at, "this revision has no such member")
		}
	}
	w.look(f.name, raw, pointer)
}

// requiredRule returns the rule that requires a member, if it is not only the
// schema.
func requiredRule(name string) string {
	switch {
	case name == "resultType":
		return ruleResultType
	case name == "ttlMs" || name == "cacheScope":
		return ruleCache
	case strings.HasPrefix(name, "io.modelcontextprotocol/"):
		return ruleEnvelope
	}
	return ruleRequired
}

func (w *walker) wrong(k kind, raw []byte, pointer string) {
	w.fault(ruleType, pointer, "this must be "+k.words()+", and is "+typeName(raw))
}

// words describes a kind in words.
func (k *kind) words() string {
	switch {
	case k.any != nil:
		var all []string
		for i := range k.any {
			if one := k.any[i].words(); !slices.Contains(all, one) {
				all = append(all, one)
			}
		}
		return strings.Join(all, " or ")
	case k.list != nil:
		return "an array"
	case k.dict != nil:
		return "an object"
	case len(k.word) == 1:
		return strconv.Quote(k.word[0])
	case k.word != nil:
		return "one of " + strings.Join(k.word, ", ")
	}
	switch k.base {
	case "string":
		return "a string"
	case "int":
		return "an integer"
	case "number":
		return "a number"
	case "bool":
		return "a boolean"
	case "object":
		return "an object"
	case "schema":
		return "a JSON Schema"
	case "null":
		return "null"
	}
	if f := table().forms[k.base]; f != nil && f.alias != nil {
		return f.alias.words()
	}
	return "an object"
}

func typeName(raw []byte) string {
	switch raw[0] {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return strconv.Quote(visible.Shorten(string(raw[1:len(raw)-1]), 40))
	case 'n':
		return "null"
	}
	return visible.Shorten(string(raw), 40)
}
