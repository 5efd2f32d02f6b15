package show

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/mcp"
)

// A property is a member of a schema.
type property struct {
	name, kind, about string
	required          bool
	enum              []string
	fallback          string
	inside            []property
}

// outline returns the members of an object schema, in order. It ignores what it
// does not understand.
func outline(raw json.RawMessage, depth int) []property {
	var s struct {
		Properties json.RawMessage `json:"properties"`
		Required   []string        `json:"required"`
	}
	if depth > 4 || mcp.Unmarshal(raw, &s) != nil {
		return nil
	}
	var all []property
	for _, m := range members(s.Properties) {
		q := describe(m.value, depth)
		q.name, q.required = m.name, slices.Contains(s.Required, m.name)
		all = append(all, q)
	}
	return all
}

func describe(raw json.RawMessage, depth int) property {
	var s struct {
		Type        json.RawMessage   `json:"type"`
		Title       string            `json:"title"`
		Description string            `json:"description"`
		Enum        []json.RawMessage `json:"enum"`
		Const       json.RawMessage   `json:"const"`
		Default     json.RawMessage   `json:"default"`
		Format      string            `json:"format"`
		Items       json.RawMessage   `json:"items"`
		Ref         string            `json:"$ref"`
		AnyOf       []json.RawMessage `json:"anyOf"`
		OneOf       []json.RawMessage `json:"oneOf"`
	}
	if mcp.Unmarshal(raw, &s) != nil {
		return property{kind: "any"}
	}
	q := property{kind: kindOf(s.Type), about: s.Description, fallback: string(s.Default)}
	q.about = cmp.Or(q.about, s.Title)
	switch {
	case s.Format != "" && q.kind == "string":
		q.kind = s.Format
	case s.Ref != "":
		q.kind = s.Ref[strings.LastIndexByte(s.Ref, '/')+1:]
	case q.kind == "array" && len(s.Items) > 0:
		item := describe(s.Items, depth+1)
		q.kind, q.inside = item.kind+"[]", item.inside
	case q.kind == "any" && len(s.AnyOf)+len(s.OneOf) > 0:
		var kinds []string
		for _, one := range append(s.AnyOf, s.OneOf...) {
			kinds = append(kinds, describe(one, depth+1).kind)
		}
		q.kind = strings.Join(slices.Compact(kinds), "|")
	}
	if s.Const != nil {
		s.Enum = append(s.Enum, s.Const)
	}
	for _, e := range s.Enum {
		var text string
		if mcp.Unmarshal(e, &text) != nil {
			text = string(e)
		}
		q.enum = append(q.enum, text)
	}
	if q.inside == nil {
		q.inside = outline(raw, depth+1)
	}
	return q
}

func kindOf(raw json.RawMessage) string {
	var one string
	if mcp.Unmarshal(raw, &one) == nil && one != "" {
		return one
	}
	var some []string
	if mcp.Unmarshal(raw, &some) == nil && len(some) > 0 {
		return strings.Join(some, "|")
	}
	return "any"
}

type member struct {
	name  string
	value json.RawMessage
}

// members returns the members of an object in order.
func members(raw json.RawMessage) []member {
	dec := jsontext.NewDecoder(bytes.NewReader(raw))
	if t, err := dec.ReadToken(); err != nil || t.Kind() != '{' {
		return nil
	}
	var all []member
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			return all
		}
		key := name.String()
		v, err := dec.ReadValue()
		if err != nil {
			return all
		}
		all = append(all, member{key, json.RawMessage(v.Clone())})
	}
	return all
}

// signature returns the arguments of a tool in one line; optional ones have a
// question mark.
func signature(raw json.RawMessage) string {
	var parts []string
	all := outline(raw, 0)
	slices.SortStableFunc(all, func(a, b property) int { return btoi(b.required) - btoi(a.required) })
	for _, q := range all {
		mark := "?"
		if q.required {
			mark = ""
		}
		parts = append(parts, fmt.Sprintf("%s%s:%s", clean(q.name), mark, clean(q.kind)))
	}
	return strings.Join(parts, " ")
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// schema prints the members of a schema as a tree.
func (p *Printer) schema(title string, raw json.RawMessage) {
	all := outline(raw, 0)
	if len(all) == 0 {
		return
	}
	p.line("")
	p.line(p.Bold(title))
	t := &table{most: 40}
	p.branch(t, all, "  ")
	p.table(t)
}

func (p *Printer) branch(t *table, all []property, margin string) {
	for _, q := range all {
		name := clean(q.name)
		if q.required {
			name = p.Bold(name)
		} else {
			name += "?"
		}
		about := clean(q.about)
		if len(q.enum) > 0 {
			about = strings.TrimSpace(about + " One of: " + clean(strings.Join(q.enum, ", ")) + ".")
		}
		if q.fallback != "" {
			about = strings.TrimSpace(about + " Default: " + clean(q.fallback) + ".")
		}
		t.add(margin+name, p.Dim(clean(q.kind)), about)
		p.branch(t, q.inside, margin+"  ")
	}
}
