package validate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tenon-mcp/tenon/schema/internal/keyword"
	"github.com/tenon-mcp/tenon/schema/internal/words"
)

// dialects are the values of $schema that are understood, without scheme and
// without an empty fragment.
var dialects = []string{
	"json-schema.org/schema", "json-schema.org/draft/2020-12/schema", "json-schema.org/draft/2019-09/schema",
	"json-schema.org/draft-07/schema", "json-schema.org/draft-06/schema", "json-schema.org/draft-04/schema",
}

// maxCost stands for a cost that is not known beforehand.
const maxCost = math.MaxInt32 / 2 // so that two of them fit an int everywhere

// A part is one schema inside a schema.
type part struct {
	object map[string]any
	refs   []string
	once   []*part // held against the same value, or against one member of it
	each   []*part // held against every member or element

	state int // while the cost is worked out: 0 new, 1 open, 2 done
	total int
}

// A survey is what was found by walking over a schema once before it is
// compiled.
type survey struct {
	limits Limits
	root   any
	parts  map[string]*part // by JSON pointer
	order  []*part

	patterns map[string]*regexp.Regexp
}

// look walks over a schema and holds it to the limits.
func look(doc any, limits Limits) (*survey, error) {
	s := &survey{limits: limits, root: doc, parts: map[string]*part{}, patterns: map[string]*regexp.Regexp{}}
	switch doc.(type) {
	case map[string]any, bool:
	default:
		return nil, fmt.Errorf("a schema is an object, true or false")
	}
	if _, err := s.walk(doc, "", 1); err != nil {
		return nil, err
	}
	// A reference may lead to a place where no schema is expected.
	for i := 0; i < len(s.order); i++ {
		for _, ref := range s.order[i].refs {
			pointer, ok := localPointer(ref)
			if !ok || s.parts[pointer] != nil {
				continue
			}
			if target, ok := find(doc, pointer); ok {
				if _, err := s.walk(target, pointer, 1); err != nil {
					return nil, err
				}
			}
		}
	}
	return s, nil
}

func (s *survey) walk(v any, pointer string, depth int) (*part, error) {
	if known := s.parts[pointer]; known != nil {
		return known, nil
	}
	object, ok := v.(map[string]any)
	if !ok { // true, false, or something that the meta-schema refuses
		return nil, nil
	}
	p := &part{object: object}
	s.parts[pointer] = p
	s.order = append(s.order, p)
	switch {
	case len(s.order) > s.limits.Subschemas:
		return nil, fmt.Errorf("the schema contains more than %d schemas", s.limits.Subschemas)
	case depth > s.limits.Depth:
		return nil, fmt.Errorf("schemas are nested deeper than %d levels at #%s", s.limits.Depth, words.Clip(pointer))
	}
	if err := checkDialect(object, pointer); err != nil {
		return nil, err
	}
	if err := s.checkPatterns(object); err != nil {
		return nil, err
	}
	for _, key := range []string{"$ref", "$dynamicRef", "$recursiveRef"} {
		if ref, ok := object[key].(string); ok {
			p.refs = append(p.refs, ref)
		}
	}
	return p, s.walkInside(p, pointer, depth+1)
}

func (s *survey) walkInside(p *part, pointer string, depth int) error {
	var err error
	visit := func(v any, into *[]*part, steps ...string) {
		if err != nil {
			return
		}
		at := pointer
		for _, step := range steps {
			at += "/" + escapePointer.Replace(step)
		}
		var sub *part
		if sub, err = s.walk(v, at, depth); sub != nil && into != nil {
			*into = append(*into, sub)
		}
	}
	plain := func(keys []string, into *[]*part) {
		for _, key := range keys {
			visit(p.object[key], into, key)
		}
	}
	named := func(keys []string, into *[]*part) {
		for _, key := range keys {
			members, _ := p.object[key].(map[string]any)
			for name, v := range members {
				visit(v, into, key, name)
			}
		}
	}
	plain(keyword.OneHere, &p.once)
	plain(keyword.OneInside, &p.each)
	named(keyword.NamedHere, &p.once)
	named(keyword.NamedInside, &p.each)
	named(keyword.NamedOnly, nil)
	for _, key := range keyword.ListHere {
		elements, _ := p.object[key].([]any)
		for i, v := range elements {
			visit(v, &p.once, key, strconv.Itoa(i))
		}
	}
	return err
}

func (s *survey) checkPatterns(object map[string]any) error {
	var exprs []string
	if expr, ok := object["pattern"].(string); ok {
		exprs = append(exprs, expr)
	}
	named, _ := object["patternProperties"].(map[string]any)
	for _, expr := range slices.AppendSeq(exprs, maps.Keys(named)) {
		re, err := s.pattern(expr)
		if err != nil {
			return err
		}
		s.patterns[expr] = re
	}
	return nil
}

// pattern returns a compiled regular expression. After the survey many
// goroutines may call it.
func (s *survey) pattern(expr string) (*regexp.Regexp, error) {
	if re := s.patterns[expr]; re != nil {
		return re, nil
	}
	if len(expr) > s.limits.PatternBytes {
		return nil, fmt.Errorf("the pattern %s has %d bytes; at most %d are allowed", words.Quote(expr), len(expr), s.limits.PatternBytes)
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		return nil, fmt.Errorf("the pattern %s is not supported: %w", words.Quote(expr), err)
	}
	return re, nil
}

func checkDialect(object map[string]any, pointer string) error {
	dialect, ok := object["$schema"].(string)
	if !ok {
		return nil
	}
	name := strings.TrimSuffix(dialect, "#")
	if _, rest, ok := strings.Cut(name, "://"); ok && (strings.HasPrefix(name, "http://") || strings.HasPrefix(name, "https://")) {
		name = rest
	}
	if !slices.Contains(dialects, name) {
		return fmt.Errorf("the dialect %s of #%s is not supported; use JSON Schema 2020-12 (or 2019-09, draft 7, 6, 4)", words.Quote(dialect), words.Clip(pointer))
	}
	return nil
}

// localPointer gives the JSON pointer of a reference like "#" or "#/a/b".
func localPointer(ref string) (string, bool) {
	fragment, ok := strings.CutPrefix(ref, "#")
	if !ok || fragment != "" && fragment[0] != '/' {
		return "", false
	}
	pointer, err := url.PathUnescape(fragment)
	return pointer, err == nil
}

var (
	escapePointer   = strings.NewReplacer("~", "~0", "/", "~1")
	unescapePointer = strings.NewReplacer("~1", "/", "~0", "~")
)

// find follows a JSON pointer.
func find(v any, pointer string) (any, bool) {
	for _, step := range strings.Split(pointer, "/")[1:] {
		step = unescapePointer.Replace(step)
		switch in := v.(type) {
		case map[string]any:
			next, ok := in[step]
			if !ok {
				return nil, false
			}
			v = next
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(in) {
				return nil, false
			}
			v = in[i]
		default:
			return nil, false
		}
	}
	return v, true
}

// parse makes a tree of JSON that passed the strict check. Numbers stay as
// they are written, but must be of a size that is cheap to compute with.
func parse(raw []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	return v, checkNumbers(v)
}

func checkNumbers(v any) error {
	switch v := v.(type) {
	case map[string]any:
		for _, m := range v {
			if err := checkNumbers(m); err != nil {
				return err
			}
		}
	case []any:
		for _, e := range v {
			if err := checkNumbers(e); err != nil {
				return err
			}
		}
	case json.Number:
		power := 0
		if i := strings.IndexAny(string(v), "eE"); i >= 0 {
			var err error
			if power, err = strconv.Atoi(string(v[i+1:])); err != nil {
				power = maxCost
			}
		}
		if len(v) > 400 || power > 400 || power < -400 {
			return fmt.Errorf("the number %s is too long or too large to be checked", words.Clip(string(v)))
		}
	}
	return nil
}

// measure counts the values in a tree.
func measure(v any) int {
	n := 1
	switch v := v.(type) {
	case map[string]any:
		for _, m := range v {
			n += measure(m)
		}
	case []any:
		for _, e := range v {
			n += measure(e)
		}
	}
	return n
}
