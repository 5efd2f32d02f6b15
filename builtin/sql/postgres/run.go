package postgres

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/tenon-mcp/tenon/builtin/sql/engine"
)

// A runner runs one statement in a session with the extended protocol.
type runner struct {
	conn *pgconn.PgConn
	sink engine.Sink
	// restart restores the session after an error.
	restart func() error
	// rowsOnly refuses statements that return no columns before they run.
	rowsOnly bool
	types    map[uint32]typeInfo
	tag      pgconn.CommandTag
}

func (r *runner) run(ctx context.Context, q engine.Query) error {
	sql := q.SQL
	if q.Explain {
		sql = "EXPLAIN " + sql
	}
	described, err := r.describe(ctx, sql, q.Params)
	if err != nil {
		return err
	}
	if want := len(described.ParamOIDs); want != len(q.Params) {
		return fmt.Errorf("the statement has %d placeholders but there are %d params; pass one value for each", want, len(q.Params))
	}
	if r.rowsOnly && len(described.Fields) == 0 {
		return &engine.Refusal{Why: "it is not a query: PostgreSQL says that it returns no columns", Advice: "run_query takes SELECT, WITH, VALUES, TABLE, SHOW and EXPLAIN"}
	}
	oids, values := parameters(described.ParamOIDs, q.Params)
	if err := r.learnTypes(ctx, described.Fields); err != nil {
		return err
	}
	rows := r.conn.ExecParams(ctx, sql, values, oids, nil, nil)
	columns := make([]engine.Column, len(described.Fields))
	for i, f := range described.Fields {
		columns[i] = engine.Column{Name: f.Name, Type: r.types[f.DataTypeOID].name}
	}
	if err := r.sink.Columns(columns); err != nil {
		return ignoreEnough(err)
	}
	for rows.NextRow() {
		raw := rows.Values()
		row := make([]any, len(raw))
		for i := range raw {
			if raw[i] != nil && i < len(described.Fields) {
				row[i] = r.value(described.Fields[i].DataTypeOID, string(raw[i]))
			}
		}
		if err := r.sink.Row(row); err != nil {
			return ignoreEnough(err) // closing the session cancels the rest
		}
	}
	r.tag, err = rows.Close()
	return err
}

// describe lets the server determine the types of placeholders and columns.
// Where a statement accepts any type, it passes the types of the params.
func (r *runner) describe(ctx context.Context, sql string, params []any) (*pgconn.StatementDescription, error) {
	described, err := r.conn.Prepare(ctx, "", sql, nil)
	var dbErr *pgconn.PgError
	if !errors.As(err, &dbErr) || dbErr.Code != "42P18" { // indeterminate_datatype
		return described, err
	}
	if err := r.restart(); err != nil {
		return nil, err
	}
	all := make([]uint32, len(params))
	for i := range all {
		all[i] = oidText
	}
	oid, _ := parameters(all, params)
	return r.conn.Prepare(ctx, "", sql, oid)
}

func ignoreEnough(err error) error {
	if errors.Is(err, engine.Enough) {
		return nil
	}
	return err
}

// parameters returns the params as text. The server has determined the types
// from the statement; where it only knows "text", a param that is not text
// keeps its type.
func parameters(wanted []uint32, params []any) (oids []uint32, values [][]byte) {
	oids = append(oids, wanted...)
	values = make([][]byte, len(params))
	for i, p := range params {
		oid := uint32(0)
		switch p := p.(type) {
		case nil:
			continue
		case bool:
			oid, values[i] = oidBool, strconv.AppendBool(nil, p)
		case int64:
			oid, values[i] = oidInt8, strconv.AppendInt(nil, p, 10)
		case float64:
			oid, values[i] = oidFloat8, strconv.AppendFloat(nil, p, 'g', -1, 64)
		case engine.Decimal:
			oid, values[i] = oidNumeric, []byte(p)
		case engine.JSON:
			oid, values[i] = oidJSONB, []byte(p)
			if wanted[i] != oidText && wanted[i] != oidJSON && wanted[i] != oidJSONB {
				values[i] = arrayLiteral(p) // a list may be an array
			}
		case engine.Bytes:
			oid, values[i] = oidBytea, []byte(`\x`+hex.EncodeToString(p.Head))
		case string:
			values[i] = []byte(p)
		}
		if oid != 0 && wanted[i] == oidText {
			oids[i] = oid
		}
	}
	return oids, values
}

// learnTypes queries the types of columns that are not built in.
func (r *runner) learnTypes(ctx context.Context, fields []pgconn.FieldDescription) error {
	r.types = map[uint32]typeInfo{}
	var unknown []byte
	for _, f := range fields {
		if t, ok := builtinTypes[f.DataTypeOID]; ok {
			r.types[f.DataTypeOID] = t
		} else if _, ok := r.types[f.DataTypeOID]; !ok {
			r.types[f.DataTypeOID] = typeInfo{}
			if unknown != nil {
				unknown = append(unknown, ',')
			}
			unknown = strconv.AppendUint(unknown, uint64(f.DataTypeOID), 10)
		}
	}
	if unknown == nil {
		return nil
	}
	result, err := r.conn.Exec(ctx, `SELECT t.oid, pg_catalog.format_type(t.oid, NULL),
		CASE WHEN t.typcategory = 'A' THEN t.typelem ELSE 0 END, CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE 0 END
		FROM pg_catalog.pg_type t WHERE t.oid IN (`+string(unknown)+`)`).ReadAll()
	if err != nil {
		return err
	}
	for _, row := range result[0].Rows {
		r.types[number(row[0])] = typeInfo{name: string(row[1]), element: number(row[2]), base: number(row[3])}
	}
	return nil
}

func number(b []byte) uint32 {
	n, _ := strconv.ParseUint(string(b), 10, 32)
	return uint32(n)
}
