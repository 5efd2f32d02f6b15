package mysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	driverpkg "github.com/go-sql-driver/mysql"
	"github.com/tenon-mcp/tenon/builtin/sql/engine"
)

// A session is one connection for one statement of a caller. It uses the
// driver without database/sql, which would pool connections and retry
// statements.
type session struct {
	d    *database
	conn driver.Conn
	wire *meter
	id   int64
}

func (s *session) close() { _ = s.conn.Close() }

// settle configures the session. It also sets the time limit in the
// database, slightly later than ours, in case this process ends first.
func (s *session) settle(ctx, within context.Context) error {
	mariadb := false
	err := s.each(within, "SELECT CONNECTION_ID(), VERSION()", func(row []any) {
		s.id, _ = row[0].(int64)
		if id, ok := row[0].(uint64); ok {
			s.id = int64(id)
		}
		mariadb = strings.Contains(strings.ToLower(text(row[1])), "mariadb")
	})
	if err != nil {
		return err
	}
	wait := int(math.Ceil(s.d.o.LockTimeout.Seconds()))
	set := fmt.Sprintf("SET SESSION time_zone = '+00:00', lock_wait_timeout = %d, innodb_lock_wait_timeout = %d", wait, wait)
	if deadline, ok := ctx.Deadline(); ok {
		left := time.Until(deadline) + engine.Grace
		if mariadb {
			set += fmt.Sprintf(", max_statement_time = %.3f", max(left.Seconds(), 1))
		} else {
			set += fmt.Sprintf(", max_execution_time = %d", max(left.Milliseconds(), 1000))
		}
	}
	return exec(within, s.conn, set)
}

// killable runs f and cancels its statement when ctx ends, through a second
// connection. If that fails, it closes this connection.
func (s *session) killable(ctx context.Context, f func(context.Context) error) error {
	running, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	defer giveUp()
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		s.kill(running)
		select {
		case <-running.Done():
		case <-time.After(engine.Grace):
			giveUp()
		}
	})
	err := f(running)
	giveUp()
	if !stop() {
		<-done
	}
	return engine.Ended(ctx, s.failure(err))
}

// kill cancels the running statement of the session through another connection.
func (s *session) kill(running context.Context) {
	ctx, cancel := context.WithTimeout(running, engine.Grace)
	defer cancel()
	connector, err := driverpkg.NewConnector(s.d.config.Clone())
	if err != nil {
		return
	}
	other, err := connector.Connect(ctx)
	if err != nil {
		return
	}
	defer other.Close()
	_ = exec(ctx, other, fmt.Sprintf("KILL QUERY %d", s.id))
}

// run prepares and executes one statement.
func (s *session) run(ctx context.Context, sql string, params []any, to engine.Sink) error {
	stmt, err := s.conn.(driver.ConnPrepareContext).PrepareContext(ctx, sql)
	if err != nil {
		return err
	}
	if want := stmt.NumInput(); want != len(params) {
		return fmt.Errorf("the statement has %d placeholders but there are %d params; pass one value for each", want, len(params))
	}
	args := make([]driver.NamedValue, len(params))
	for i, p := range params {
		args[i] = driver.NamedValue{Ordinal: i + 1, Value: parameter(p)}
	}
	rows, err := stmt.(driver.StmtQueryContext).QueryContext(ctx, args)
	if err != nil {
		return err
	}
	err = s.copyRows(rows, to)
	if errors.Is(err, engine.Enough) {
		s.kill(ctx) // do not read the remaining rows
		return nil
	}
	if err != nil {
		return err
	}
	return rows.Close()
}

func (s *session) copyRows(rows driver.Rows, to engine.Sink) error {
	names := rows.Columns()
	columns := make([]engine.Column, len(names))
	typed, _ := rows.(driver.RowsColumnTypeDatabaseTypeName)
	for i, name := range names {
		columns[i] = engine.Column{Name: name, Type: strings.ToLower(typed.ColumnTypeDatabaseTypeName(i))}
	}
	if err := to.Columns(columns); err != nil || len(columns) == 0 {
		return err
	}
	raw := make([]driver.Value, len(columns))
	for {
		s.wire.reset()
		switch err := rows.Next(raw); {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
		row := make([]any, len(raw))
		for i := range raw {
			row[i] = value(columns[i].Type, raw[i])
		}
		if err := to.Row(row); err != nil {
			return err
		}
	}
}

// each runs one of the server's own queries.
func (s *session) each(ctx context.Context, sql string, see func(row []any), params ...any) error {
	return s.run(ctx, sql, params, rowFunc(see))
}

// A rowFunc is a Sink that needs no columns.
type rowFunc func(row []any)

func (f rowFunc) Columns([]engine.Column) error { return nil }
func (f rowFunc) Row(row []any) error           { f(row); return nil }

func text(v any) string { s, _ := v.(string); return s }
