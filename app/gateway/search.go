package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/mcp"
)

// The tools that clients get instead of all others.
const (
	searchTool = "search"
	invokeTool = "invoke"
)

// IsSearchTool reports whether a name is that of a tool of [Search].
func IsSearchTool(name string) bool { return name == searchTool || name == invokeTool }

// searchTools has the definitions of search and invoke, in the order of their
// names as lists have it. The first %s says that a tool may be a task, the second
// which servers there are.
const searchTools = `{"tools":[{"name":"` + invokeTool + `","title":"Call a tool","description":"Call a tool that ` + searchTool + ` has found.",` +
	`"inputSchema":{"type":"object","properties":{"name":{"type":"string","description":"the name as ` + searchTool + ` gave it"},"arguments":{"type":"object","description":"as the tool's inputSchema says"}},"required":["name"]}%s},` +
	`{"name":"` + searchTool + `","title":"Find tools","description":"Find tools by what they do. There are more tools than are listed: search before you say that something is not possible. Returns names, descriptions and argument schemas for ` + invokeTool + `.%s",` +
	`"inputSchema":{"type":"object","properties":{"query":{"type":"string","description":"what the tool should do, in a few words"},"limit":{"type":"integer","minimum":1,"maximum":20,"default":5}},"required":["query"]},` +
	`"annotations":{"readOnlyHint":true,"openWorldHint":false}}]}`

// searchHint begins the instructions.
const searchHint = "Not all tools are listed: find them with " + searchTool + ", and call them with " + invokeTool + "."

// Search returns middleware that shows clients two tools instead of all that the
// next Handler has: search finds tools, and invoke calls one of them.
//
// Invoke becomes the call of the tool that it names: progress, log messages, input
// requests, tasks, results and errors are those of the tool. So put Search before
// the links that decide by tool, such as policy, limits and audit: they see the
// tool's own call, and search finds what the list that they leave has. It finds
// changed tools at once. Calls of other names are passed on.
func Search() mcp.Middleware {
	return func(next mcp.Handler) mcp.Handler { return &searcher{next: next, catalog: newCatalog()} }
}

// A searcher is the Handler of Search.
type searcher struct {
	next    mcp.Handler
	catalog *catalog
}

// Serve implements [mcp.Handler].
func (s *searcher) Serve(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	if c.IsNotification {
		return s.next.Serve(ctx, c)
	}
	switch c.Method {
	case mcp.MethodDiscover:
		return s.discover(ctx, c)
	case mcp.MethodToolsList:
		return s.list(ctx, c)
	case mcp.MethodToolsCall:
		name := rawjson.Lookup(c.Params, "name")
		switch {
		case rawjson.EqualString(name, searchTool):
			return s.search(ctx, c)
		case rawjson.EqualString(name, invokeTool):
			return s.invoke(ctx, c)
		}
	}
	return s.next.Serve(ctx, c)
}

// discover adds the hint to the instructions.
func (s *searcher) discover(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	res, err := s.next.Serve(ctx, c)
	if err != nil {
		return res, err
	}
	text := searchHint
	if own, _ := rawjson.String(rawjson.Lookup(res.Body, "instructions")); own != "" {
		text += "\n\n" + own
	}
	res.Body = withText(res.Body, "instructions", text)
	return res, nil
}

// list lists the two tools. Invoke may be a task if a tool may. The list of all
// tools is read and indexed, so that the first search need not do it.
func (s *searcher) list(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	if err := refuseCursor(c); err != nil {
		return mcp.Result{}, err
	}
	ask := *c
	ask.Method, ask.Params = mcp.MethodDiscover, nil
	found, err := s.next.Serve(ctx, &ask)
	if err != nil {
		return found, err
	}
	execution := ""
	if extensions := rawjson.LookupIn(found.Body, "capabilities", "extensions"); rawjson.Lookup(extensions, tasksExtension) != nil {
		execution = `,"execution":{"taskSupport":"optional"}`
	}
	pages, _, err := s.readAll(ctx, c)
	if err != nil {
		return mcp.Result{}, err
	}
	return mcp.Result{Body: fmt.Appendf(nil, searchTools, execution, s.catalog.view(pages).servers), Server: found.Server}, nil
}

// search serves the tool search.
func (s *searcher) search(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	var in struct {
		Query string `json:"query"`
		Limit int    `json:"limit"`
	}
	if err := mcp.Unmarshal(rawjson.Lookup(c.Params, "arguments"), &in); err != nil || in.Query == "" {
		return toolError(`search needs a query, such as {"query": "read a file"}`), nil
	}
	if in.Limit <= 0 {
		in.Limit = 5
	}
	pages, of, err := s.readAll(ctx, c)
	if err != nil {
		return mcp.Result{}, err
	}
	text := found(s.catalog.find(pages, in.Query, min(in.Limit, 20)))
	return mcp.Result{Body: textResult(text, ""), Server: of}, nil
}

// readAll returns all pages of the tools that the caller of a call may see.
func (s *searcher) readAll(ctx context.Context, of *mcp.Call) (pages []json.RawMessage, server *mcp.Implementation, err error) {
	c := *of
	c.Method, c.Params, c.Headers, c.Progress, c.OnNotification = mcp.MethodToolsList, nil, nil, false, nil
	err = readPages(ctx, c, maxSearched, s.next.Serve, func(res mcp.Result) error {
		pages, server = append(pages, res.Body), res.Server
		return nil
	})
	return pages, server, err
}

// maxSearched bounds the tools that are searched, in bytes.
const maxSearched = 64 << 20

// maxFound is the size of a search result in bytes.
const maxFound = 48 << 10

// shown are the members of a tool that a search result has.
var shown = []string{"name", "title", "description", "inputSchema", "annotations"}

// found returns the text of a search result, with as many tools as have room.
func found(tools [][]byte) string {
	if len(tools) == 0 {
		return "No tool matches. Try other words."
	}
	text := []byte{'['}
	for _, tool := range tools {
		item := pick(tool, shown)
		if len(text)+len(item) > maxFound {
			if len(text) > 1 {
				continue
			}
			item = pick(tool, shown[:3]) // a single tool that is too long
		}
		if len(text) > 1 {
			text = append(text, ",\n"...)
		}
		text = append(text, item...)
	}
	return string(append(text, ']'))
}

// pick returns an object with some members of another one.
func pick(obj []byte, members []string) []byte {
	return rawjson.Cut(obj, func(name, _ []byte) bool { return !slices.Contains(members, string(name)) })
}

// textResult returns the body of a tool's result; more has further members.
func textResult(text, more string) json.RawMessage {
	body := rawjson.AppendString([]byte(`{"content":[{"type":"text","text":`), text)
	return append(append(append(body, `}]`...), more...), '}')
}

// toolError returns a result that tells the model what is wrong.
func toolError(text string) mcp.Result {
	return mcp.Result{Body: textResult(text, `,"isError":true`)}
}

// invoke serves the tool invoke: the call of another tool.
func (s *searcher) invoke(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	in := rawjson.Lookup(c.Params, "arguments")
	name, arguments := rawjson.Lookup(in, "name"), rawjson.Lookup(in, "arguments")
	if arguments == nil {
		arguments = []byte(`{}`)
	}
	if !rawjson.IsString(name) || !rawjson.IsObject(arguments) {
		return toolError(`invoke needs the name of a tool and its arguments, such as {"name": "calc__add", "arguments": {"a": 1, "b": 2}}`), nil
	}
	onward := *c
	onward.Headers = nil // they repeat arguments of invoke, and it has none that are repeated
	onward.Params = rawjson.RewriteMember(c.Params, "name", func([]byte) []byte { return name })
	onward.Params = rawjson.RewriteMember(onward.Params, "arguments", func([]byte) []byte { return arguments })
	return s.next.Serve(ctx, &onward)
}
