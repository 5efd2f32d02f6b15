package postgres

import (
	"context"
	"fmt"
	"strings"

	"github.com/tenon-mcp/tenon/builtin/sql/engine"
)

// The queries use the catalog, because information_schema hides keys from
// accounts that may only read.
const listTables = `
SELECT n.nspname, c.relname,
  CASE c.relkind WHEN 'r' THEN 'table' WHEN 'p' THEN 'partitioned table' WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view' ELSE 'foreign table' END,
  coalesce(pg_catalog.obj_description(c.oid, 'pg_class'), ''),
  CASE WHEN c.relkind IN ('v', 'f') OR c.reltuples < 0 THEN NULL ELSE c.reltuples::bigint END,
  n.nspname = coalesce(pg_catalog.current_schema(), '')
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition
  AND n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\_%'
  AND pg_catalog.has_schema_privilege(n.oid, 'USAGE')
ORDER BY 6 DESC, 1, 2`

func (d *database) Tables(ctx context.Context) ([]engine.Table, error) {
	var tables []engine.Table
	err := d.each(ctx, func(row []any) {
		t := engine.Table{Schema: text(row[0]), Name: text(row[1]), Kind: text(row[2]), Comment: text(row[3])}
		t.ID = t.Name
		if row[5] != true {
			t.ID = t.Schema + "." + t.Name
		}
		if n, ok := row[4].(int64); ok {
			t.Rows = &n
		}
		tables = append(tables, t)
	}, listTables)
	return tables, err
}

// of finds the table by its two names, $1 and $2.
const of = ` (SELECT c.oid FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relname = $2) `

const listColumns = `
SELECT a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod), a.attnotnull,
  CASE WHEN a.attgenerated = '' THEN coalesce(pg_catalog.pg_get_expr(d.adbin, d.adrelid), '') ELSE '' END,
  CASE WHEN a.attidentity <> '' THEN 'identity' WHEN a.attgenerated <> '' THEN pg_catalog.pg_get_expr(d.adbin, d.adrelid) ELSE '' END,
  coalesce(pg_catalog.col_description(a.attrelid, a.attnum), '')
FROM pg_catalog.pg_attribute a LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
WHERE a.attrelid =` + of + `AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`

const listConstraints = `
SELECT k.contype::text, k.conname,
  ARRAY(SELECT a.attname::text FROM unnest(k.conkey) WITH ORDINALITY u(n, i) JOIN pg_catalog.pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = u.n ORDER BY u.i),
  CASE WHEN k.confrelid = 0 THEN '' ELSE k.confrelid::pg_catalog.regclass::text END,
  ARRAY(SELECT a.attname::text FROM unnest(k.confkey) WITH ORDINALITY u(n, i) JOIN pg_catalog.pg_attribute a ON a.attrelid = k.confrelid AND a.attnum = u.n ORDER BY u.i),
  pg_catalog.pg_get_constraintdef(k.oid)
FROM pg_catalog.pg_constraint k WHERE k.conrelid =` + of + `ORDER BY k.contype, k.conname`

const listIndexes = `
SELECT i.relname, x.indisunique,
  ARRAY(SELECT pg_catalog.pg_get_indexdef(x.indexrelid, s, true) FROM generate_series(1, x.indnkeyatts) s),
  coalesce(pg_catalog.pg_get_expr(x.indpred, x.indrelid), '')
FROM pg_catalog.pg_index x JOIN pg_catalog.pg_class i ON i.oid = x.indexrelid
WHERE x.indrelid =` + of + `AND NOT x.indisprimary ORDER BY 1`

const viewDefinition = `SELECT pg_catalog.pg_get_viewdef(c.oid, true) FROM pg_catalog.pg_class c WHERE c.oid =` + of + `AND c.relkind IN ('v', 'm')`

func (d *database) Table(ctx context.Context, t engine.Table) (engine.Table, error) {
	err := d.each(ctx, func(row []any) {
		notNull, _ := row[2].(bool)
		t.Columns = append(t.Columns, engine.TableColumn{Name: text(row[0]), Type: text(row[1]), NotNull: notNull,
			Default: text(row[3]), Generated: text(row[4]), Comment: text(row[5])})
	}, listColumns, t.Schema, t.Name)
	if err != nil {
		return t, err
	}
	if err := d.each(ctx, func(row []any) { constraint(&t, row) }, listConstraints, t.Schema, t.Name); err != nil {
		return t, err
	}
	err = d.each(ctx, func(row []any) {
		unique, _ := row[1].(bool)
		t.Indexes = append(t.Indexes, engine.Index{Name: text(row[0]), Unique: unique, Columns: texts(row[2]), Where: text(row[3])})
	}, listIndexes, t.Schema, t.Name)
	if err != nil || !strings.HasSuffix(t.Kind, "view") {
		return t, err
	}
	return t, d.each(ctx, func(row []any) { t.Definition = text(row[0]) }, viewDefinition, t.Schema, t.Name)
}

func constraint(t *engine.Table, row []any) {
	switch text(row[0]) {
	case "p":
		t.PrimaryKey = texts(row[2])
	case "f":
		t.ForeignKeys = append(t.ForeignKeys, engine.ForeignKey{Columns: texts(row[2]), Table: text(row[3]), References: texts(row[4])})
	case "c":
		t.Checks = append(t.Checks, text(row[5]))
	}
}

// each runs one of the server's own queries.
func (d *database) each(ctx context.Context, see func(row []any), sql string, params ...any) error {
	return d.Read(ctx, engine.Query{SQL: sql, Params: params}, rowFunc(see))
}

// A rowFunc is a Sink that needs no columns.
type rowFunc func(row []any)

func (f rowFunc) Columns([]engine.Column) error { return nil }
func (f rowFunc) Row(row []any) error           { f(row); return nil }

func text(v any) string { s, _ := v.(string); return s }

func texts(v any) []string {
	list, _ := v.([]any)
	out := make([]string, len(list))
	for i := range list {
		out[i] = text(list[i])
	}
	return out
}

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
