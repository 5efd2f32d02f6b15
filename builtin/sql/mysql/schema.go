package mysql

import (
	"context"
	"strings"

	"github.com/tenon-mcp/tenon/builtin/sql/engine"
)

func (d *database) Tables(ctx context.Context) ([]engine.Table, error) {
	var tables []engine.Table
	err := d.reading(ctx, func(ctx context.Context, s *session) error {
		return s.each(ctx, `SELECT TABLE_NAME, TABLE_TYPE, TABLE_COMMENT, TABLE_ROWS FROM information_schema.TABLES
			WHERE TABLE_SCHEMA = DATABASE() ORDER BY TABLE_NAME`, func(row []any) {
			t := engine.Table{ID: text(row[0]), Name: text(row[0]), Kind: "table", Comment: text(row[2])}
			switch kind := text(row[1]); {
			case kind == "SEQUENCE":
				return
			case strings.HasSuffix(kind, "VIEW"):
				t.Kind, t.Comment = "view", "" // the comment of a view is "VIEW"
			default:
				t.Rows = integer(row[3])
			}
			tables = append(tables, t)
		})
	})
	return tables, err
}

func (d *database) Table(ctx context.Context, t engine.Table) (engine.Table, error) {
	err := d.reading(ctx, func(ctx context.Context, s *session) error {
		for _, part := range []func(context.Context, *engine.Table) error{s.columns, s.keys, s.indexes, s.checks, s.definition} {
			if err := part(ctx, &t); err != nil {
				return err
			}
		}
		return nil
	})
	return t, err
}

func (s *session) columns(ctx context.Context, t *engine.Table) error {
	return s.each(ctx, `SELECT COLUMN_NAME, COLUMN_TYPE, IS_NULLABLE, COLUMN_DEFAULT, EXTRA, GENERATION_EXPRESSION, COLUMN_COMMENT
		FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = ? ORDER BY ORDINAL_POSITION`, func(row []any) {
		c := engine.TableColumn{Name: text(row[0]), Type: text(row[1]), NotNull: text(row[2]) == "NO", Default: text(row[3]), Generated: text(row[5]), Comment: text(row[6])}
		if c.Default == "NULL" {
			c.Default = "" // MariaDB's value for no default
		}
		if strings.Contains(text(row[4]), "auto_increment") {
			c.Generated = "auto_increment"
		}
		t.Columns = append(t.Columns, c)
	}, t.Name)
}

func (s *session) keys(ctx context.Context, t *engine.Table) error {
	last := ""
	return s.each(ctx, `SELECT CONSTRAINT_NAME, COLUMN_NAME, REFERENCED_TABLE_NAME, REFERENCED_COLUMN_NAME
		FROM information_schema.KEY_COLUMN_USAGE WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = ?
		AND (CONSTRAINT_NAME = 'PRIMARY' OR REFERENCED_TABLE_NAME IS NOT NULL) ORDER BY CONSTRAINT_NAME, ORDINAL_POSITION`, func(row []any) {
		name, column := text(row[0]), text(row[1])
		if row[2] == nil {
			t.PrimaryKey = append(t.PrimaryKey, column)
			return
		}
		if name != last {
			last = name
			t.ForeignKeys = append(t.ForeignKeys, engine.ForeignKey{Table: text(row[2])})
		}
		fk := &t.ForeignKeys[len(t.ForeignKeys)-1]
		fk.Columns = append(fk.Columns, column)
		fk.References = append(fk.References, text(row[3]))
	}, t.Name)
}

func (s *session) indexes(ctx context.Context, t *engine.Table) error {
	return s.each(ctx, `SELECT INDEX_NAME, NON_UNIQUE, COLUMN_NAME FROM information_schema.STATISTICS
		WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = ? AND INDEX_NAME <> 'PRIMARY' ORDER BY INDEX_NAME, SEQ_IN_INDEX`, func(row []any) {
		name := text(row[0])
		if n := len(t.Indexes); n == 0 || t.Indexes[n-1].Name != name {
			dup := integer(row[1])
			t.Indexes = append(t.Indexes, engine.Index{Name: name, Unique: dup != nil && *dup == 0})
		}
		x := &t.Indexes[len(t.Indexes)-1]
		column := text(row[2])
		if row[2] == nil {
			column = "(expression)"
		}
		x.Columns = append(x.Columns, column)
	}, t.Name)
}

// checks reads check constraints where the server has the table for them.
func (s *session) checks(ctx context.Context, t *engine.Table) error {
	err := s.each(ctx, `SELECT c.CHECK_CLAUSE FROM information_schema.CHECK_CONSTRAINTS c JOIN information_schema.TABLE_CONSTRAINTS k
		ON k.CONSTRAINT_SCHEMA = c.CONSTRAINT_SCHEMA AND k.CONSTRAINT_NAME = c.CONSTRAINT_NAME AND k.CONSTRAINT_TYPE = 'CHECK'
		WHERE k.TABLE_SCHEMA = DATABASE() AND k.TABLE_NAME = ? GROUP BY c.CHECK_CLAUSE ORDER BY 1`, func(row []any) { t.Checks = append(t.Checks, text(row[0])) }, t.Name)
	if code(err) != 0 {
		return nil
	}
	return err
}

func (s *session) definition(ctx context.Context, t *engine.Table) error {
	if t.Kind != "view" {
		return nil
	}
	return s.each(ctx, `SELECT VIEW_DEFINITION FROM information_schema.VIEWS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = ?`,
		func(row []any) { t.Definition = text(row[0]) }, t.Name)
}

// reading opens a session for the server's own queries.
func (d *database) reading(ctx context.Context, f func(context.Context, *session) error) error {
	s, err := d.connect(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	return s.killable(ctx, func(ctx context.Context) error { return f(ctx, s) })
}

func integer(v any) *int64 {
	var n int64
	switch v := v.(type) {
	case int64:
		n = v
	case uint64:
		n = int64(v)
	default:
		return nil
	}
	return &n
}

// objectQueries find objects by kind: table, name, detail, comment.
var objectQueries = map[string]string{
	engine.KindColumn: `SELECT TABLE_NAME, COLUMN_NAME, COLUMN_TYPE, COLUMN_COMMENT FROM information_schema.COLUMNS
		WHERE TABLE_SCHEMA = DATABASE() AND (lower(COLUMN_NAME) LIKE ? ESCAPE '!' OR lower(COLUMN_COMMENT) LIKE ? ESCAPE '!') ORDER BY TABLE_NAME, ORDINAL_POSITION LIMIT ?`,
	engine.KindIndex: `SELECT TABLE_NAME, INDEX_NAME, GROUP_CONCAT(coalesce(COLUMN_NAME, '(expression)') ORDER BY SEQ_IN_INDEX SEPARATOR ', '), max(INDEX_COMMENT) FROM information_schema.STATISTICS
		WHERE TABLE_SCHEMA = DATABASE() AND (lower(INDEX_NAME) LIKE ? ESCAPE '!' OR lower(INDEX_COMMENT) LIKE ? ESCAPE '!') GROUP BY TABLE_NAME, INDEX_NAME ORDER BY 1, 2 LIMIT ?`,
	engine.KindRoutine: `SELECT '', r.ROUTINE_NAME, concat(lower(r.ROUTINE_TYPE), ' (',
		coalesce((SELECT GROUP_CONCAT(concat_ws(' ', p.PARAMETER_NAME, p.DTD_IDENTIFIER) ORDER BY p.ORDINAL_POSITION SEPARATOR ', ') FROM information_schema.PARAMETERS p
		WHERE p.SPECIFIC_SCHEMA = r.ROUTINE_SCHEMA AND p.SPECIFIC_NAME = r.SPECIFIC_NAME AND p.ORDINAL_POSITION > 0), ''), ')', if(r.ROUTINE_TYPE = 'FUNCTION', concat(' returns ', r.DTD_IDENTIFIER), '')), r.ROUTINE_COMMENT
		FROM information_schema.ROUTINES r WHERE r.ROUTINE_SCHEMA = DATABASE() AND (lower(r.ROUTINE_NAME) LIKE ? ESCAPE '!' OR lower(r.ROUTINE_COMMENT) LIKE ? ESCAPE '!') ORDER BY 2 LIMIT ?`,
	engine.KindTrigger: `SELECT EVENT_OBJECT_TABLE, TRIGGER_NAME, concat(lower(ACTION_TIMING), ' ', lower(EVENT_MANIPULATION)), '' FROM information_schema.TRIGGERS
		WHERE TRIGGER_SCHEMA = DATABASE() AND (lower(TRIGGER_NAME) LIKE ? ESCAPE '!' OR lower(TRIGGER_NAME) LIKE ? ESCAPE '!') ORDER BY 1, 2 LIMIT ?`,
}

// Objects lists columns, indexes, routines or triggers.
func (d *database) Objects(ctx context.Context, f engine.Filter) ([]engine.Object, error) {
	query, ok := objectQueries[f.Kind]
	if !ok {
		return nil, nil
	}
	var found []engine.Object
	err := d.reading(ctx, func(ctx context.Context, s *session) error {
		return s.each(ctx, query, func(row []any) {
			found = append(found, engine.Object{Kind: f.Kind, Table: text(row[0]), Name: text(row[1]), Detail: text(row[2]), Comment: text(row[3])})
		}, f.Like(), f.Like(), int64(f.Limit))
	})
	return found, err
}

// Placeholder is a question mark: parameters are taken in order.
func (d *database) Placeholder(int) string { return "?" }
