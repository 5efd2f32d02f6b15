package sql

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/builtin/sql/engine"
	"github.com/tenon-mcp/tenon/internal/textclip"
)

// summary describes a table in one line.
func summary(t engine.Table) string {
	line := escape(t.ID) + " (" + t.Kind
	switch {
	case t.Rows == nil:
	case t.More:
		line += fmt.Sprintf(", more than %d rows", *t.Rows)
	default:
		line += fmt.Sprintf(", about %d rows", *t.Rows)
	}
	line += ")"
	if t.Comment != "" {
		line += ": " + escape(t.Comment)
	}
	return line
}

// overview lists the tables, as many as fit.
func (d *database) overview(tables []engine.Table) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s %s\n\n%s\n\n", d.engine.Product(), d.engine.Location(), d.engine.Dialect())
	for i, t := range tables {
		if b.Len() > d.MaxBytes {
			fmt.Fprintf(&b, "… and %d more; use list_tables.\n", len(tables)-i)
			return b.String()
		}
		fmt.Fprintf(&b, "- %s, see %s\n", summary(t), tableURI(t.ID))
	}
	if len(tables) == 0 {
		b.WriteString("There are no tables.\n")
	}
	return b.String()
}

// maxRemark is the maximum number of bytes shown of a comment, a default or
// a condition.
const maxRemark = 1000

// fitting returns the columns from offset on that fit into one result, and
// the next offset if there are more.
func (d *database) fitting(t engine.Table, offset int) (engine.Table, int) {
	t = shortened(t, d.MaxBytes)
	all := t.Columns
	offset = min(offset, len(all))
	size := 0
	for i := offset; i < len(all); i++ {
		size += 2*len(column(t, all[i])) + 32 // in both forms
		if size > d.MaxBytes/2 && i > offset {
			t.Columns = all[offset:i]
			return t, i
		}
	}
	t.Columns = all[offset:]
	return t, 0
}

// shortened returns a table with long texts cut.
func shortened(t engine.Table, budget int) engine.Table {
	t.Comment = textclip.Clip(t.Comment, maxRemark)
	t.Definition = textclip.Clip(t.Definition, budget/8)
	t.Columns = slices.Clone(t.Columns)
	for i := range t.Columns {
		c := &t.Columns[i]
		c.Comment, c.Default, c.Generated, c.Type = textclip.Clip(c.Comment, maxRemark), textclip.Clip(c.Default, maxRemark), textclip.Clip(c.Generated, maxRemark), textclip.Clip(c.Type, maxRemark)
	}
	t.Checks = slices.Clone(t.Checks)
	for i := range t.Checks {
		t.Checks[i] = textclip.Clip(t.Checks[i], maxRemark)
	}
	return t
}

// describe returns the full description of a table.
func describe(t engine.Table) string {
	var b strings.Builder
	b.WriteString("# " + summary(t) + "\n\n")
	for _, c := range t.Columns {
		b.WriteString("- " + column(t, c) + "\n")
	}
	if len(t.PrimaryKey) > 1 {
		fmt.Fprintf(&b, "\nPrimary key: %s\n", names(t.PrimaryKey))
	}
	for _, k := range t.ForeignKeys {
		fmt.Fprintf(&b, "\nForeign key: %s → %s", names(k.Columns), escape(k.Table))
		if len(k.References) > 0 {
			fmt.Fprintf(&b, "(%s)", names(k.References))
		}
		b.WriteString("\n")
	}
	for _, x := range t.Indexes {
		kind := "Index"
		if x.Unique {
			kind = "Unique index"
		}
		fmt.Fprintf(&b, "\n%s %s: %s", kind, escape(x.Name), names(x.Columns))
		if x.Where != "" {
			fmt.Fprintf(&b, " where %s", escape(x.Where))
		}
		b.WriteString("\n")
	}
	for _, c := range t.Checks {
		fmt.Fprintf(&b, "\nCheck: %s\n", escape(c))
	}
	if t.Definition != "" {
		fmt.Fprintf(&b, "\nDefinition:\n%s\n", t.Definition)
	}
	return b.String()
}

func column(t engine.Table, c engine.TableColumn) string {
	line := escape(c.Name) + " " + escape(c.Type)
	if len(t.PrimaryKey) == 1 && slices.Contains(t.PrimaryKey, c.Name) {
		line += ", primary key"
	}
	if c.NotNull {
		line += ", not null"
	}
	if c.Default != "" {
		line += ", default " + escape(c.Default)
	}
	if c.Generated != "" {
		line += ", generated: " + escape(c.Generated)
	}
	if c.Comment != "" {
		line += ": " + escape(c.Comment)
	}
	return line
}

func names(list []string) string {
	out := make([]string, len(list))
	for i := range list {
		out[i] = escape(list[i])
	}
	return strings.Join(out, ", ")
}
