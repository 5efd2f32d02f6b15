package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/tenon-mcp/tenon/builtin/sql/engine"
)

// beginReading begins a transaction that cannot write, cannot be made to,
// and is never committed. These rules ensure it:
//
//   - BEGIN READ ONLY, in which the server refuses what changes tables, and
//     then a query, after which it refuses to make the transaction READ WRITE;
//   - the extended protocol, in which the server takes one statement only, so
//     that nothing can follow a COMMIT;
//   - a statement that returns no columns, as the server describes it, is not
//     run at all: COMMIT, SET, DO, CALL, LOCK, COPY, …;
//   - in a transaction block the server refuses to commit from within a
//     procedure or DO block;
//   - the session ends afterwards, and with it the transaction: what a read-only
//     transaction may still do (large objects before version 16, advisory
//     locks, NOTIFY, settings) is undone.
//
// A superuser can escape a transaction (through files and programs of the
// server), so such accounts are refused first.
func (d *database) beginReading(ctx context.Context, c *pgconn.PgConn) error {
	if err := exec(ctx, c, "BEGIN READ ONLY; "+d.settings("SET LOCAL ")+"; SELECT 1 FROM pg_catalog.pg_class LIMIT 1"); err != nil {
		return err
	}
	if d.o.Privileged {
		return nil
	}
	rights, err := unsafeRights(ctx, c)
	if err != nil || len(rights) == 0 {
		return err
	}
	return &engine.Refusal{
		Why: fmt.Sprintf("account %q can escape a read-only transaction: %s", d.config.User, strings.Join(rights, "; ")),
		Advice: "Use an account that cannot: CREATE ROLE reader LOGIN PASSWORD '…'; GRANT pg_read_all_data TO reader. " +
			"Or set privileged=1 to allow it",
	}
}

// rightsQuery selects the rights of an account, and of any role that it could
// become, that no transaction restricts.
const rightsQuery = `
SELECT CASE WHEN rolsuper THEN 'superuser' WHEN rolreplication THEN 'replication' ELSE rolname::text END
FROM pg_catalog.pg_roles
WHERE (rolsuper OR rolreplication OR rolname IN ('pg_execute_server_program', 'pg_write_server_files', 'pg_read_server_files'))
  AND pg_catalog.pg_has_role(session_user, oid, 'MEMBER')
UNION
SELECT 'may call ' || p.proname || ' of the extension ' || e.extname
FROM pg_catalog.pg_proc p
JOIN pg_catalog.pg_depend x ON x.classid = 'pg_catalog.pg_proc'::pg_catalog.regclass AND x.objid = p.oid AND x.deptype = 'e'
JOIN pg_catalog.pg_extension e ON e.oid = x.refobjid
WHERE (e.extname = 'dblink' AND p.proname IN ('dblink', 'dblink_exec', 'dblink_send_query')
    OR e.extname = 'adminpack' AND p.proname LIKE 'pg\_file\_%')
  AND pg_catalog.has_function_privilege(session_user, p.oid, 'EXECUTE')
UNION
SELECT 'may write functions in ' || lanname
FROM pg_catalog.pg_language
WHERE NOT lanpltrusted AND lanname NOT IN ('internal', 'c') AND pg_catalog.has_language_privilege(session_user, oid, 'USAGE')
ORDER BY 1`

func unsafeRights(ctx context.Context, c *pgconn.PgConn) ([]string, error) {
	results, err := c.Exec(ctx, rightsQuery).ReadAll()
	if err != nil {
		return nil, err
	}
	var list []string
	for _, row := range results[0].Rows {
		if name := string(row[0]); name == "superuser" {
			return []string{"it is a superuser, or may become one"}, nil
		} else {
			list = append(list, name)
		}
	}
	return list, nil
}

// stillReading returns an error if the statement ended its transaction. It
// changed nothing, because it was the only statement.
func (d *database) stillReading(c *pgconn.PgConn) error {
	if s := c.TxStatus(); s == 'I' && !c.IsBusy() && !c.IsClosed() {
		return &engine.Refusal{Why: "the statement ended its transaction", Advice: "run_query accepts one statement that reads, without BEGIN, COMMIT or ROLLBACK"}
	}
	return nil
}

// failure converts an error of the database server.
func (d *database) failure(err error) error {
	var dbErr *pgconn.PgError
	if !errors.As(err, &dbErr) {
		if _, ok := errors.AsType[*pgproto3.ExceededMaxBodyLenErr](err); ok {
			return engine.TooLarge(d.o.MaxMessage)
		}
		return err
	}
	text := "PostgreSQL: " + dbErr.Message
	if dbErr.Detail != "" {
		text += ". " + dbErr.Detail
	}
	if dbErr.Hint != "" {
		text += ". " + dbErr.Hint
	}
	if dbErr.Position > 0 {
		text += fmt.Sprintf(" (at character %d)", dbErr.Position)
	}
	switch {
	case dbErr.Code == "25006": // read_only_sql_transaction
		return engine.ReadOnly(text)
	case dbErr.Code == "42601" && strings.Contains(dbErr.Message, "multiple commands"):
		return &engine.Refusal{Why: "more than one statement", Advice: "Send them one by one"}
	case dbErr.Code == "55P03":
		return errors.New(text + ". Another session holds a lock; try again")
	case strings.HasPrefix(dbErr.Code, "53"):
		return errors.New(text + ". The database server has run out of disk, memory or connections; nothing was changed")
	}
	return errors.New(text)
}
