package speccheck

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"
)

//go:embed shapes.txt
var shapesText string

// A form is the definition of a type of JSON value in shapes.txt.
type form struct {
	name    string
	members []member // in the order of the text; nil for an alias
	alias   *kind
}

// A member is one line of a form. A name may occur several times, for different
// revisions.
type member struct {
	name        string
	required    bool
	kind        kind
	in          span
	text        string
	unsupported bool // not in the published schema
}

// A kind is a type in the table.
type kind struct {
	text string
	any  []kind   // alternatives
	list *kind    // []T
	dict *kind    // {}T
	word []string // =a,b
	base string   // string, int, …; or the name of a form
}

// A way is one method in the revisions that have it.
type way struct {
	in             span
	by             string // client, server, both
	params, result string // names of forms; "" is none
	needsParams    bool
	text           string
	unsupported    bool
}

// ways are all lines of a method.
type ways struct {
	list    []way
	request bool
}

func (w *ways) in(letter byte) bool {
	return w.at(letter) != nil
}

func (w *ways) at(letter byte) *way {
	for i := range w.list {
		if w.list[i].in.has(letter) {
			return &w.list[i]
		}
	}
	return nil
}

// from reports whether a message of this method may have this direction.
func (w *ways) from(d Dir) bool {
	return slices.ContainsFunc(w.list, func(w way) bool {
		return w.by == "both" || (w.by == "client") == (d == ToServer)
	})
}

type tables struct {
	methods map[string]*ways
	forms   map[string]*form
}

// table is shapes.txt, parsed when it is first needed.
var table = sync.OnceValue(func() *tables {
	t, err := readTables(shapesText)
	if err != nil {
		panic("inspect: shapes.txt: " + err.Error())
	}
	return t
})

func readTables(text string) (*tables, error) {
	t := &tables{map[string]*ways{}, map[string]*form{}}
	includes := map[string][]string{}
	var now *form
	for i, line := range strings.Split(text, "\n") {
		var err error
		switch {
		case strings.TrimSpace(line) == "" || line[0] == '#':
		case line[0] == '\t':
			err = now.readMember(line)
		case strings.HasPrefix(line, "method "):
			err = t.readMethod(line)
		default:
			now, err = t.readForm(line, includes)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
	}
	for name := range includes {
		t.include(name, includes)
	}
	return t, t.sound()
}

// include adds the members of included forms after a form's own.
func (t *tables) include(name string, includes map[string][]string) {
	f, others := t.forms[name], includes[name]
	delete(includes, name)
	for _, other := range others {
		t.include(other, includes)
		from := t.forms[other]
		if from == nil {
			continue // sound reports it
		}
		for _, m := range from.members {
			if !slices.ContainsFunc(f.members, func(own member) bool { return own.name == m.name && own.in == m.in }) {
				f.members = append(f.members, m)
			}
		}
	}
}

func (t *tables) readForm(line string, includes map[string][]string) (*form, error) {
	if name, alias, ok := strings.Cut(line, " = "); ok {
		k, err := parseKind(strings.ReplaceAll(alias, " ", ""))
		f := &form{name: name, alias: &k}
		t.forms[name] = f
		return f, err
	}
	name, more, _ := strings.Cut(line, " : ")
	f := &form{name: strings.TrimSpace(name)}
	if t.forms[f.name] != nil {
		return nil, fmt.Errorf("%s stands there twice", f.name)
	}
	t.forms[f.name] = f
	includes[f.name] = strings.Fields(more)
	return f, nil
}

func (f *form) readMember(line string) error {
	words := strings.Fields(line)
	if f == nil || len(words) < 4 {
		return fmt.Errorf("a member needs a form before it, and a name, a type, revisions and a sentence")
	}
	m := member{text: strings.Join(words[3:], " ")}
	m.name, m.required = strings.CutSuffix(words[0], "!")
	words[1], m.unsupported = strings.CutPrefix(words[1], "~")
	var err error
	if m.kind, err = parseKind(words[1]); err != nil {
		return err
	}
	var ok bool
	if m.in, ok = parseSpan(words[2]); !ok {
		return fmt.Errorf("%q are no revisions", words[2])
	}
	if m.text == "^" {
		n := len(f.members)
		if n == 0 || f.members[n-1].name != m.name {
			return fmt.Errorf("^ repeats the sentence of a line for the same member, and there is none above")
		}
		m.text = f.members[n-1].text
	}
	f.members = append(f.members, m)
	return nil
}

func (t *tables) readMethod(line string) error {
	words := strings.Fields(line)
	if len(words) < 7 {
		return fmt.Errorf("a method needs a name, a sender, revisions, params, result and a sentence")
	}
	w := way{text: strings.Join(words[6:], " ")}
	w.by, w.unsupported = strings.CutPrefix(words[2], "~")
	var ok bool
	if w.in, ok = parseSpan(words[3]); !ok {
		return fmt.Errorf("%q are no revisions", words[3])
	}
	w.params, w.needsParams = strings.CutSuffix(words[4], "!")
	all := t.methods[words[1]]
	if all == nil {
		all = &ways{}
		t.methods[words[1]] = all
	}
	if words[5] != "-" {
		w.result, all.request = words[5], true
	}
	all.list = append(all.list, w)
	return nil
}

func parseKind(text string) (kind, error) {
	k := kind{text: text}
	switch {
	case strings.HasPrefix(text, "="):
		k.word = strings.Split(text[1:], ",")
		return k, nil
	case strings.HasPrefix(text, "{}"):
		of, err := parseKind(text[2:])
		k.dict = &of
		return k, err
	case strings.Contains(text, "|"):
		for part := range strings.SplitSeq(text, "|") {
			of, err := parseKind(part)
			if err != nil {
				return k, err
			}
			k.any = append(k.any, of)
		}
		return k, nil
	case strings.HasPrefix(text, "[]"):
		of, err := parseKind(text[2:])
		k.list = &of
		return k, err
	case text == "":
		return k, fmt.Errorf("a type is missing")
	}
	k.base = text
	return k, nil
}

var plainKinds = []string{"string", "int", "number", "bool", "object", "any", "null", "schema"}

// sound reports undefined names.
func (t *tables) sound() error {
	for name, f := range t.forms {
		if f.alias != nil {
			if err := t.soundKind(*f.alias); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		for _, m := range f.members {
			if err := t.soundKind(m.kind); err != nil {
				return fmt.Errorf("%s/%s: %w", name, m.name, err)
			}
		}
	}
	for name, all := range t.methods {
		for _, w := range all.list {
			for _, f := range []string{w.params, w.result} {
				if f != "" && t.forms[f] == nil {
					return fmt.Errorf("%s: there is no form %s", name, f)
				}
			}
		}
	}
	return nil
}

func (t *tables) soundKind(k kind) error {
	for _, of := range k.any {
		if err := t.soundKind(of); err != nil {
			return err
		}
	}
	for _, of := range []*kind{k.list, k.dict} {
		if of != nil {
			if err := t.soundKind(*of); err != nil {
				return err
			}
		}
	}
	if k.base != "" && !slices.Contains(plainKinds, k.base) && t.forms[k.base] == nil {
		return fmt.Errorf("there is no type %s", k.base)
	}
	return nil
}
