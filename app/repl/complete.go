package repl

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/app/args"
	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/internal/visible"
	"github.com/tenon-mcp/tenon/mcp"
)

// A Candidate is one way to complete a word.
type Candidate struct {
	Word  string // the completed word
	About string // a description; may be empty
	Open  bool   // more follows in the same word
}

// Matching returns the candidates that begin with word and are printable, sorted.
func Matching(all []string, word string) []string {
	var out []string
	for _, c := range all {
		if strings.HasPrefix(c, word) && visible.Line(c) == c {
			out = append(out, c)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// property is what completion uses of the schema of a tool's argument.
type property struct {
	Type        any    `json:"type"`
	Description string `json:"description"`
	Enum        []any  `json:"enum"`
	OneOf       []struct {
		Const any    `json:"const"`
		Title string `json:"title"`
	} `json:"oneOf"`
	Items *property `json:"items"`
}

// values returns the values that the schema lists.
func (p *property) values() []Candidate {
	var all []Candidate
	for _, v := range p.Enum {
		all = append(all, Candidate{Word: fmt.Sprint(v)})
	}
	for _, v := range p.OneOf {
		if v.Const != nil {
			all = append(all, Candidate{Word: fmt.Sprint(v.Const), About: v.Title})
		}
	}
	if p.Type == "boolean" {
		all = append(all, Candidate{Word: "true"}, Candidate{Word: "false"})
	}
	if p.Items != nil {
		all = append(all, p.Items.values()...)
	}
	return all
}

// ToolArgument completes a word name=value of a tool with this input schema: the
// name, unless it is given; the value, if the schema lists some; or a file after
// name=@.
func ToolArgument(schema json.RawMessage, given []string, word string) []Candidate {
	var s struct {
		Properties json.RawMessage `json:"properties"`
	}
	if mcp.Unmarshal(schema, &s) != nil {
		return nil
	}
	name, value, hasValue := strings.Cut(word, "=")
	var all []Candidate
	for o := rawjson.Object(s.Properties); o.Next(); {
		n := string(o.Name)
		var p property
		mcp.Unmarshal(o.Value, &p) // a schema that cannot be read lists no values
		switch {
		case hasValue && n == name:
			all = argumentValues(&p, name, value)
		case !hasValue && strings.HasPrefix(n, word) && !strings.Contains(n, "=") && !isGiven(given, n):
			all = append(all, Candidate{Word: n + "=", About: p.Description, Open: true})
		}
	}
	return all
}

func argumentValues(p *property, name, value string) []Candidate {
	var all []Candidate
	if beginning, isFile := strings.CutPrefix(value, "@"); isFile && !strings.HasPrefix(beginning, "@") {
		found, _ := filepath.Glob(beginning + "*") // an invalid pattern matches nothing
		for _, f := range found {
			all = append(all, Candidate{Word: name + "=@" + f})
		}
		return all
	}
	for _, v := range p.values() {
		if v.Word = args.Escape(v.Word); strings.HasPrefix(v.Word, value) {
			v.Word = name + "=" + v.Word
			all = append(all, v)
		}
	}
	return all
}

func isGiven(words []string, name string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, name+"=") })
}

// PromptArgument completes a word name=value of a prompt: the name, unless it is
// given, or the value, which the server completes.
func PromptArgument(ctx context.Context, c *client.Client, prompt *mcp.Prompt, given []string, word string) []Candidate {
	name, value, hasValue := strings.Cut(word, "=")
	var all []Candidate
	if !hasValue {
		for _, a := range prompt.Arguments {
			if strings.HasPrefix(a.Name, word) && !isGiven(given, a.Name) {
				all = append(all, Candidate{Word: a.Name + "=", About: a.Description, Open: true})
			}
		}
		return all
	}
	others := map[string]string{}
	for _, g := range given {
		if k, v, ok := strings.Cut(g, "="); ok {
			others[k] = v
		}
	}
	for _, v := range complete(ctx, c, mcp.PromptRef(prompt.Name), name, value, others) {
		all = append(all, Candidate{Word: name + "=" + v})
	}
	return all
}

// URI completes a URI: with the resources, with the fixed beginnings of the
// templates, and with values that the server completes. The latter may not begin
// with word.
func URI(ctx context.Context, c *client.Client, resources []*mcp.Resource, templates []*mcp.ResourceTemplate, word string) []Candidate {
	var all []Candidate
	for _, r := range resources {
		if strings.HasPrefix(r.URI, word) {
			all = append(all, Candidate{Word: r.URI, About: r.DisplayName()})
		}
	}
	for _, t := range templates {
		if fixed, _, ok := strings.Cut(t.URITemplate, "{"); ok && fixed != word && strings.HasPrefix(fixed, word) {
			all = append(all, Candidate{Word: fixed, About: t.URITemplate + "  " + t.DisplayName(), Open: true})
		}
		v, ok := variableAt(t.URITemplate, word)
		if !ok {
			continue
		}
		for _, value := range complete(ctx, c, mcp.ResourceRef(t.URITemplate), v.name, v.value, v.others) {
			all = append(all, Candidate{Word: v.before + value + v.after, About: t.DisplayName(), Open: v.more})
		}
	}
	return all
}

// A variable is the variable of a URI template that the beginning of a URI ends in.
type variable struct {
	before, name, value, after string
	others                     map[string]string // the variables before it
	more                       bool              // there are variables after it
}

func variableAt(template, uri string) (v variable, ok bool) {
	v.others = map[string]string{}
	rest := uri
	for {
		fixed, after, found := strings.Cut(template, "{")
		if !found || !strings.HasPrefix(rest, fixed) {
			return v, false
		}
		rest = rest[len(fixed):]
		expression, tail, closed := strings.Cut(after, "}")
		if !closed {
			return v, false
		}
		v.name = strings.TrimRight(strings.TrimLeft(expression, "+#./;?&"), "*")
		v.after, _, v.more = strings.Cut(tail, "{")
		end := -1
		if v.after != "" {
			end = strings.Index(rest, v.after)
		}
		if end < 0 {
			v.before, v.value = uri[:len(uri)-len(rest)], rest
			return v, true
		}
		v.others[v.name] = rest[:end]
		rest, template = rest[end:], tail
	}
}

// complete asks the server for values. One that cannot complete returns none.
func complete(ctx context.Context, c *client.Client, ref mcp.CompletionRef, name, value string, others map[string]string) []string {
	ctx, stop := context.WithTimeout(ctx, completionTimeout)
	defer stop()
	p := mcp.CompleteParams{Ref: ref, Argument: mcp.CompletionArgument{Name: name, Value: value}}
	if len(others) > 0 {
		p.Context = &mcp.CompletionContext{Arguments: others}
	}
	r, err := c.Complete(ctx, p)
	if err != nil {
		return nil
	}
	return r.Values
}
