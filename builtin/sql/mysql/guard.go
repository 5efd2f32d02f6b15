package mysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"

	driverpkg "github.com/go-sql-driver/mysql"
	"github.com/tenon-mcp/tenon/builtin/sql/engine"
)

// beginReading begins a session that cannot write, and refuses statements
// that could escape it. On MariaDB and MySQL a read-only transaction is not
// sufficient, because DDL commits it. These rules are:
//
//   - statements are prepared, and the server prepares one only;
//   - all transactions of the session are READ ONLY, so the one after an implicit
//     commit too, and the statement runs within one that has begun: writes to
//     tables of every storage engine and DDL are refused;
//   - the session's setting can be undone within one statement by a compound
//     statement (BEGIN NOT ATOMIC … END) or SET STATEMENT … FOR, so only
//     statements are run that the server can EXPLAIN: to its grammar those are
//     queries and single-table writes, and the latter it refuses as above;
//   - a query can write a file only with the FILE privilege, so accounts that
//     have it are refused;
//   - the session ends afterwards: locks and variables with it.
func (s *session) beginReading(ctx context.Context, q engine.Query) error {
	if err := exec(ctx, s.conn, "SET SESSION TRANSACTION READ ONLY"); err != nil {
		return err
	}
	if err := exec(ctx, s.conn, "START TRANSACTION READ ONLY"); err != nil {
		return err
	}
	if !s.d.o.Privileged {
		if err := s.refuseFilePrivilege(ctx); err != nil {
			return err
		}
	}
	// FORMAT=JSON keeps EXPLAIN from being DESCRIBE with the name of a table.
	err := s.prepares(ctx, "EXPLAIN FORMAT=JSON "+q.SQL)
	if code(err) != codeSyntax {
		return err
	}
	// The error of the statement alone is clearer.
	if err := s.prepares(ctx, q.SQL); err != nil {
		return err
	}
	return &engine.Refusal{
		Why:    "it is not a query",
		Advice: "run_query accepts SELECT, WITH … SELECT, VALUES and TABLE. Instead of SHOW and DESCRIBE use list_tables and describe_table, instead of EXPLAIN set explain",
	}
}

// refuseFilePrivilege checks whether the account may write files, by
// preparing a statement that would.
func (s *session) refuseFilePrivilege(ctx context.Context) error {
	err := s.prepares(ctx, "SELECT 1 INTO DUMPFILE '/nonexistent/tenon'")
	switch code(err) {
	case codeAccessDenied, codeSpecificAccessDenied, codeSecureFile:
		return nil
	}
	if err != nil {
		return err
	}
	return &engine.Refusal{
		Why: fmt.Sprintf("account %q has the FILE privilege, which lets a query read and write files of the database server", s.d.config.User),
		Advice: "Use an account without it: CREATE USER reader IDENTIFIED BY '…'; GRANT SELECT, SHOW VIEW ON " + quote(s.d.config.DBName) + ".* TO reader. " +
			"Or set privileged=1 to allow it",
	}
}

// prepares prepares a statement without running it and returns the error.
func (s *session) prepares(ctx context.Context, sql string) error {
	stmt, err := s.conn.(driver.ConnPrepareContext).PrepareContext(ctx, sql)
	if err != nil {
		return err
	}
	return stmt.Close()
}

// Codes of the server.
const (
	codeAccessDenied         = 1045
	codeSyntax               = 1064
	codeLockWait             = 1205
	codeSpecificAccessDenied = 1227
	codeSecureFile           = 1290
	codeNotPreparable        = 1295
	codeReadOnly             = 1792
	codeTooMany              = 1040
	codeDiskFull             = 1021
	codeTableFull            = 1114
)

func code(err error) uint16 {
	if dbErr, ok := errors.AsType[*driverpkg.MySQLError](err); ok {
		return dbErr.Number
	}
	return 0
}

// failure converts an error of the database server.
func (s *session) failure(err error) error {
	if err == nil {
		return nil
	}
	if s.wire.exceeded.Load() {
		return engine.TooLarge(s.d.o.MaxMessage)
	}
	var dbErr *driverpkg.MySQLError
	if !errors.As(err, &dbErr) {
		if errors.Is(err, driverpkg.ErrInvalidConn) || errors.Is(err, driver.ErrBadConn) {
			return &engine.Unreachable{Location: s.d.Location(), Err: errors.New("connection lost")}
		}
		return err
	}
	text := s.d.product + ": " + dbErr.Message
	switch dbErr.Number {
	case codeReadOnly:
		return engine.ReadOnly(text)
	case codeNotPreparable:
		return &engine.Refusal{Why: text}
	case codeLockWait:
		return errors.New(text + ". Another session holds a lock; try again")
	case codeDiskFull, codeTableFull, codeTooMany:
		return errors.New(text + ". The database server has run out of disk, memory or connections; nothing was changed")
	}
	return errors.New(text)
}
