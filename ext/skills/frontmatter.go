package skills

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/mcp"
)

// Bounds of a frontmatter. Frontmatter is read from servers that may be hostile,
// and the time that the parser takes may grow with the square of the length.
const (
	maxFrontmatter = 16 << 10 // bytes
	maxValues      = 10_000   // values, with those of aliases
	maxNesting     = 100
	maxBrackets    = 1000 // nested brackets, also in texts
)

// Frontmatter returns the YAML frontmatter of a SKILL.md file as a JSON object.
// Values have the types of the core schema of YAML 1.2: a date is a string, and
// yes is one, too.
func Frontmatter(text []byte) (json.RawMessage, error) {
	v, err := parseFrontmatter(text)
	if err != nil {
		return nil, err
	}
	return mcp.Marshal(v)
}

// A number is a JSON number as text, so that it loses no digits.
type number string

// MarshalJSON implements the interface of encoding/json.
func (n number) MarshalJSON() ([]byte, error) { return []byte(n), nil }

// parseFrontmatter returns the frontmatter as maps, slices, strings, numbers,
// booleans and nil.
func parseFrontmatter(text []byte) (fields map[string]any, err error) {
	block, err := splitFrontmatter(text)
	if err != nil {
		return nil, err
	}
	defer func() { // a bug of the parser must not end the program
		if p := recover(); p != nil {
			fields, err = nil, errors.New("frontmatter: invalid YAML")
		}
	}()
	file, err := parser.ParseBytes(block, 0)
	if err != nil {
		return nil, fmt.Errorf("frontmatter: invalid YAML: %s", firstLine(err.Error()))
	}
	if len(file.Docs) != 1 || file.Docs[0].Body == nil {
		return nil, errors.New("frontmatter: expected one mapping of names to values")
	}
	c := converter{anchors: map[string]any{}}
	v, err := c.value(file.Docs[0].Body, 0)
	if err != nil {
		return nil, fmt.Errorf("frontmatter: %w", err)
	}
	fields, ok := v.(map[string]any)
	if !ok {
		return nil, errors.New("frontmatter: expected one mapping of names to values")
	}
	return fields, nil
}

// splitFrontmatter returns the YAML between the first line and the next line that
// both are ---.
func splitFrontmatter(text []byte) ([]byte, error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	first, rest, _ := bytes.Cut(text, []byte("\n"))
	if string(bytes.TrimRight(first, "\r")) != "---" {
		return nil, errors.New("frontmatter: the first line must be ---")
	}
	for at := 0; at < len(rest) && at <= maxFrontmatter; {
		line := rest[at:]
		if i := bytes.IndexByte(line, '\n'); i >= 0 {
			line = line[:i+1]
		}
		if after, ok := bytes.CutPrefix(line, []byte("---")); ok && len(bytes.Trim(after, " \t\r\n")) == 0 {
			if rawjson.Nesting(rest[:at]) > maxBrackets {
				return nil, fmt.Errorf("frontmatter: nested more than %d deep", maxNesting)
			}
			return rest[:at], nil
		}
		at += len(line)
	}
	if len(rest) > maxFrontmatter {
		return nil, fmt.Errorf("frontmatter: no line --- in the first %d KiB", maxFrontmatter>>10)
	}
	return nil, errors.New("frontmatter: the line --- at its end is missing")
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return clip(s)
}

// A converter turns YAML nodes into values of encoding/json.
type converter struct {
	anchors map[string]any
	count   int
}

func (c *converter) value(n ast.Node, depth int) (any, error) {
	if c.count++; c.count > maxValues {
		return nil, fmt.Errorf("more than %d values", maxValues)
	}
	if depth > maxNesting {
		return nil, fmt.Errorf("nested more than %d deep", maxNesting)
	}
	switch n := n.(type) {
	case nil:
		return nil, nil
	case *ast.MappingNode:
		return c.mapping(n.Values, depth)
	case *ast.MappingValueNode:
		return c.mapping([]*ast.MappingValueNode{n}, depth)
	case *ast.SequenceNode:
		list := make([]any, 0, len(n.Values))
		for _, item := range n.Values {
			v, err := c.value(item, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, nil
	case *ast.AnchorNode:
		v, err := c.value(n.Value, depth+1)
		if err == nil {
			c.anchors[n.Name.GetToken().Value] = v
		}
		return v, err
	case *ast.AliasNode:
		return c.alias(n.Value.GetToken().Value, depth)
	case *ast.TagNode:
		return tagged(n)
	case *ast.LiteralNode:
		return n.Value.Value, nil
	case *ast.StringNode:
		if n.Token.Type == token.SingleQuoteType || n.Token.Type == token.DoubleQuoteType {
			return n.Value, nil
		}
		return plain(n.Value)
	case *ast.NullNode, *ast.BoolNode, *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		return plain(n.GetToken().Value)
	}
	return nil, fmt.Errorf("a %s has no meaning in JSON", strings.ToLower(n.Type().String()))
}

// tagged returns the value of a scalar with the tag !!str. Other tags have no
// meaning in JSON.
func tagged(n *ast.TagNode) (any, error) {
	if n.Start.Value == "!!str" {
		switch v := n.Value.(type) {
		case *ast.LiteralNode:
			return v.Value.Value, nil
		case *ast.StringNode:
			return v.Value, nil
		case *ast.NullNode, *ast.BoolNode, *ast.IntegerNode, *ast.FloatNode:
			return v.GetToken().Value, nil
		}
	}
	return nil, fmt.Errorf("the tag %s has no meaning in JSON", rawjson.Quote(clip(n.Start.Value)))
}

func (c *converter) mapping(values []*ast.MappingValueNode, depth int) (any, error) {
	fields := make(map[string]any, len(values))
	for _, f := range values {
		var name string
		switch key := f.Key.(type) {
		case *ast.StringNode:
			name = key.Value
		case *ast.NullNode, *ast.BoolNode, *ast.IntegerNode, *ast.FloatNode:
			name = key.GetToken().Value
		default:
			return nil, fmt.Errorf("a name must be a text, not %s", rawjson.Quote(clip(f.Key.String())))
		}
		if _, twice := fields[name]; twice {
			return nil, fmt.Errorf("%s appears twice", rawjson.Quote(clip(name)))
		}
		v, err := c.value(f.Value, depth+1)
		if err != nil {
			return nil, err
		}
		fields[name] = v
	}
	return fields, nil
}

// alias returns the value of an anchor, and counts its values again.
func (c *converter) alias(name string, depth int) (any, error) {
	v, ok := c.anchors[name]
	if !ok {
		return nil, fmt.Errorf("the alias %s has no anchor before it", rawjson.Quote(clip(name)))
	}
	return v, c.again(v, depth)
}

func (c *converter) again(v any, depth int) error {
	if c.count++; c.count > maxValues {
		return fmt.Errorf("more than %d values", maxValues)
	}
	if depth > maxNesting {
		return fmt.Errorf("nested more than %d deep", maxNesting)
	}
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			if err := c.again(item, depth+1); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, item := range v {
			if err := c.again(item, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

var (
	integer = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[-+]?[0-9]+$`) })
	octal   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^0o[0-7]+$`) })
	hexa    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^0x[0-9a-fA-F]+$`) })
	float   = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`)
	})
	special = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^([-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$`)
	})
)

// plain returns the value of a scalar without quotes, by the core schema of YAML
// 1.2.
func plain(text string) (any, error) {
	switch text {
	case "", "~", "null", "Null", "NULL":
		return nil, nil
	case "true", "True", "TRUE":
		return true, nil
	case "false", "False", "FALSE":
		return false, nil
	}
	switch {
	case special().MatchString(text):
		return nil, fmt.Errorf("%s has no meaning in JSON: quote it", text)
	case octal().MatchString(text), hexa().MatchString(text):
		v, ok := new(big.Int).SetString(text, 0)
		if !ok {
			return nil, fmt.Errorf("%s is not a number", clip(text))
		}
		return finite(v.String())
	case integer().MatchString(text):
		v, ok := new(big.Int).SetString(text, 10)
		if !ok {
			return nil, fmt.Errorf("%s is not a number", clip(text))
		}
		return finite(v.String())
	case float().MatchString(text):
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, fmt.Errorf("the number %s is too large for JSON: quote it", clip(text))
		}
		raw, err := mcp.Marshal(v)
		return number(raw), err
	}
	return text, nil
}

// finite returns an integer as a number, if every reader of JSON can have it.
func finite(digits string) (any, error) {
	if _, err := strconv.ParseFloat(digits, 64); err != nil {
		return nil, fmt.Errorf("the number %s is too large for JSON: quote it", clip(digits))
	}
	return number(digits), nil
}

// differences compares the frontmatter of a SKILL.md file with that of an entry,
// field by field, and returns the names of the fields that differ, sorted.
// Numbers are the same if they are so for readers with 64-bit floating point,
// as most readers of JSON are.
func differences(have map[string]any, entry json.RawMessage) []string {
	want, _ := decoded(entry).(map[string]any)
	all := maps.Clone(have)
	maps.Copy(all, want)
	var names []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		a, inFile := have[name]
		b, inEntry := want[name]
		if inFile != inEntry || !equal(a, b) {
			names = append(names, name)
		}
	}
	return names
}

// decoded returns a checked JSON value in the form of parseFrontmatter.
func decoded(raw []byte) any {
	switch {
	case rawjson.IsObject(raw):
		fields := map[string]any{}
		for m := rawjson.Object(raw); m.Next(); {
			fields[string(m.Name)] = decoded(m.Value)
		}
		return fields
	case rawjson.IsArray(raw):
		list := []any{}
		for e := rawjson.Array(raw); e.Next(); {
			list = append(list, decoded(e.Value))
		}
		return list
	case rawjson.IsString(raw):
		s, _ := rawjson.String(raw)
		return s
	}
	switch text := string(raw); text {
	case "null":
		return nil
	case "true", "false":
		return text == "true"
	default:
		return number(text)
	}
}

func equal(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, equal)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, equal)
	case number:
		b, ok := b.(number)
		if !ok {
			return false
		}
		x, errX := strconv.ParseFloat(string(a), 64)
		y, errY := strconv.ParseFloat(string(b), 64)
		return errX == nil && errY == nil && x == y
	}
	switch b.(type) {
	case map[string]any, []any, number:
		return false
	}
	return a == b
}
