package doctor

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/tenon-mcp/tenon/app/permit"
	"github.com/tenon-mcp/tenon/internal/protocol"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/schema"
)

// Limits of what a model can use. The sizes are in tokens.
const (
	largeTool  = 1_500
	largeTotal = 10_000
	hugeTotal  = 25_000
	manyTools  = 40
	longName   = 64
)

func tokens(bytes int) int { return (bytes + 3) / 4 }

// tools checks each tool and all of them together.
func (x *examination) tools(raw []json.RawMessage) {
	names := map[string]int{}
	var unhinted, undocumented []string
	for i, one := range raw {
		var t mcp.Tool
		if err := mcp.Unmarshal(one, &t); err != nil {
			x.find(Error, "tool", fmt.Sprintf("tools[%d]", i), "it cannot be read: "+err.Error(), "Clients leave it out, or refuse the whole list.")
			continue
		}
		if names[t.Name]++; names[t.Name] == 2 {
			x.find(Error, "name", t.Name, "there are several tools of this name", "Clients use one of them, and you do not know which.")
		}
		x.tool(&t)
		if t.Annotations == nil {
			unhinted = append(unhinted, t.Name)
		}
		if undescribed(&t) {
			undocumented = append(undocumented, t.Name)
		}
		x.report.Tokens.Tools = append(x.report.Tokens.Tools, ToolSize{t.Name, tokens(len(one))})
	}
	if len(unhinted) > 0 {
		x.find(Note, "hints", some(unhinted), "no hints whether the tool is read-only or destructive", "Set readOnlyHint and destructiveHint: without them hosts assume the worst and ask the person each time.")
	}
	if len(undocumented) > 0 {
		x.find(Note, "description", some(undocumented), "no argument has a description", "Say what each is, with its unit or form.")
	}
	x.sizes(len(raw))
}

// some lists a few of many names.
func some(names []string) string {
	const most = 6
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

func (x *examination) tool(t *mcp.Tool) {
	switch {
	case t.Name == "":
		x.find(Error, "name", "", "a tool has no name", "")
	case !protocol.ValidToolName(t.Name):
		x.find(Warning, "name", t.Name, "the name has characters that not every client takes", "Use 1 to 128 letters, digits, dots, hyphens and underscores.")
	case len(t.Name) > longName:
		x.find(Warning, "name", t.Name, fmt.Sprintf("the name has %d characters", len(t.Name)), "Models of several providers take at most 64, and hosts put the server's name before it.")
	}
	if strings.TrimSpace(t.Description) == "" {
		x.find(Warning, "description", t.Name, "there is no description", "Say what it does and when to use it: that is how a model chooses.")
	}
	if found := permit.Suspect(t); len(found) > 0 {
		x.find(Warning, "description", t.Name, strings.Join(found, "; "), "People and hosts take that for an attack. Describe the tool, and nothing else.")
	}
	x.schema(t, "inputSchema", t.InputSchema)
	if t.OutputSchema != nil {
		x.schema(t, "outputSchema", t.OutputSchema)
	}
	x.hints(t)
}

// schema checks that a schema can be used, and that an object is described.
func (x *examination) schema(t *mcp.Tool, which string, raw json.RawMessage) {
	where := t.Name + " " + which
	if len(raw) == 0 {
		x.find(Error, "schema", where, "it is missing", `A tool without arguments has {"type": "object"}.`)
		return
	}
	if _, err := schema.NewValidator(raw, nil); err != nil {
		x.find(Error, "schema", where, err.Error(), "Clients that check arguments or results refuse the tool.")
		return
	}
	var s struct {
		Type       json.RawMessage            `json:"type"`
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
	}
	if mcp.Unmarshal(raw, &s) != nil {
		return // the validator reports it
	}
	if string(s.Type) != `"object"` {
		x.find(Error, "schema", where, `its type is not "object"`, "The specification demands it, and model providers refuse anything else.")
	}
	for _, name := range s.Required {
		if _, ok := s.Properties[name]; !ok {
			x.find(Warning, "schema", where, fmt.Sprintf("%q is required but not described", name), "Add it to properties.")
		}
	}
}

// undescribed reports whether a tool describes none of its arguments.
func undescribed(t *mcp.Tool) bool {
	var s struct {
		Properties map[string]struct {
			Description string `json:"description"`
			Title       string `json:"title"`
			Ref         string `json:"$ref"`
		} `json:"properties"`
	}
	if mcp.Unmarshal(t.InputSchema, &s) != nil || len(s.Properties) == 0 {
		return false
	}
	for _, p := range s.Properties {
		if p.Description != "" || p.Title != "" || p.Ref != "" {
			return false
		}
	}
	return true
}

// destroys matches names of tools that probably write.
var destroys = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(^|[_.\-])(delete|remove|drop|write|create|update|edit|insert|send|kill|move|purge)`)
})

// hints checks for hints that contradict each other, or the name.
func (x *examination) hints(t *mcp.Tool) {
	a := t.Annotations
	if a == nil {
		return
	}
	if a.ReadOnlyHint != nil && *a.ReadOnlyHint && a.DestructiveHint != nil && *a.DestructiveHint {
		x.find(Warning, "hints", t.Name, "it is marked both read-only and destructive", "Only one of readOnlyHint and destructiveHint can be true.")
	}
	if a.ReadOnly() && destroys().MatchString(t.Name) {
		x.find(Warning, "hints", t.Name, "it is marked read-only, which its name contradicts", "Hosts run tools that only read without asking: take the hint away if it changes anything.")
	}
}

// sizes adds up the tokens of the tools.
func (x *examination) sizes(count int) {
	t := &x.report.Tokens
	t.Total = t.Instructions
	for _, one := range t.Tools {
		t.Total += one.Tokens
		if one.Tokens > largeTool {
			x.find(Warning, "size", one.Name, fmt.Sprintf("the tool is about %d tokens", one.Tokens), "Shorten its description and schema: move details into errors and results, where they are read only when needed.")
		}
	}
	switch {
	case t.Total > hugeTotal:
		x.find(Warning, "size", "", fmt.Sprintf("all tools together are about %d tokens", t.Total), "That is a large part of what a model can read, in every conversation. Split the server, or offer a tool that finds tools.")
	case t.Total > largeTotal:
		x.find(Warning, "size", "", fmt.Sprintf("all tools together are about %d tokens", t.Total), "Models choose worse the more they read: shorten descriptions and merge tools.")
	case count > manyTools:
		x.find(Note, "size", "", fmt.Sprintf("there are %d tools", count), "Models choose badly among so many, and some hosts cut the list.")
	}
}
