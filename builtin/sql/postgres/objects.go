package postgres

import (
	"context"
	"fmt"

	"github.com/tenon-mcp/tenon/builtin/sql/engine"
)

// userSchemas selects the schemas of the user that the account may use.
const userSchemas = ` n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\\_%' AND pg_catalog.has_schema_privilege(n.oid, 'USAGE') `

// id is a table as callers name it; see Tables.
const id = `CASE WHEN n.nspname = coalesce(pg_catalog.current_schema(), '') THEN c.relname ELSE n.nspname || '.' || c.relname END`

// objectQueries find objects by kind: table, name, detail, comment.
var objectQueries = map[string]string{
	engine.KindColumn: `SELECT ` + id + `, a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod), coalesce(pg_catalog.col_description(a.attrelid, a.attnum), '')
		FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_class c ON c.oid = a.attrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
		WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition AND a.attnum > 0 AND NOT a.attisdropped AND` + userSchemas + `
		AND (lower(a.attname) LIKE $1 ESCAPE '!' OR lower(pg_catalog.col_description(a.attrelid, a.attnum)) LIKE $1 ESCAPE '!') ORDER BY 1, a.attnum LIMIT $2`,
	engine.KindIndex: `SELECT ` + id + `, i.relname, pg_catalog.pg_get_indexdef(x.indexrelid), coalesce(pg_catalog.obj_description(i.oid, 'pg_class'), '')
		FROM pg_catalog.pg_index x JOIN pg_catalog.pg_class i ON i.oid = x.indexrelid JOIN pg_catalog.pg_class c ON c.oid = x.indrelid
		JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE` + userSchemas + `
		AND (lower(i.relname) LIKE $1 ESCAPE '!' OR lower(pg_catalog.obj_description(i.oid, 'pg_class')) LIKE $1 ESCAPE '!') ORDER BY 1, 2 LIMIT $2`,
	engine.KindRoutine: `SELECT '', CASE WHEN n.nspname = coalesce(pg_catalog.current_schema(), '') THEN p.proname ELSE n.nspname || '.' || p.proname END,
		'(' || pg_catalog.pg_get_function_arguments(p.oid) || ')' || coalesce(' returns ' || pg_catalog.pg_get_function_result(p.oid), ''), coalesce(pg_catalog.obj_description(p.oid, 'pg_proc'), '')
		FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace WHERE` + userSchemas + `
		AND (lower(p.proname) LIKE $1 ESCAPE '!' OR lower(pg_catalog.obj_description(p.oid, 'pg_proc')) LIKE $1 ESCAPE '!') ORDER BY 2, 3 LIMIT $2`,
	engine.KindTrigger: `SELECT ` + id + `, g.tgname, pg_catalog.pg_get_triggerdef(g.oid), coalesce(pg_catalog.obj_description(g.oid, 'pg_trigger'), '')
		FROM pg_catalog.pg_trigger g JOIN pg_catalog.pg_class c ON c.oid = g.tgrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
		WHERE NOT g.tgisinternal AND` + userSchemas + `AND lower(g.tgname) LIKE $1 ESCAPE '!' ORDER BY 1, 2 LIMIT $2`,
}

// Objects lists columns, indexes, routines or triggers.
func (d *database) Objects(ctx context.Context, f engine.Filter) ([]engine.Object, error) {
	query, ok := objectQueries[f.Kind]
	if !ok {
		return nil, nil
	}
	var found []engine.Object
	err := d.each(ctx, func(row []any) {
		found = append(found, engine.Object{Kind: f.Kind, Table: text(row[0]), Name: text(row[1]), Detail: text(row[2]), Comment: text(row[3])})
	}, query, f.Like(), int64(f.Limit))
	return found, err
}

// Placeholder is $1, $2, …
func (d *database) Placeholder(n int) string { return fmt.Sprintf("$%d", n) }
