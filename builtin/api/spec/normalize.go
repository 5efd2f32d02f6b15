package spec

import (
	"fmt"
	"strings"

	"github.com/tenon-mcp/tenon/internal/typo"
)

// normalize writes out the short forms of a file:
//
//	auth, error, then   one object instead of an array
//	request             "GET /path" instead of an object
//	status              one number instead of an array
//	params              $name of a shared parameter, or the name of a type
//	multipart           a text instead of an object with the member text
//	files of a tool     a text instead of an object with the member from
//	text of a prompt    instead of messages
func normalize(root *node) []Problem {
	n := &normalizer{shared: root.get("params")}
	n.params("params", root.get("params"), false)
	n.list(root, "auth")
	n.list(root.get("api"), "error")
	n.errors(root.get("api"))
	each(root.get("profiles"), func(_ string, p *node) { n.list(p, "auth") })
	each(root.get("tools"), n.tool)
	each(root.get("prompts"), n.prompt)
	each(root.get("completions"), func(_ string, c *node) { n.request(c) })
	if all := root.get("resources"); all != nil && all.kind == array {
		for _, r := range all.items {
			n.request(r)
		}
	}
	return n.found
}

type normalizer struct {
	shared *node
	found  []Problem
}

// each calls visit for the members of an object.
func each(n *node, visit func(name string, v *node)) {
	if n == nil || n.kind != object {
		return
	}
	for i, name := range n.names {
		visit(name, n.items[i])
	}
}

// list makes an array of a member that is one object.
func (n *normalizer) list(in *node, name string) {
	if one := in.get(name); one != nil && one.kind == object {
		in.set(name, &node{kind: array, items: []*node{one}, line: one.line, col: one.col})
	}
}

// errors makes arrays of the status codes of error rules.
func (n *normalizer) errors(in *node) {
	n.list(in, "error")
	rules := in.get("error")
	if rules == nil || rules.kind != array {
		return
	}
	for _, rule := range rules.items {
		if one := rule.get("status"); one != nil && one.kind == scalar {
			rule.set("status", &node{kind: array, items: []*node{one}, line: one.line, col: one.col})
		}
	}
}

func (n *normalizer) tool(name string, t *node) {
	if t.kind != object {
		return
	}
	n.request(t)
	n.lookup(t)
	n.list(t, "then")
	if all := t.get("then"); all != nil && all.kind == array {
		for _, step := range all.items {
			n.request(step)
		}
	}
	n.params(Path("tools", name)+".params", t.get("params"), true)
	wrap(t.get("files"), "from")
}

// wrap makes objects with one member of the members of an object that are texts.
func wrap(in *node, member string) {
	if in == nil || in.kind != object {
		return
	}
	for i, one := range in.items {
		if one.kind == text {
			o := &node{kind: object, line: one.line, col: one.col}
			o.set(member, one)
			in.items[i] = o
		}
	}
}

func (n *normalizer) prompt(_ string, p *node) {
	n.lookup(p)
	said := p.get("text")
	if said == nil || p.get("messages") != nil {
		return
	}
	message := &node{kind: object, line: said.line, col: said.col}
	message.set("text", said)
	p.drop("text")
	p.set("messages", &node{kind: array, items: []*node{message}, line: said.line, col: said.col})
}

func (n *normalizer) lookup(in *node) {
	if l := in.get("lookup"); l != nil {
		if l.kind == text {
			o := &node{kind: object, line: l.line, col: l.col}
			o.set("request", l)
			in.set("lookup", o)
			l = o
		}
		n.request(l)
	}
}

// request writes out the request of a tool or the like, and its error rules.
func (n *normalizer) request(in *node) {
	if in == nil || in.kind != object {
		return
	}
	n.errors(in)
	r := in.get("request")
	switch {
	case r == nil:
		return
	case r.kind == text:
		method, target, ok := strings.Cut(strings.TrimSpace(r.text()), " ")
		if !ok {
			method, target = "GET", method
		}
		o := &node{kind: object, line: r.line, col: r.col}
		o.set("method", r.newText(method))
		if target = strings.TrimSpace(target); !strings.Contains(target, "://") && !strings.HasPrefix(target, "{{") {
			o.set("path", r.newText(target))
		} else {
			o.set("url", r.newText(target))
		}
		in.set("request", o)
	case r.kind == object:
		wrap(r.get("multipart"), "text")
	}
}

var types = []string{"string", "integer", "number", "boolean", "array", "object"}

// params writes out the short forms of parameters.
func (n *normalizer) params(path string, in *node, mayShare bool) {
	if in == nil || in.kind != object {
		return
	}
	for i, name := range in.names {
		p := in.items[i]
		if p.kind != text {
			continue
		}
		written := p.text()
		shared, refers := strings.CutPrefix(written, "$")
		switch {
		case refers && mayShare && n.shared.get(shared) != nil:
			in.items[i] = n.shared.get(shared)
			continue
		case refers && mayShare:
			n.fail(Path(path, name), p, "there is no shared parameter %q%s", shared, suggest(shared, n.names()))
		case !contains(types, written):
			n.fail(Path(path, name), p, "expected a JSON Schema, a type such as string, or $name of a shared parameter, got %q", written)
		}
		o := &node{kind: object, line: p.line, col: p.col}
		if contains(types, written) {
			o.set("type", p)
		}
		in.items[i] = o
	}
}

func (n *normalizer) names() []string {
	if n.shared == nil {
		return nil
	}
	return n.shared.names
}

func (n *normalizer) fail(path string, at *node, format string, args ...any) {
	n.found = append(n.found, Problem{Line: at.line, Column: at.col, Path: path, Message: fmt.Sprintf(format, args...)})
}

// suggest returns a hint at the nearest of some names, or lists them.
func suggest(name string, among []string) string {
	if near := typo.Nearest(name, among); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	if len(among) == 0 {
		return ""
	}
	return "; there are " + strings.Join(among, ", ")
}

func contains(all []string, s string) bool {
	for _, one := range all {
		if one == s {
			return true
		}
	}
	return false
}
