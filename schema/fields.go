package schema

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/schema/internal/words"
)

// A goField is a struct field that becomes a property, in the struct or in one
// that it embeds.
type goField struct {
	reflect.StructField
	index      []int // from the outer struct
	name       string
	tagged     bool
	viaPointer bool // an embedded pointer stands in between

	omitEmpty, omitZero bool
}

// goFields returns the fields of a struct like encoding/json, in order. Of
// fields with the same name the least nested counts; of several at that depth
// the one with a tag; otherwise none.
func goFields(t reflect.Type) ([]*goField, error) {
	all, err := walkFields(t, nil, false, []reflect.Type{t}, nil)
	if err != nil {
		return nil, err
	}
	kept := make([]*goField, 0, len(all))
	for _, f := range all {
		if f.dominates(all) {
			kept = append(kept, f)
		}
	}
	return kept, nil
}

// dominates reports whether no other field keeps f from counting.
func (f *goField) dominates(all []*goField) bool {
	for _, g := range all {
		if g == f || g.name != f.name || len(g.index) > len(f.index) {
			continue
		}
		if len(g.index) < len(f.index) || g.tagged || !f.tagged {
			return false
		}
	}
	return true
}

func walkFields(t reflect.Type, index []int, viaPointer bool, open []reflect.Type, out []*goField) ([]*goField, error) {
	for i := range t.NumField() {
		f := &goField{StructField: t.Field(i), viaPointer: viaPointer, index: append(slices.Clip(index), i)}
		f.name = f.Name
		skip, inline, err := f.readTag()
		if err != nil {
			return nil, under(f.Name, err)
		}
		inner, pointer := f.Type, false
		if inner.Kind() == reflect.Pointer {
			inner, pointer = inner.Elem(), true
		}
		embeds := inner.Kind() == reflect.Struct && (f.Anonymous && !f.tagged || inline)
		switch {
		case skip:
		case inline && !embeds:
			return nil, under(f.Name, errors.New("inline applies to structs only"))
		case !f.IsExported() && !(f.Anonymous && embeds):
		case !embeds:
			out = append(out, f)
		case pointer && !f.IsExported():
			return nil, under(f.Name, errors.New("an embedded pointer to an unexported struct cannot be set; embed the struct itself"))
		case slices.Contains(open, inner): // embeds itself: what is deeper is hidden anyway
		default:
			out, err = walkFields(inner, f.index, viaPointer || pointer, append(slices.Clip(open), inner), out)
			if err != nil {
				return nil, fmt.Errorf("%s.%w", f.Name, err)
			}
		}
	}
	return out, nil
}

// readTag reads the json tag. An option that would change how the value is
// written, and that a Plan does not follow, is an error.
func (f *goField) readTag() (skip, inline bool, err error) {
	tag, ok := f.Tag.Lookup("json")
	if !ok {
		return false, false, nil
	}
	if tag == "-" {
		return true, false, nil
	}
	name, options, _ := strings.Cut(tag, ",")
	if name != "" {
		f.name, f.tagged = name, true
	}
	for options != "" {
		var one string
		one, options, _ = strings.Cut(options, ",")
		switch one {
		case "omitempty":
			f.omitEmpty = true
		case "omitzero":
			f.omitZero = true
		case "inline":
			inline = true
		case "":
		default:
			return false, false, errors.New("the json tag option " + words.Quote(one) + " is not supported; use omitempty, omitzero or inline")
		}
	}
	return false, inline, nil
}
