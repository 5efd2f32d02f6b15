package sql

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/builtin/sql/engine"
	"github.com/tenon-mcp/tenon/internal/textclip"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

type searchSchema struct {
	Contains string `json:"contains" doc:"a part of a name or comment; case is ignored" schema:"minLength=1,maxLength=200"`
	Kind     string `json:"kind,omitzero" doc:"what to search for" schema:"enum=any|column|index|routine|trigger,default=any"`
	Table    string `json:"table,omitzero" doc:"only objects of this table"`
	Limit    int    `json:"limit,omitzero" doc:"maximum number of each kind" schema:"minimum=1,maximum=500,default=50"`
}

// Objects is the result of search_schema.
type Objects struct {
	Objects []engine.Object `json:"objects"`
	Note    string          `json:"note,omitzero"`
}

// MCPText returns one line for each object.
func (o Objects) MCPText() string {
	if len(o.Objects) == 0 {
		return "Nothing found. To search for tables use list_tables."
	}
	var b strings.Builder
	for _, x := range o.Objects {
		b.WriteString(x.Kind + " ")
		if x.Table != "" {
			b.WriteString(escape(x.Table) + ".")
		}
		b.WriteString(escape(x.Name))
		if x.Detail != "" {
			b.WriteString(" " + escape(x.Detail))
		}
		if x.Comment != "" {
			b.WriteString(": " + escape(x.Comment))
		}
		b.WriteString("\n")
	}
	return b.String() + o.Note
}

func (d *database) addSearch() {
	server.AddTool(d.server, "search_schema", "Search the columns, indexes, routines (functions and procedures) and triggers of all tables by a part of their name or comment", d.searchSchema,
		&server.ToolOptions{Title: "Search the schema", Annotations: reading()})
}

func (d *database) searchSchema(ctx context.Context, c *mcp.Call, in searchSchema) (out Objects, err error) {
	out.Objects = []engine.Object{}
	kinds := []string{engine.KindColumn, engine.KindIndex, engine.KindRoutine, engine.KindTrigger}
	if in.Kind != "any" {
		kinds = []string{in.Kind}
	}
	size := 0
	var more []string
	err = d.limited(ctx, c, 0, func(ctx context.Context) error {
		for _, kind := range kinds {
			limit := in.Limit
			if in.Table != "" {
				limit = 100_000 // objects of other tables are removed below
			}
			found, err := d.engine.Objects(ctx, engine.Filter{Kind: kind, Contains: in.Contains, Limit: limit + 1})
			if err != nil {
				return err
			}
			found = slices.DeleteFunc(found, func(o engine.Object) bool { return in.Table != "" && !strings.EqualFold(o.Table, in.Table) })
			for i, o := range found {
				o.Detail, o.Comment = textclip.Clip(o.Detail, maxRemark), textclip.Clip(o.Comment, maxRemark)
				size += 2*(len(o.Name)+len(o.Table)+len(o.Detail)+len(o.Comment)) + 80
				if i == in.Limit || size > d.MaxBytes {
					more = append(more, kind)
					break
				}
				out.Objects = append(out.Objects, o)
			}
		}
		return nil
	})
	if len(more) > 0 {
		out.Note = fmt.Sprintf("There are more of kind %s; use a longer part of the name, or one kind.", strings.Join(more, ", "))
	}
	return out, err
}
