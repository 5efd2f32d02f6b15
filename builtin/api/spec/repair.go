package spec

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/internal/typo"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/schema"
)

// A repair makes a tree that can be decoded out of one with mistakes, so that one
// mistake does not hide the others. It reports each mistake, and remembers where it
// was, so that the mistakes that follow from it are not reported.
type repair struct {
	root   *node
	format shape
	broken broken
	found  []Problem
}

// A shape is the JSON Schema of a part of the format.
type shape map[string]any

func newRepair(p *schema.Plan[File], root *node) (*repair, error) {
	r := &repair{root: root, broken: newBroken()}
	return r, mcp.Unmarshal(p.Schema(), &r.format)
}

func (r *repair) fail(path string, line, col int, format string, args ...any) {
	r.found = append(r.found, Problem{Line: line, Column: col, Path: path, Message: fmt.Sprintf(format, args...)})
}

// members returns the names that an object of a shape may have; nil for any.
func (s shape) members() map[string]any {
	members, _ := s["properties"].(map[string]any)
	if members["messages"] != nil { // the short form of a prompt
		members["text"] = map[string]any{"type": "string"}
	}
	return members
}

// under returns the shape of a member or an item.
func (s shape) under(at step) shape {
	var sub any
	switch {
	case at.index >= 0:
		sub = s["items"]
	case s.members()[at.name] != nil:
		sub = s.members()[at.name]
	default:
		sub = s["additionalProperties"]
	}
	out, _ := sub.(map[string]any)
	return out
}

// names reports the members that the format does not have, in n and below it. It
// renames a member whose name is like one that is absent, and removes others.
func (r *repair) names(n *node, s shape, path string) {
	if s == nil {
		return
	}
	r.lists(n, s, path)
	if items, ok := s["items"].(map[string]any); ok && n.kind == object { // one instead of an array
		s = items
	}
	if n.kind == array {
		for i, item := range n.items {
			r.names(item, s.under(step{index: i}), fmt.Sprintf("%s[%d]", path, i))
		}
	}
	if n.kind != object {
		return
	}
	if known := s.members(); known != nil {
		for _, name := range slices.Clone(n.names) {
			if known[name] == nil {
				r.unknown(n, name, s, path)
			}
		}
	}
	for i, name := range n.names {
		r.names(n.items[i], s.under(step{name, -1}), Path(path, name))
	}
}

// lists makes an object of a list of things with names, where the names are keys, and
// a list of an object where the format has a list.
func (r *repair) lists(n *node, s shape, path string) {
	keyed := s["type"] == "object" && s.members() == nil
	isNamed := func(item *node) bool { return item.kind == object && item.get("name").text() != "" }
	switch {
	case keyed && n.kind == array && len(n.items) > 0 && len(n.items) <= maxNames && !slices.ContainsFunc(n.items, func(i *node) bool { return !isNamed(i) }):
		r.fail(path, n.line, n.col, "expected names as keys, not a list: write %s: {…} instead of - name: %[1]s", n.items[0].get("name").text())
		items := n.items
		n.kind, n.items = object, nil
		for _, item := range items {
			name := item.get("name").text()
			item.drop("name")
			n.set(name, item)
		}
	case path == "resources" && n.kind == object && n.get("uri") == nil:
		r.fail(path, n.line, n.col, "expected a list: write - name: … before each uri")
		for i, item := range n.items {
			if item.kind == object && item.get("name") == nil {
				item.set("name", n.newText(n.names[i]))
			}
		}
		n.kind, n.names = array, nil
	}
}

// synonyms are names that people use for members of the format.
var synonyms = map[string][]string{
	"parameters": {"params"}, "args": {"params"}, "arguments": {"params"}, "inputs": {"params"}, "input": {"params"}, "inputSchema": {"params"},
	"summary": {"description"}, "desc": {"description"}, "doc": {"description"},
	"response": {"output"}, "responses": {"output"}, "result": {"output"}, "returns": {"output"}, "outputSchema": {"output"},
	"pagination": {"paginate"}, "paging": {"paginate"}, "pages": {"paginate"},
	"endpoint": {"path", "request"}, "uri": {"path"}, "route": {"path"},
	"json": {"body"}, "data": {"body"}, "payload": {"body"},
	"base_url": {"base"}, "baseUrl": {"base"}, "baseURL": {"base"}, "url": {"base"}, "host": {"base"},
	"authentication": {"auth"}, "authorization": {"auth"}, "credentials": {"auth"}, "security": {"auth"},
	"type": {"kind"}, "username": {"user"}, "key": {"value"}, "secret": {"value"},
	"filter": {"jq"}, "transform": {"jq"}, "select": {"jq"}, "errors": {"error"}, "confirmation": {"confirm"},
	"cases": {"tests"}, "prompt": {"message", "text"}, "question": {"message"}, "method_and_path": {"request"},
}

// unknown reports a member that the format does not have.
func (r *repair) unknown(n *node, name string, s shape, path string) {
	known := slices.Sorted(maps.Keys(s.members()))
	at := n.get(name)
	line, col := at.line, at.col
	if at.key[0] > 0 {
		line, col = at.key[0], at.key[1]
	}
	homes := s.homes(name)
	meant := meaning(name, known, len(homes) > 0)
	n.drop(name)
	switch {
	case meant != "" && n.get(meant) == nil:
		n.set(meant, at)
	case meant == "" && len(homes) == 1 && n.lend(homes[0]).get(name) == nil:
		n.lend(homes[0]).set(name, at)
	default:
		r.broken.add(Path(path, name))
	}
	switch {
	case meant != "":
		r.fail(Path(path, name), line, col, "unknown member; did you mean %q?", meant)
	case len(homes) > 0:
		r.fail(Path(path, name), line, col, "unknown member here; it belongs to %s", strings.Join(homes, " or "))
	default:
		r.fail(Path(path, name), line, col, "unknown member; there are %s", strings.Join(known, ", "))
	}
}

// meaning returns the known name that a name most likely stands for, or "". A name
// that exists elsewhere is not misspelt.
func meaning(name string, known []string, elsewhere bool) string {
	for _, other := range synonyms[name] {
		if slices.Contains(known, other) {
			return other
		}
	}
	if folded := strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(name)); slices.Contains(known, folded) {
		return folded
	}
	if elsewhere {
		return ""
	}
	return typo.Nearest(name, known)
}

// lend returns the object that is a member of n, made if n has none. It is not part
// of n if the member is no object.
func (n *node) lend(name string) *node {
	sub := n.get(name)
	if sub == nil {
		sub = &node{kind: object, line: n.line, col: n.col}
		n.set(name, sub)
	}
	if sub.kind != object {
		return &node{kind: object}
	}
	return sub
}

// homes returns the members of a shape below which a name exists.
func (s shape) homes(name string) []string {
	var found []string
	for _, member := range slices.Sorted(maps.Keys(s.members())) {
		sub := s.under(step{member, -1})
		if items, ok := sub["items"].(map[string]any); ok {
			sub = items
		}
		if sub.members()[name] != nil {
			found = append(found, member)
		}
	}
	return found
}

// maxRounds bounds how often the tree is decoded. Each round reports up to 20
// mistakes.
const maxRounds = 25

// decode decodes the tree, or returns nil. Each round mends what the one before it
// has found.
func (r *repair) decode(p *schema.Plan[File]) *File {
	for range maxRounds {
		f := new(File)
		err := p.Decode(r.root.append(nil), f)
		if err == nil {
			return f
		}
		found, ok := errors.AsType[*schema.Problems](err)
		if !ok {
			r.fail("", 1, 1, "%v", err)
			return nil
		}
		for _, one := range found.List {
			r.mend(one)
		}
	}
	return nil
}

// mend reports a mistake unless it follows from another one. It removes a wrong
// value, and adds one that is missing.
func (r *repair) mend(p schema.Problem) {
	at, exact := r.root.find(p.Path)
	if !r.broken.at(p.Path) {
		r.fail(p.Path, at.line, at.col, "%s", r.advise(p, at, exact))
		r.broken.add(p.Path)
	}
	all := steps(p.Path)
	if len(all) == 0 {
		return
	}
	s, parent := r.format, r.root
	for _, one := range all[:len(all)-1] {
		s = s.under(one)
		next, ok := parent.find(one.path())
		if !ok {
			return // a path that the tree does not have
		}
		parent = next
	}
	last := all[len(all)-1]
	switch {
	case last.index >= 0 && exact:
		parent.items[last.index] = s.under(last).example(parent)
	case exact:
		parent.drop(last.name)
	case last.index < 0:
		parent.set(last.name, s.under(last).example(parent))
	}
}

// advise returns the message of a mistake, with an example where the message alone
// does not help.
func (r *repair) advise(p schema.Problem, at *node, exact bool) string {
	s := r.format
	for _, one := range steps(p.Path) {
		s = s.under(one)
	}
	required, _ := s["required"].([]any)
	switch fixed, isFixed := s["const"].(string); {
	case isFixed && exact:
		return fmt.Sprintf("expected %q", fixed)
	case isFixed:
		return fmt.Sprintf("is required but missing; expected %q", fixed)
	case p.Path == "name" && exact && at.kind == text:
		return "use lower-case letters, digits, - and _, such as weather-api; title is the name for display"
	case strings.HasSuffix(fmt.Sprint(s["pattern"]), "(B|KiB|MiB)$"):
		return "expected a size such as 16KiB or 4MiB"
	case !exact || s["type"] != "object" || at.kind == object:
		return p.Message
	case len(required) > 0:
		return fmt.Sprintf("%s; write {%s: …}", p.Message, required[0])
	case s.members() != nil:
		return fmt.Sprintf("%s; it has the members %s", p.Message, strings.Join(slices.Sorted(maps.Keys(s.members())), ", "))
	}
	return p.Message
}

// path returns the path of one step.
func (s step) path() string {
	if s.index >= 0 {
		return fmt.Sprintf("[%d]", s.index)
	}
	return fmt.Sprintf("[%q]", s.name)
}

// example returns a value of a shape, at the position of another node.
func (s shape) example(at *node) *node {
	out := &node{line: at.line, col: at.col}
	enum, _ := s["enum"].([]any)
	fixed, isFixed := s["const"].(string)
	switch {
	case isFixed:
		return at.newText(fixed)
	case len(enum) > 0:
		first, _ := enum[0].(string)
		return at.newText(first)
	case s["type"] == "object":
		out.kind = object
	case s["type"] == "array":
		out.kind = array
		if s["minItems"] != nil {
			out.items = []*node{s.under(step{index: 0}).example(at)}
		}
	case s["type"] == "boolean":
		out.raw = "false"
	case s["type"] == "integer" || s["type"] == "number":
		out.raw = "100"
	case s["type"] == "string":
		return at.newText("x")
	default:
		out.raw = "null"
	}
	return out
}
