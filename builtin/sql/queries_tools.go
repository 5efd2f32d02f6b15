package sql

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/tenon-mcp/tenon/mcp"
)

// builtinTools are the names of the server's tools, which queries cannot have.
var builtinTools = []string{"list_tables", "describe_table", "search_schema", "run_query", "run_statement"}

// addQueries adds the queries of a file as tools.
func (d *database) addQueries(file string) error {
	queries, err := readQueries(file)
	if err != nil {
		return err
	}
	for _, q := range queries {
		for _, builtin := range builtinTools {
			if q.name == builtin {
				return &fileError{file, q.line, 1, fmt.Sprintf("%s is a tool of the server; choose another name", builtin)}
			}
		}
		if q.writes && !d.Writes {
			return &fileError{file, q.line, 1, fmt.Sprintf("query %q writes, but the server is read-only; add writes=1 or remove the query", q.name)}
		}
		if err := d.addQuery(file, q); err != nil {
			return err
		}
	}
	return nil
}

func (d *database) addQuery(file string, q *namedQuery) error {
	input, err := q.inputSchema()
	if err != nil {
		return err
	}
	spec := mcp.Tool{Name: q.name, Title: q.title, Description: q.description, InputSchema: input, Annotations: reading()}
	if q.writes {
		spec.Annotations = writing()
	}
	err = d.server.AddRawTool(spec, func(ctx context.Context, c *mcp.Call, args json.RawMessage) (*mcp.CallToolResult, error) {
		params, confirmed, err := q.values(args)
		if err != nil {
			return nil, err
		}
		if q.writes {
			out, err := d.runStatement(ctx, c, statement{SQL: q.statement(d.engine.Placeholder), Params: params, Confirm: confirmed})
			return structured(out, out.MCPText, err)
		}
		out, err := d.runQuery(ctx, c, query{SQL: q.statement(d.engine.Placeholder), Params: params, Limit: d.MaxRows, Format: formatBoth})
		if out.NextOffset > 0 { // the author of a query decides how it is paged
			out.NextOffset, out.Note = 0, "There are more rows than fit into one result. "+out.Note
		}
		return structured(out, out.MCPText, err)
	})
	if err != nil {
		return &fileError{file, q.line, 1, err.Error()}
	}
	return nil
}

// values returns the parameters in the order of the placeholders, and
// whether confirm is set.
func (q *namedQuery) values(args json.RawMessage) (values []json.RawMessage, confirmed bool, err error) {
	given := map[string]json.RawMessage{}
	if len(args) > 0 {
		if err := mcp.Unmarshal(args, &given); err != nil {
			return nil, false, err
		}
	}
	for _, which := range q.order {
		p := q.params[which]
		value, ok := given[p.name]
		switch {
		case ok:
		case p.fallback != nil:
			value = p.fallback
		default:
			value = json.RawMessage("null")
		}
		values = append(values, value)
	}
	return values, string(given[confirmParam]) == "true", nil
}

// structured returns a result with its text.
func structured(out any, text func() string, err error) (*mcp.CallToolResult, error) {
	if err != nil {
		return nil, err
	}
	raw, err := mcp.Marshal(out)
	if err != nil {
		return nil, err
	}
	return &mcp.CallToolResult{Content: mcp.Contents{mcp.Text(text())}, StructuredContent: raw}, nil
}
