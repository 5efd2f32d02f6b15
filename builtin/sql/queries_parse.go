package sql

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/mcp"
)

// cut finds the :parameters of a statement, outside of strings, quoted names
// and comments. It checks that there is one statement and that every
// parameter is declared and used.
func (r *queryReader) cut(q *namedQuery, body string) {
	at := func(i int) (line, column int) {
		before := body[:i]
		return r.bodyAt + strings.Count(before, "\n"), i - strings.LastIndexByte(before, '\n')
	}
	used := make([]bool, len(q.params))
	done := 0
	for i := 0; i < len(body); {
		if n, closed := quotedAt(body[i:]); n > 0 {
			if !closed {
				line, column := at(i)
				r.fail(line, column, "unterminated string, quoted name or comment")
			}
			i += n
			continue
		}
		switch {
		case strings.HasPrefix(body[i:], "::"):
			i += 2 // a PostgreSQL cast
		case body[i] == ';':
			if rest := strings.TrimSpace(withoutComments(body[i+1:])); rest != "" {
				line, column := at(i + 1)
				r.fail(line, column, "a query must be one statement; begin the next one with -- name:")
			}
			q.sql = append(q.sql, body[done:i])
			r.unused(q, used)
			return
		case body[i] == ':' && nameAt(body[i+1:]) > 0:
			n := nameAt(body[i+1:])
			name := body[i+1 : i+1+n]
			which := slices.IndexFunc(q.params, func(p queryParam) bool { return p.name == name })
			if which < 0 {
				line, column := at(i)
				r.fail(line, column, "parameter :%s is not declared; add -- param: %s TYPE", name, name)
			} else {
				used[which] = true
			}
			q.sql = append(q.sql, body[done:i])
			q.order = append(q.order, which)
			i += 1 + n
			done = i
		case body[i] == '?' || body[i] == '$' && i+1 < len(body) && body[i+1] >= '0' && body[i+1] <= '9':
			line, column := at(i)
			r.fail(line, column, "use named parameters, such as :person")
			i++
		default:
			i++
		}
	}
	q.sql = append(q.sql, body[done:])
	r.unused(q, used)
}

func (r *queryReader) unused(q *namedQuery, used []bool) {
	for i, p := range q.params {
		if !used[i] {
			r.fail(q.line, 1, "query %q declares parameter %s but does not use it", q.name, p.name)
		}
	}
}

// statement returns the query with the placeholders of an engine.
func (q *namedQuery) statement(placeholder func(n int) string) string {
	var b strings.Builder
	for i, part := range q.sql {
		b.WriteString(part)
		if i < len(q.order) {
			b.WriteString(placeholder(i + 1))
		}
	}
	return b.String()
}

// nameAt returns the length of the name at the start of a text.
func nameAt(s string) int {
	n := 0
	for n < len(s) && (s[n] == '_' || s[n] >= 'a' && s[n] <= 'z' || s[n] >= 'A' && s[n] <= 'Z' || n > 0 && s[n] >= '0' && s[n] <= '9') {
		n++
	}
	return n
}

// quotedAt returns the length of the string, quoted name or comment at the
// start of a text, 0 if there is none, and whether it is terminated.
func quotedAt(s string) (n int, closed bool) {
	switch {
	case strings.HasPrefix(s, "--"):
		if i := strings.IndexByte(s, '\n'); i >= 0 {
			return i, true
		}
		return len(s), true
	case strings.HasPrefix(s, "/*"):
		return until(s, 2, "*/")
	case s[0] == '\'' || s[0] == '"' || s[0] == '`':
		for i := 1; i < len(s); i++ {
			if s[i] != s[0] {
				continue
			}
			if i+1 < len(s) && s[i+1] == s[0] {
				i++ // doubled, it is part of the text
				continue
			}
			return i + 1, true
		}
		return len(s), false
	case s[0] == '$': // $tag$ text $tag$ of PostgreSQL
		end := 1 + nameAt(s[1:])
		if end < len(s) && s[end] == '$' {
			return until(s, end+1, s[:end+1])
		}
	}
	return 0, true
}

func until(s string, from int, end string) (int, bool) {
	if i := strings.Index(s[from:], end); i >= 0 {
		return from + i + len(end), true
	}
	return len(s), false
}

// withoutComments removes the comments of a text.
func withoutComments(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		n, _ := quotedAt(s[i:])
		if n > 0 && (s[i] == '-' || s[i] == '/') {
			i += n
			continue
		}
		b.WriteString(s[i : i+max(n, 1)])
		i += max(n, 1)
	}
	return b.String()
}

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
