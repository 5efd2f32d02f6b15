package schema

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/schema/internal/words"
)

// A rule is one keyword of a schema tag with its value as it is written.
type rule struct {
	key   string
	value string   // for keywords with one value
	list  []string // for enum and examples
}

// The keywords of a schema tag, by what they are about.
var (
	numberKeys = []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}
	textKeys   = []string{"minLength", "maxLength", "pattern", "format"}
	itemKeys   = []string{"minItems", "maxItems", "uniqueItems"}
	noteKeys   = []string{"title", "default", "examples", "header"}
	enumKeys   = []string{"enum", "const"}
)

// known reports whether there is such a keyword.
func known(key string) bool {
	return slices.Contains(numberKeys, key) || slices.Contains(textKeys, key) || slices.Contains(enumKeys, key) ||
		slices.Contains(itemKeys, key) || slices.Contains(noteKeys, key)
}

// parseTag takes a schema tag apart. It knows the keywords, but not yet
// whether they fit the field.
func parseTag(tag string) ([]rule, error) {
	var rules []rule
	for tag != "" {
		name, rest := tag, ""
		if i := strings.IndexAny(tag, "=,"); i >= 0 {
			name, rest = tag[:i], tag[i:]
		}
		r := rule{key: strings.TrimSpace(name)}
		if !known(r.key) {
			tagKeys := slices.Concat(numberKeys, textKeys, enumKeys, itemKeys, noteKeys)
			return nil, fmt.Errorf("unknown keyword %q in the schema tag%s", r.key, didYouMean(r.key, tagKeys))
		}
		for _, seen := range rules {
			if seen.key == r.key {
				return nil, fmt.Errorf("%s is repeated in the schema tag", r.key)
			}
		}
		value, hasValue := strings.CutPrefix(rest, "=")
		switch {
		case r.key == "uniqueItems" && hasValue:
			return nil, fmt.Errorf("uniqueItems takes no value")
		case r.key == "uniqueItems":
			rest = value
		case !hasValue || value == "":
			return nil, fmt.Errorf("%s needs a value: %s=…", r.key, r.key)
		case r.key == "pattern": // up to the end, commas and all
			r.value, rest = value, ""
		default:
			var err error
			if r.list, rest, err = tagValues(value); err != nil {
				return nil, under(r.key, err)
			}
			if r.key != "enum" && r.key != "examples" {
				r.value = strings.Join(r.list, "|")
			}
		}
		rules = append(rules, r)
		if tag = strings.TrimPrefix(rest, ","); rest != "" && tag == rest {
			return nil, fmt.Errorf("expected a comma before %q in the schema tag", rest)
		}
	}
	return rules, nil
}

// tagValues reads values separated by | up to the next comma. Each may stand
// in single quotes.
func tagValues(s string) (values []string, rest string, err error) {
	for {
		var one string
		if strings.HasPrefix(s, "'") {
			if one, s, err = quotedValue(s[1:]); err != nil {
				return nil, "", err
			}
		} else {
			end := strings.IndexAny(s, ",|")
			if end < 0 {
				end = len(s)
			}
			one, s = s[:end], s[end:]
		}
		values = append(values, one)
		if !strings.HasPrefix(s, "|") {
			return values, s, nil
		}
		s = s[1:]
	}
}

// quotedValue reads up to the closing quote; two quotes in a row are one.
func quotedValue(s string) (value, rest string, err error) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\'' {
			b.WriteByte(s[i])
			continue
		}
		if i+1 < len(s) && s[i+1] == '\'' {
			b.WriteByte('\'')
			i++
			continue
		}
		return b.String(), s[i+1:], nil
	}
	return "", "", fmt.Errorf("unclosed single quote")
}

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
