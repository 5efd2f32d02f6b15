package api

import (
	"context"
	"encoding/json"
	"fmt"
	"mime"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/builtin/api/expr"
	"github.com/tenon-mcp/tenon/builtin/api/spec"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/schema"
)

// output is the compiled shape of results.
type output struct {
	as, mime string
	jq       *expr.Query
	schema   json.RawMessage
	text     *expr.Template
	name     *expr.Template
	budget   int
}

const defaultBudget = 32 << 10

func (c *compiler) output(at string, s *spec.Output) *output {
	if s == nil {
		return &output{budget: defaultBudget}
	}
	out := &output{as: s.As, mime: s.MIMEType, jq: c.query(at+".jq", s.JQ), schema: s.Schema, text: c.text(at+".text", s.Text, false), name: c.text(at+".name", s.Name, true), budget: int(s.Budget)}
	if out.budget == 0 {
		out.budget = defaultBudget
	}
	if out.schema != nil {
		if _, err := schema.NewValidator(out.schema, nil); err != nil {
			c.badSchema(at+".schema", err)
			out.schema = nil
		}
	}
	if s.As == "file" && (s.JQ != "" || s.Text != "" || s.Schema != nil) {
		c.fail(at, "a file has no jq, text or schema")
	}
	return out
}

// resultSchema returns the schema of the structured content of a tool.
func (t *tool) resultSchema() (json.RawMessage, error) {
	switch {
	case t.main.page != nil:
		return json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{"items":%s,"next_cursor":{"type":"string","description":"For the argument cursor of the next call; absent at the end"}},"required":["items"]}`, t.output.schema)), nil
	case t.batch != nil:
		name, err := json.Marshal(t.batch.As)
		return json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{"results":{"type":"array","items":{"type":"object","properties":{%s:{},"result":%s,"error":{"type":"string"}}}},"failed":{"type":"integer"}},"required":["results","failed"]}`, name, t.output.schema)), err
	}
	return t.output.schema, nil
}

// shape applies the jq of an output.
func (o *output) shape(ctx context.Context, v *service, sc *scope, body any) (any, error) {
	if o.jq == nil {
		return body, nil
	}
	all, err := o.jq.All(ctx, body, &sc.vars)
	switch {
	case err != nil:
		return nil, v.unexpected(err)
	case len(all) == 0:
		return nil, nil
	case len(all) > 1:
		return all, nil
	}
	return all[0], nil
}

// result makes the result of an answer.
func (e *engine) result(ctx context.Context, c *mcp.Call, v *service, t *tool, sc *scope, a *answer) (*mcp.CallToolResult, error) {
	if a.binary || t.output.as == "file" {
		return e.fileResult(ctx, c, v, t, sc, a)
	}
	value, err := t.output.shape(ctx, v, sc, a.body)
	if err != nil {
		return nil, err
	}
	return e.finish(ctx, c, v, t, sc, value, t.output.text)
}

// pagedResult makes the result of gathered items.
func (e *engine) pagedResult(ctx context.Context, c *mcp.Call, v *service, t *tool, sc *scope, a *answer, cursor string) (*mcp.CallToolResult, error) {
	items, err := t.output.shape(ctx, v, sc, a.body)
	if err != nil {
		return nil, err
	}
	value := map[string]any{"items": items}
	if cursor != "" {
		value["next_cursor"] = cursor
	}
	return e.finish(ctx, c, v, t, sc, value, t.output.text)
}

// finish makes the result of a value. What is larger than the budget is behind a
// link.
func (e *engine) finish(ctx context.Context, c *mcp.Call, v *service, t *tool, sc *scope, value any, text *expr.Template) (*mcp.CallToolResult, error) {
	raw, err := expr.Encode(value)
	if err != nil {
		return nil, v.unexpected(err)
	}
	said, err := t.say(ctx, v, sc, value, text, raw)
	if err != nil {
		return nil, err
	}
	var link mcp.Content
	if len(raw) > t.output.budget || len(said) > t.output.budget+256 {
		if link, err = e.keep(c, v, t, value, raw); err != nil {
			return nil, err
		}
		if value, err = expr.Decode(e.secrets.KnownJSON(raw)); err != nil { // a part of a secret would not be recognized
			return nil, v.unexpected(err)
		}
		var note string
		value, note = shrink(value, t.output.budget)
		if raw, err = expr.Encode(value); err != nil {
			return nil, v.unexpected(err)
		}
		if said, err = t.say(ctx, v, sc, value, text, raw); err != nil {
			return nil, err
		}
		said = clipText(e.hidden(said), t.output.budget) + "\n\n" + note + " The whole result is in the linked resource."
	}
	res := &mcp.CallToolResult{Content: mcp.Contents{mcp.Text(e.hidden(said))}}
	if link != nil {
		res.Content = append(res.Content, link)
	}
	if _, isText := value.(string); value != nil && (!isText || t.spec.OutputSchema != nil) {
		res.StructuredContent = e.secrets.KnownJSON(raw)
	}
	return res, nil
}

// say returns the text of a result.
func (t *tool) say(ctx context.Context, v *service, sc *scope, value any, text *expr.Template, raw []byte) (string, error) {
	said, cursor := "", ""
	if paged, ok := value.(map[string]any); ok && t.main.page != nil {
		cursor, _ = paged["next_cursor"].(string)
		if text != nil {
			value = paged["items"]
		}
	}
	switch {
	case text != nil:
		var err error
		if said, err = text.Text(ctx, value, &sc.vars); err != nil {
			return "", v.unexpected(err)
		}
		if cursor != "" {
			said += fmt.Sprintf("\n\nThere is more: call again with cursor=%q.", cursor)
		}
		if said == "" {
			said = "(nothing)"
		}
	case value == nil:
		said = "Done."
	default:
		if s, ok := value.(string); ok {
			return s, nil
		}
		said = string(raw)
	}
	return said, nil
}

func clipText(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	s = s[:limit]
	for len(s) > 0 && !utf8.ValidString(s[max(0, len(s)-4):]) {
		s = s[:len(s)-1]
	}
	return s + "…"
}

// keep stores a whole result and returns a link to it.
func (e *engine) keep(c *mcp.Call, v *service, t *tool, value any, raw []byte) (mcp.Content, error) {
	name, kind, data := t.name+".json", "application/json", raw
	if text, ok := value.(string); ok {
		name, kind, data = t.name+".txt", "text/plain", []byte(text)
	}
	return e.link(c, v, name, "The whole result of "+t.name, kind, e.secrets.KnownJSON(data), true)
}

// fileResult makes the result of a download: a link to its content.
func (e *engine) fileResult(ctx context.Context, c *mcp.Call, v *service, t *tool, sc *scope, a *answer) (*mcp.CallToolResult, error) {
	name := ""
	if t.output.name != nil {
		var err error
		if name, err = t.output.name.Text(ctx, sc.args, &sc.vars); err != nil {
			return nil, err
		}
	}
	if name == "" {
		_, params, _ := mime.ParseMediaType(a.header.Get("Content-Disposition"))
		name = params["filename"]
	}
	if name = oneLine(path.Base(strings.ReplaceAll(name, "\\", "/"))); name == "." || name == "/" || name == "" {
		name = t.name
	}
	kind := a.mime
	if t.output.mime != "" {
		kind = t.output.mime
	}
	if kind == "" {
		kind = "application/octet-stream"
	}
	link, err := e.link(c, v, name, "", kind, e.secrets.KnownJSON(a.raw), strings.HasPrefix(kind, "text/") && utf8.Valid(a.raw))
	if err != nil {
		return nil, err
	}
	text := fmt.Sprintf("%s (%s, %d bytes) is in the linked resource.", name, kind, len(a.raw))
	return &mcp.CallToolResult{Content: mcp.Contents{mcp.Text(e.hidden(text)), link}}, nil
}
