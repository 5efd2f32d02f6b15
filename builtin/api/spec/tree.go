package spec

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/internal/textclip"
)

// MaxFile is the maximum size of a file in bytes.
const MaxFile = 4 << 20

// Further bounds of a file.
const (
	maxValues  = 500_000 // values, with those of aliases
	maxNames   = 1000    // names of one mapping
	maxNesting = 100
	maxInARow  = 200 // indicators such as - and : of a line that has no brackets and quotes between them
)

// A node is a value of the file with its position.
type node struct {
	kind      kind
	raw       string // the JSON of a scalar
	names     []string
	items     []*node // of an object (by its names) or an array
	line, col int
	key       [2]int // line and column of the name; zero if it has none
}

type kind uint8

const (
	scalar kind = iota
	text        // a scalar that is a string
	object
	array
)

// get returns a member of an object, or nil.
func (n *node) get(name string) *node {
	if n == nil {
		return nil
	}
	for i, have := range n.names {
		if have == name {
			return n.items[i]
		}
	}
	return nil
}

// set replaces a member of an object or adds it.
func (n *node) set(name string, v *node) {
	for i, have := range n.names {
		if have == name {
			n.items[i] = v
			return
		}
	}
	n.names, n.items = append(n.names, name), append(n.items, v)
}

// drop removes a member of an object.
func (n *node) drop(name string) {
	for i, have := range n.names {
		if have == name {
			n.names = append(n.names[:i:i], n.names[i+1:]...)
			n.items = append(n.items[:i:i], n.items[i+1:]...)
			return
		}
	}
}

// text returns the value of a string.
func (n *node) text() string {
	if n == nil || n.kind != text {
		return ""
	}
	s, _ := rawjson.String([]byte(n.raw))
	return s
}

// newText returns a string at the position of another node.
func (n *node) newText(s string) *node {
	return &node{kind: text, raw: string(rawjson.AppendString(nil, s)), line: n.line, col: n.col}
}

// append appends the JSON of the node.
func (n *node) append(dst []byte) []byte {
	switch n.kind {
	case object:
		dst = append(dst, '{')
		for i, name := range n.names {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(rawjson.AppendString(dst, name), ':')
			dst = n.items[i].append(dst)
		}
		return append(dst, '}')
	case array:
		dst = append(dst, '[')
		for i, item := range n.items {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = item.append(dst)
		}
		return append(dst, ']')
	}
	return append(dst, n.raw...)
}

// find returns the node at a path such as tools.list[2]["a b"], or the nearest one
// above it and false.
func (n *node) find(path string) (found *node, exact bool) {
	for _, s := range steps(path) {
		var next *node
		switch {
		case s.index < 0:
			next = n.get(s.name)
		case n.kind == array && s.index < len(n.items):
			next = n.items[s.index]
		}
		if next == nil {
			return n, false
		}
		n = next
	}
	return n, true
}

// A reader turns YAML nodes into nodes.
type reader struct {
	anchors map[string]*node
	count   int
	found   []Problem
}

func (r *reader) fail(n ast.Node, format string, args ...any) *node {
	line, col := position(n)
	r.found = append(r.found, Problem{Line: line, Column: col, Message: fmt.Sprintf(format, args...)})
	return &node{kind: scalar, raw: "null", line: line, col: col}
}

func position(n ast.Node) (line, col int) {
	if n == nil || n.GetToken() == nil || n.GetToken().Position == nil {
		return 1, 1
	}
	p := n.GetToken().Position
	return p.Line, p.Column
}

// errTooMany is the panic of a reader at the bounds of a file.
var errTooMany = errors.New("too many values")

// crowded returns the first line with more indicators in a row than a file needs; 0 if
// there is none. Each may open a level, for which the parser takes time and memory in
// proportion to the levels above it.
func crowded(data []byte) (line int) {
	line, count := 1, 0
	for i, c := range data {
		switch c {
		case '\n':
			line++
			count = 0
		case '"', '\'', ',', '{', '}', '[', ']':
			count = 0
		case '-', '?', ':':
			if i+1 < len(data) && (data[i+1] == ' ' || data[i+1] == '\t') {
				count++
			}
		case '&', '!':
			if i > 0 && (data[i-1] == ' ' || data[i-1] == '\t') {
				count++
			}
		}
		if count > maxInARow {
			return line
		}
	}
	return 0
}

// parse parses YAML. It panics with a Problem if a mapping has too many names: for one
// without braces the parser takes time and memory in proportion to their square.
func parse(data []byte) (*ast.File, error) {
	tokens := lexer.Tokenize(string(data))
	inBraces := 0
	counts := map[int]int{} // of names by column, of the mappings that are open
	ends := func(column int) { maps.DeleteFunc(counts, func(at, _ int) bool { return at > column }) }
	for _, t := range tokens {
		switch t.Type {
		case token.MappingStartType, token.SequenceStartType:
			inBraces++
		case token.MappingEndType, token.SequenceEndType:
			inBraces--
		case token.SequenceEntryType:
			ends(t.Position.Column)
		case token.MappingValueType:
			if t.Prev == nil || inBraces > 0 {
				continue
			}
			at := t.Prev.Position
			ends(at.Column)
			if counts[at.Column]++; counts[at.Column] > maxNames {
				panic(tooManyNames(at.Line, at.Column))
			}
		}
	}
	return parser.Parse(tokens, 0)
}

func tooManyNames(line, column int) Problem {
	return Problem{Line: line, Column: column, Message: fmt.Sprintf("the mapping has more than %d names", maxNames)}
}

// read parses a file.
func read(data []byte) (root *node, problems []Problem) {
	if len(data) > MaxFile {
		return nil, []Problem{{Line: 1, Column: 1, Message: fmt.Sprintf("the file has more than %d MiB", MaxFile>>20)}}
	}
	if rawjson.Nesting(data) > 1000 {
		return nil, []Problem{{Line: 1, Column: 1, Message: "brackets are nested too deep"}}
	}
	if line := crowded(data); line > 0 {
		return nil, []Problem{{Line: line, Column: 1, Message: fmt.Sprintf("the line has more than %d of - ? : & and ! in a row; put a text in quotes", maxInARow)}}
	}
	defer func() { // a bug of the parser must not end the program
		if what := recover(); what != nil {
			message := "invalid YAML"
			if what == errTooMany {
				message = fmt.Sprintf("the file has more than %d values, with those of aliases, or is nested more than %d deep", maxValues, maxNesting)
			}
			at, bounded := what.(Problem)
			if !bounded {
				at = Problem{Line: 1, Column: 1, Message: message}
			}
			root, problems = nil, []Problem{at}
		}
	}()
	file, err := parse(data)
	var unquoted []Problem
	if err != nil {
		mended, found := quote(data)
		if again, bad := parse(mended); bad == nil && len(found) > 0 {
			file, unquoted = again, found
		} else {
			return nil, []Problem{syntaxProblem(err, data)}
		}
	}
	if len(file.Docs) != 1 || file.Docs[0].Body == nil {
		return nil, []Problem{{Line: 1, Column: 1, Message: "expected one document: a mapping of names to values"}}
	}
	r := &reader{anchors: map[string]*node{}, found: unquoted}
	root = r.value(file.Docs[0].Body, 0)
	if root.kind != object {
		r.found = append(r.found, Problem{Line: root.line, Column: root.col, Message: "expected a mapping of names to values, beginning with tenon: " + Version})
	}
	return root, r.found
}

var syntaxAt = regexp.MustCompile(`^\[(\d+):(\d+)\] (.*)`)

// bare matches a value that begins with braces and is not in quotes, up to its end.
var bare = regexp.MustCompile(`(: +|- +|, *)(\{\{[^"'{}]*\}\}|\$\{[^"'{}]*\})( *)(,|\}|\]|$)`)

// quote puts templates and references into quotes that YAML takes for mappings, and
// reports them.
func quote(data []byte) ([]byte, []Problem) {
	lines := strings.Split(string(data), "\n")
	var found []Problem
	for i, line := range lines {
		for from := 0; ; {
			m := bare.FindStringSubmatchIndex(line[from:])
			if m == nil {
				break
			}
			start, end := from+m[4], from+m[5]
			value := line[start:end]
			from = end + 2
			if value[0] == '$' && strings.Count(line[:start], "{")+strings.Count(line[:start], "[") == 0 {
				from = end
				continue // a plain text outside of brackets
			}
			found = append(found, Problem{Line: i + 1, Column: start + 1, Message: fmt.Sprintf("put the text in quotes: %q", value)})
			line = line[:start] + strconv.Quote(value) + line[end:]
		}
		lines[i] = line
	}
	return []byte(strings.Join(lines, "\n")), found
}

// syntaxProblem reads the position in an error of the parser.
func syntaxProblem(err error, data []byte) Problem {
	line, _, _ := strings.Cut(err.Error(), "\n")
	p := Problem{Line: 1, Column: 1, Message: "invalid YAML: " + textclip.Clip(line, 200)}
	if m := syntaxAt.FindStringSubmatch(line); m != nil {
		p.Line, _ = strconv.Atoi(m[1])
		p.Column, _ = strconv.Atoi(m[2])
		p.Message = "invalid YAML: " + textclip.Clip(m[3], 200)
	}
	lines := strings.Split(string(data), "\n")
	switch {
	case p.Line > len(lines):
	case strings.HasPrefix(strings.TrimLeft(lines[p.Line-1], " "), "\t"):
		p.Message = "invalid YAML: a tab at the beginning of the line; indent with spaces"
	case strings.ContainsAny(lines[p.Line-1], "{}[]:#"):
		p.Message += "; a text with : { } [ ] or # needs quotes"
	}
	return p
}

func (r *reader) value(n ast.Node, depth int) *node {
	if r.count++; r.count > maxValues || depth > maxNesting {
		panic(errTooMany)
	}
	line, col := position(n)
	out := &node{line: line, col: col}
	switch n := n.(type) {
	case nil, *ast.NullNode:
		out.raw = "null"
	case *ast.MappingNode:
		r.mapping(out, n.Values, depth)
	case *ast.MappingValueNode:
		r.mapping(out, []*ast.MappingValueNode{n}, depth)
	case *ast.SequenceNode:
		out.kind = array
		for _, item := range n.Values {
			out.items = append(out.items, r.value(item, depth+1))
		}
	case *ast.AnchorNode:
		out = r.value(n.Value, depth+1)
		r.anchors[n.Name.GetToken().Value] = out
	case *ast.AliasNode:
		return r.alias(n, depth)
	case *ast.LiteralNode:
		out.kind, out.raw = text, quoted(n.Value.Value)
	case *ast.StringNode:
		out.kind, out.raw = text, quoted(n.Value)
	case *ast.BoolNode:
		out.raw = strconv.FormatBool(n.Value)
	case *ast.IntegerNode, *ast.FloatNode:
		return r.number(n, out)
	default:
		return r.fail(n, "a YAML %s has no meaning here", strings.ToLower(n.Type().String()))
	}
	return out
}

func quoted(s string) string {
	return string(rawjson.AppendString(nil, strings.ToValidUTF8(s, "\ufffd")))
}

func (r *reader) number(n ast.Node, out *node) *node {
	out.raw = strings.TrimPrefix(n.GetToken().Value, "+")
	if rawjson.Check([]byte(out.raw)) != nil {
		return r.fail(n, "write the number as in JSON, or put it in quotes: %s", textclip.Clip(out.raw, 40))
	}
	return out
}

func (r *reader) alias(n *ast.AliasNode, depth int) *node {
	name := n.Value.GetToken().Value
	v, ok := r.anchors[name]
	if !ok {
		return r.fail(n, "the alias *%s has no anchor before it", textclip.Clip(name, 40))
	}
	r.again(v, depth)
	return v
}

// again counts the values of an alias, so that few lines cannot become many
// values.
func (r *reader) again(v *node, depth int) {
	if r.count++; r.count > maxValues || depth > maxNesting {
		panic(errTooMany)
	}
	for _, item := range v.items {
		r.again(item, depth+1)
	}
}

func (r *reader) mapping(out *node, values []*ast.MappingValueNode, depth int) {
	out.kind = object
	defer func() {
		if len(out.names) > maxNames {
			panic(tooManyNames(out.line, out.col))
		}
	}()
	merged, known := slicesMerged(values), map[string]bool{}
	for _, f := range values {
		if _, merge := f.Key.(*ast.MergeKeyNode); merge {
			from := r.value(f.Value, depth+1)
			for i, name := range from.names {
				if !known[name] {
					known[name] = true
					out.names, out.items = append(out.names, name), append(out.items, from.items[i])
				}
			}
			continue
		}
		key, ok := f.Key.(ast.Node)
		name := key.GetToken().Value
		if s, isText := key.(*ast.StringNode); isText {
			name = s.Value
		}
		name = strings.ToValidUTF8(name, "\ufffd")
		if !ok || known[name] && !merged {
			r.fail(key, "%q appears twice", textclip.Clip(name, 40))
			continue
		}
		if len(out.names) == 0 {
			out.line, out.col = position(key)
		}
		v := r.value(f.Value, depth+1)
		if v.line == 0 || f.Value == nil {
			v.line, v.col = position(key)
		}
		if _, shared := f.Value.(*ast.AliasNode); shared {
			copied := *v
			v = &copied
		}
		v.key[0], v.key[1] = position(key)
		if known[name] {
			out.set(name, v)
			continue
		}
		known[name] = true
		out.names, out.items = append(out.names, name), append(out.items, v)
	}
}

// slicesMerged reports whether a mapping has a merge key, whose members may be
// replaced.
func slicesMerged(values []*ast.MappingValueNode) bool {
	for _, f := range values {
		if _, merge := f.Key.(*ast.MergeKeyNode); merge {
			return true
		}
	}
	return false
}
