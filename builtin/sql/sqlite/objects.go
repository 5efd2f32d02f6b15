package sqlite

import (
	"context"

	"github.com/tenon-mcp/tenon/builtin/sql/engine"
)

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
