package host

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/internal/toolsearch"
	"github.com/tenon-mcp/tenon/mcp"
)

// The host's own tools. Their names have no server in them, so that no server
// can have one of the same name.
const (
	searchTools = "search_tools"
	callTool    = "call_tool"
	readName    = "read_result"
)

var readResult = llm.Tool{
	Name:        readName,
	Description: "Read more of a tool result that was too long to be given whole. The result said its handle and how many bytes there are.",
	Schema:      json.RawMessage(`{"type":"object","properties":{"handle":{"type":"string"},"offset":{"type":"integer","minimum":0,"description":"byte to begin at"},"find":{"type":"string","description":"show the parts around this text instead"}},"required":["handle"]}`),
}

// searching are the tools that the model gets instead of many tools.
var searching = []llm.Tool{
	{
		Name:        searchTools,
		Description: "Find tools by what they do. There are more tools than can be listed: search before you say that something is not possible. Returns names, descriptions and argument schemas.",
		Schema:      json.RawMessage(`{"type":"object","properties":{"query":{"type":"string","description":"what the tool should do, in a few words"},"limit":{"type":"integer","minimum":1,"maximum":20}},"required":["query"]}`),
	},
	{
		Name:        callTool,
		Description: "Call a tool that search_tools has found.",
		Schema:      json.RawMessage(`{"type":"object","properties":{"name":{"type":"string","description":"the name as search_tools gave it"},"arguments":{"type":"object","description":"as its schema says"}},"required":["name","arguments"]}`),
	},
	readResult,
}

// search implements search_tools: it returns as many matching tools as the budget
// allows.
func (c *catalog) search(args json.RawMessage, budget int) (string, error) {
	var q struct {
		Query string `json:"query"`
		Limit int    `json:"limit"`
	}
	if err := mcp.Unmarshal(args, &q); err != nil || strings.TrimSpace(q.Query) == "" {
		return "", fmt.Errorf("search_tools needs a query, such as {\"query\": \"read a file\"}")
	}
	names := c.Find(q.Query, q.Limit)
	if len(names) == 0 {
		return "No tool matches. Try other words.", nil
	}
	type found struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Schema      json.RawMessage `json:"inputSchema,omitzero"`
	}
	var all []found
	left := budget
	for _, n := range names {
		i := slices.IndexFunc(c.list, func(t llm.Tool) bool { return t.Name == n })
		f := found{c.list[i].Name, c.list[i].Description, c.list[i].Schema}
		left -= len(f.Name) + len(f.Description) + len(f.Schema)
		switch {
		case left < 0 && len(all) > 0:
			continue
		case left < 0: // a single tool that is too long
			f.Schema = nil
		}
		all = append(all, f)
	}
	text, err := mcp.Marshal(all)
	return string(text), err
}

// Find returns the names of the tools that match a query best.
func (c *catalog) Find(query string, limit int) []string {
	if limit <= 0 {
		limit = 5
	}
	return c.index().Find(query, min(limit, 20), nil)
}

// indexed returns the index for search_tools.
func indexed(list []llm.Tool, byName map[string]*toolEntry) *toolsearch.Index {
	x := toolsearch.New()
	for _, t := range list {
		e := byName[t.Name]
		x.Put(t.Name, e.server.name+" "+e.tool.Name+" "+e.tool.DisplayName(), t.Description, e.tool.InputSchema)
	}
	return x
}

// wanted returns the tool that a call_tool names.
func wanted(args json.RawMessage) (name string, arguments json.RawMessage, err error) {
	var q struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	if err := mcp.Unmarshal(args, &q); err != nil || q.Name == "" {
		return "", nil, fmt.Errorf("call_tool needs the name of a tool and its arguments, such as {\"name\": \"calc__add\", \"arguments\": {\"a\": 1, \"b\": 2}}")
	}
	if q.Arguments == nil {
		q.Arguments = json.RawMessage(`{}`)
	}
	return q.Name, q.Arguments, nil
}
