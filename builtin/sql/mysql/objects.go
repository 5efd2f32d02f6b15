package mysql

import (
	"context"

	"github.com/tenon-mcp/tenon/builtin/sql/engine"
)

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
