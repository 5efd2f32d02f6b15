package schema

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/tenon-mcp/tenon/schema/internal/words"
)

// takeNotes separates the keywords of the field from those of its type.
func takeNotes(rules []rule) (types, noted []rule) {
	for _, r := range rules {
		if slices.Contains(noteKeys, r.key) {
			noted = append(noted, r)
		} else {
			types = append(types, r)
		}
	}
	return types, noted
}

func (f *field) note(noted []rule) (err error) {
	for _, r := range noted {
		switch r.key {
		case "title":
			f.notes.title = r.value
		case "header":
			if !isToken(r.value) {
				return fmt.Errorf("header=%s is not a header name", words.Quote(r.value))
			}
			f.notes.header = r.value
		case "default":
			f.notes.fallback, err = f.node.literal(r.value)
		case "examples":
			for _, text := range r.list {
				raw, bad := f.node.literal(text)
				if bad != nil {
					return fmt.Errorf("examples: %w", bad)
				}
				f.notes.examples = append(f.notes.examples, raw)
			}
		}
		if err != nil {
			return under(r.key, err)
		}
	}
	return nil
}

// checkNotes checks the default and the examples against the rules of the
// field.
func (f *field) checkNotes(path string) error {
	if f.notes.fallback != nil {
		if err := f.node.accepts(f.notes.fallback); err != nil {
			return fmt.Errorf("%s: default=%s: %w", path, f.notes.fallback, err)
		}
	}
	for _, raw := range f.notes.examples {
		if err := f.node.accepts(raw); err != nil {
			return fmt.Errorf("%s: the example %s: %w", path, raw, err)
		}
	}
	return nil
}

// accepts decodes a value only to check it.
func (n *node) accepts(raw []byte) error {
	var d decoder
	d.value(n, raw, reflect.New(n.typ).Elem())
	return d.result()
}
