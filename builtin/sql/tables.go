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

type listTables struct {
	Contains string `json:"contains,omitzero" doc:"only tables with this in their name or comment"`
	Offset   int    `json:"offset,omitzero" doc:"number of tables to skip: nextOffset of an earlier result" schema:"minimum=0"`
}

// Tables is the result of list_tables.
type Tables struct {
	Tables     []engine.Table `json:"tables"`
	Total      int            `json:"total" doc:"number of tables and views"`
	NextOffset int            `json:"nextOffset,omitzero" doc:"offset for the next call, if there are more tables"`
}

// MCPText returns one line for each table.
func (t Tables) MCPText() string {
	var b strings.Builder
	for _, x := range t.Tables {
		b.WriteString(summary(x) + "\n")
	}
	fmt.Fprintf(&b, "%d of %d tables and views.", len(t.Tables), t.Total)
	if t.NextOffset > 0 {
		fmt.Fprintf(&b, " There are more; continue with offset %d, or use contains.", t.NextOffset)
	}
	return b.String()
}

type describeTable struct {
	Table  string `json:"table" doc:"the name of the table, from list_tables" schema:"minLength=1"`
	Sample int    `json:"sample,omitzero" doc:"number of sample rows to include" schema:"minimum=0,maximum=20"`
	Offset int    `json:"offset,omitzero" doc:"number of columns to skip: nextOffset of an earlier result" schema:"minimum=0"`
}

// Description is the result of describe_table.
type Description struct {
	engine.Table
	Sample     *Rows `json:"sample,omitzero"`
	NextOffset int   `json:"nextOffset,omitzero" doc:"offset for the next call, if there are more columns"`
}

// MCPText returns the text that a model reads.
func (t Description) MCPText() string {
	text := describe(t.Table)
	if t.NextOffset > 0 {
		text += fmt.Sprintf("\nThere are more columns; continue with offset %d.\n", t.NextOffset)
	}
	if t.Sample != nil {
		text += "\nSample:\n" + t.Sample.MCPText()
	}
	return text
}

func (d *database) addTableTools() {
	server.AddTool(d.server, "list_tables", "List the tables and views with comments and approximate row counts", d.listTables,
		&server.ToolOptions{Title: "List tables", Annotations: reading()})
	server.AddTool(d.server, "describe_table", "Describe a table or view: columns, types, comments, keys, indexes, and sample rows on request", d.describeTable,
		&server.ToolOptions{Title: "Describe a table", Annotations: reading()})
}

func (d *database) listTables(ctx context.Context, c *mcp.Call, in listTables) (out Tables, err error) {
	var all []engine.Table
	err = d.limited(ctx, c, 0, func(ctx context.Context) error {
		all, err = d.tables(ctx)
		return err
	})
	if err != nil {
		return out, err
	}
	all = slices.Clone(all)
	word := strings.ToLower(in.Contains)
	all = slices.DeleteFunc(all, func(t engine.Table) bool {
		return !strings.Contains(strings.ToLower(t.ID), word) && !strings.Contains(strings.ToLower(t.Comment), word)
	})
	out = Tables{Tables: []engine.Table{}, Total: len(all)}
	size := 0
	for i := in.Offset; i < len(all); i++ {
		size += 2*len(summary(all[i])) + 64 // as text and as JSON with member names
		if size > d.MaxBytes && len(out.Tables) > 0 {
			out.NextOffset = i
			break
		}
		out.Tables = append(out.Tables, all[i])
	}
	return out, nil
}

func (d *database) describeTable(ctx context.Context, c *mcp.Call, in describeTable) (out Description, err error) {
	err = d.limited(ctx, c, 0, func(ctx context.Context) error {
		t, ok, err := d.table(ctx, in.Table)
		if err != nil {
			return err
		}
		if !ok {
			return d.noSuchTable(ctx, in.Table)
		}
		out.Table, out.NextOffset = d.fitting(t, in.Offset)
		if in.Sample == 0 {
			return nil
		}
		p := &page{maxRows: in.Sample, maxBytes: d.MaxBytes / 2, format: formatBoth}
		sql := fmt.Sprintf("SELECT * FROM %s LIMIT %d", d.engine.Quote(t), in.Sample)
		if err := d.engine.Read(ctx, engine.Query{SQL: sql}, p); err != nil {
			return err
		}
		rows := p.result()
		out.Sample = &rows
		return nil
	})
	return out, err
}

// noSuchTable returns the error for an unknown table, with the names of
// existing ones.
func (d *database) noSuchTable(ctx context.Context, id string) error {
	var names []string
	for _, t := range d.known(ctx) {
		names = append(names, t.ID)
	}
	if near := matching(d.known(ctx), id[:min(len(id), 3)]); len(near) > 0 {
		names = near
	}
	const shown = 20
	more := ""
	if len(names) > shown {
		names, more = names[:shown], ", … (use list_tables for all)"
	}
	return fmt.Errorf("no table %q; there are %s%s", textclip.Clip(id, maxColumnName), strings.Join(names, ", "), more)
}

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
