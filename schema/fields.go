package schema

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/schema/internal/words"
)

// A goField is a struct field that becomes a property, found in the struct or
// in one that it embeds.
type goField struct {
	reflect.StructField
	index      []int // from the outer struct
	name       string
	tagged     bool
	viaPointer bool // an embedded pointer stands in between

	omitEmpty, omitZero bool
}

// goFields lists the fields of a struct as encoding/json sees them, in order.
// Of fields with the same name the least deep counts; of several at that depth
// the one named by a tag; and if that does not decide, none.
func goFields(t reflect.Type) ([]goField, error) {
	all, err := walkFields(t, nil, false, []reflect.Type{t}, nil)
	if err != nil {
		return nil, err
	}
	byName := map[string][]goField{}
	for _, f := range all {
		byName[f.name] = append(byName[f.name], f)
	}
	var kept []goField
	for _, same := range byName {
		if f, ok := dominant(same); ok {
			kept = append(kept, f)
		}
	}
	slices.SortFunc(kept, func(a, b goField) int { return slices.Compare(a.index, b.index) })
	return kept, nil
}

func dominant(same []goField) (goField, bool) {
	depth := len(slices.MinFunc(same, func(a, b goField) int { return cmp.Compare(len(a.index), len(b.index)) }).index)
	var all, tagged []goField
	for _, f := range same {
		if len(f.index) != depth {
			continue
		}
		all = append(all, f)
		if f.tagged {
			tagged = append(tagged, f)
		}
	}
	switch {
	case len(all) == 1:
		return all[0], true
	case len(tagged) == 1:
		return tagged[0], true
	}
	return goField{}, false
}

func walkFields(t reflect.Type, index []int, viaPointer bool, open []reflect.Type, out []goField) ([]goField, error) {
	for i := range t.NumField() {
		sf := t.Field(i)
		f := goField{StructField: sf, viaPointer: viaPointer, name: sf.Name}
		f.index = append(slices.Clip(index), i)
		skip, inline, err := f.readTag()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", sf.Name, err)
		}
		inner, pointer := sf.Type, false
		if inner.Kind() == reflect.Pointer {
			inner, pointer = inner.Elem(), true
		}
		embeds := inner.Kind() == reflect.Struct && (sf.Anonymous && !f.tagged || inline)
		switch {
		case skip:
		case inline && !embeds:
			return nil, fmt.Errorf("%s: inline is for structs", sf.Name)
		case !sf.IsExported() && !(sf.Anonymous && embeds):
		case !embeds:
			out = append(out, f)
		case pointer && !sf.IsExported():
			return nil, fmt.Errorf("%s: an embedded pointer to an unexported struct cannot be set; embed the struct itself", sf.Name)
		case slices.Contains(open, inner): // embeds itself: what is deeper is hidden anyway
		default:
			out, err = walkFields(inner, f.index, viaPointer || pointer, append(slices.Clip(open), inner), out)
			if err != nil {
				return nil, fmt.Errorf("%s.%w", sf.Name, err)
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
