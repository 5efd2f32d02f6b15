package sqlite

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/builtin/sql/engine"
)

// Tables lists the tables of the file. Without ANALYZE it counts rows, up to
// maxCounted per table and for countTime in total.
func (d *database) Tables(ctx context.Context) ([]engine.Table, error) {
	var tables []engine.Table
	err := d.with(ctx, false, func(h *handle) error {
		err := h.each(`SELECT name, type FROM pragma_table_list WHERE schema = 'main' AND type <> 'shadow' AND name NOT LIKE 'sqlite\_%' ESCAPE '\' ORDER BY name`, nil, func(row []any) {
			tables = append(tables, engine.Table{ID: text(row[0]), Name: text(row[0]), Kind: text(row[1])})
		})
		if err != nil {
			return err
		}
		analyzed := map[string]int64{}
		// Without ANALYZE the table does not exist, which is not an error.
		_ = h.each(`SELECT tbl, max(CAST(stat AS INTEGER)) FROM sqlite_stat1 GROUP BY tbl`, nil, func(row []any) {
			analyzed[text(row[0])], _ = row[1].(int64)
		})
		began, counted := time.Now(), int64(0)
		for i := range tables {
			t := &tables[i]
			if n, ok := analyzed[t.Name]; ok {
				t.Rows = &n
			} else if t.Kind == "table" && counted < maxCountedInAll && time.Since(began) < countTime {
				counted += h.count(t)
			}
		}
		return ctx.Err()
	})
	return tables, err
}

// Limits of counting rows: in one table, in all tables of one call, and of the
// time, for rows that are slow to read.
const (
	maxCounted      = 10_000
	maxCountedInAll = 200_000
	countTime       = 2 * time.Second
)

// count counts the rows of a table up to maxCounted and returns how many it
// read. The highest rowid would be faster but may be any number.
func (h *handle) count(t *engine.Table) int64 {
	sql := fmt.Sprintf(`SELECT count(*) FROM (SELECT 1 FROM %s LIMIT %d)`, quote(t.Name), maxCounted+1)
	var n int64
	if err := h.each(sql, nil, func(row []any) { n, _ = row[0].(int64) }); err != nil {
		return 0
	}
	read := n
	if t.More = n > maxCounted; t.More {
		n = maxCounted
	}
	t.Rows = &n
	return read
}

// Table adds columns, keys and indexes.
func (d *database) Table(ctx context.Context, t engine.Table) (engine.Table, error) {
	err := d.with(ctx, false, func(h *handle) error {
		for _, part := range []func(*engine.Table) error{h.columns, h.foreignKeys, h.indexes, h.definition} {
			if err := part(&t); err != nil {
				return err
			}
		}
		return nil
	})
	return t, err
}

func (h *handle) columns(t *engine.Table) error {
	keys := map[int64]string{}
	err := h.each(`SELECT name, type, "notnull", dflt_value, pk, hidden FROM pragma_table_xinfo(?) WHERE hidden <> 1`, []any{t.Name}, func(row []any) {
		c := engine.TableColumn{Name: text(row[0]), Type: strings.ToLower(text(row[1])), NotNull: row[2] == int64(1), Default: text(row[3])}
		if row[5] == int64(2) || row[5] == int64(3) {
			c.Generated = "computed"
		}
		if pk, _ := row[4].(int64); pk > 0 {
			keys[pk] = c.Name
		}
		t.Columns = append(t.Columns, c)
	})
	for i := int64(1); i <= int64(len(keys)); i++ {
		t.PrimaryKey = append(t.PrimaryKey, keys[i])
	}
	return err
}

func (h *handle) foreignKeys(t *engine.Table) error {
	last := any(int64(-1))
	return h.each(`SELECT id, "table", "from", "to" FROM pragma_foreign_key_list(?) ORDER BY id, seq`, []any{t.Name}, func(row []any) {
		if row[0] != last {
			last = row[0]
			t.ForeignKeys = append(t.ForeignKeys, engine.ForeignKey{Table: text(row[1])})
		}
		fk := &t.ForeignKeys[len(t.ForeignKeys)-1]
		fk.Columns = append(fk.Columns, text(row[2]))
		if row[3] != nil {
			fk.References = append(fk.References, text(row[3]))
		}
	})
}

func (h *handle) indexes(t *engine.Table) error {
	return h.each(`SELECT l.name, l."unique", i.name, s.sql FROM pragma_index_list(?1) AS l, pragma_index_info(l.name) AS i
		LEFT JOIN sqlite_schema AS s ON s.type = 'index' AND s.name = l.name WHERE l.origin <> 'pk' ORDER BY l.seq, i.seqno`, []any{t.Name}, func(row []any) {
		name := text(row[0])
		if n := len(t.Indexes); n == 0 || t.Indexes[n-1].Name != name {
			x := engine.Index{Name: name, Unique: row[1] == int64(1)}
			if at := strings.LastIndex(strings.ToUpper(text(row[3])), " WHERE "); at > 0 {
				x.Where = text(row[3])[at+len(" WHERE "):]
			}
			t.Indexes = append(t.Indexes, x)
		}
		x := &t.Indexes[len(t.Indexes)-1]
		column := text(row[2])
		if row[2] == nil {
			column = "(expression)"
		}
		x.Columns = append(x.Columns, column)
	})
}

// definition adds the CREATE statement if it has comments or checks, which
// SQLite stores nowhere else.
func (h *handle) definition(t *engine.Table) error {
	return h.each(`SELECT sql FROM sqlite_schema WHERE name = ? AND type IN ('table', 'view')`, []any{t.Name}, func(row []any) {
		sql := text(row[0])
		plain := strings.ToLower(sql)
		if t.Kind != "table" || strings.Contains(plain, "--") || strings.Contains(plain, "/*") || strings.Contains(plain, "check") {
			t.Definition = sql
		}
	})
}

// each runs one of the server's own statements.
func (h *handle) each(sql string, params []any, see func(row []any)) error {
	return h.statement(engine.Query{SQL: sql, Params: params}, rowFunc(see))
}

// A rowFunc is a Sink that needs no columns.
type rowFunc func(row []any)

func (f rowFunc) Columns([]engine.Column) error { return nil }
func (f rowFunc) Row(row []any) error           { f(row); return nil }

func text(v any) string { s, _ := v.(string); return s }

// ourTables are the tables that Tables lists.
const ourTables = `pragma_table_list AS t WHERE t.schema = 'main' AND t.type <> 'shadow' AND t.name NOT LIKE 'sqlite!_%' ESCAPE '!'`

// objectQueries find objects by kind. SQLite has no routines.
var objectQueries = map[string]string{
	engine.KindColumn: `SELECT t.name, c.name, lower(c.type), '' FROM (SELECT t.name FROM ` + ourTables + `) AS t, pragma_table_xinfo(t.name) AS c
		WHERE c.hidden <> 1 AND lower(c.name) LIKE ?1 ESCAPE '!' ORDER BY 1, c.cid LIMIT ?2`,
	engine.KindIndex: `SELECT s.tbl_name, s.name, (SELECT group_concat(coalesce(i.name, '(expression)'), ', ') FROM pragma_index_info(s.name) AS i), ''
		FROM sqlite_schema AS s WHERE s.type = 'index' AND s.sql IS NOT NULL AND lower(s.name) LIKE ?1 ESCAPE '!' ORDER BY 1, 2 LIMIT ?2`,
	engine.KindTrigger: `SELECT s.tbl_name, s.name, substr(s.sql, 1, 500), '' FROM sqlite_schema AS s WHERE s.type = 'trigger' AND lower(s.name) LIKE ?1 ESCAPE '!' ORDER BY 1, 2 LIMIT ?2`,
}

// Objects lists columns, indexes or triggers.
func (d *database) Objects(ctx context.Context, f engine.Filter) ([]engine.Object, error) {
	query, ok := objectQueries[f.Kind]
	if !ok {
		return nil, nil
	}
	var found []engine.Object
	err := d.with(ctx, false, func(h *handle) error {
		return h.each(query, []any{f.Like(), int64(f.Limit)}, func(row []any) {
			found = append(found, engine.Object{Kind: f.Kind, Table: text(row[0]), Name: text(row[1]), Detail: text(row[2])})
		})
	})
	return found, err
}

// Placeholder is a question mark: parameters are taken in order.
func (d *database) Placeholder(int) string { return "?" }
