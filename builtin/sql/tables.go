package sql

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/builtin/sql/engine"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

type listTables struct {
	Contains string `json:"contains,omitzero" doc:"only tables with this in their name or comment"`
	Offset   int    `json:"offset,omitzero" doc:"how many to skip" schema:"minimum=0"`
}

// Tables is a page of the tables.
type Tables struct {
	Tables     []engine.Table `json:"tables"`
	Total      int            `json:"total" doc:"how many there are"`
	NextOffset int            `json:"nextOffset,omitzero" doc:"there is more: call again with this offset"`
}

// MCPText is a line for each table.
func (t Tables) MCPText() string {
	var b strings.Builder
	for _, x := range t.Tables {
		b.WriteString(summary(x) + "\n")
	}
	fmt.Fprintf(&b, "%d of %d tables and views.", len(t.Tables), t.Total)
	if t.NextOffset > 0 {
		fmt.Fprintf(&b, " For more, call again with offset %d, or with contains.", t.NextOffset)
	}
	return b.String()
}

type describeTable struct {
	Table  string `json:"table" doc:"its name, as list_tables gives it" schema:"minLength=1"`
	Sample int    `json:"sample,omitzero" doc:"how many of its rows to show too" schema:"minimum=0,maximum=20"`
	Offset int    `json:"offset,omitzero" doc:"how many columns to skip, as an earlier answer says" schema:"minimum=0"`
}

// Description is a table, and some of its rows if they were asked for.
type Description struct {
	engine.Table
	Sample     *Rows `json:"sample,omitzero"`
	NextOffset int   `json:"nextOffset,omitzero" doc:"there are more columns: call again with this offset"`
}

// MCPText is what a model reads.
func (t Description) MCPText() string {
	text := describe(t.Table)
	if t.NextOffset > 0 {
		text += fmt.Sprintf("\nThere are more columns: call again with offset %d.\n", t.NextOffset)
	}
	if t.Sample != nil {
		text += "\nSample:\n" + t.Sample.MCPText()
	}
	return text
}

func (d *database) addTableTools() {
	server.AddTool(d.server, "list_tables", "List the tables and views, with comments and about how many rows they have", d.listTables,
		&server.ToolOptions{Title: "List tables", Annotations: reading()})
	server.AddTool(d.server, "describe_table", "Describe a table or view: columns, types, comments, keys, indexes; sample rows if asked for", d.describeTable,
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
		size += 2*len(summary(all[i])) + 64 // in both forms, with the names of the fields
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

// noSuchTable names tables that could have been meant.
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
		names, more = names[:shown], ", … (list_tables has all)"
	}
	return fmt.Errorf("there is no table %q: there are %s%s", clip(id, maxColumnName), strings.Join(names, ", "), more)
}
