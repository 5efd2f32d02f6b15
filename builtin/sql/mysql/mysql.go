// Package mysql is the engine for MariaDB and MySQL. A DSN is a URL:
// mysql://user:password@host:3306/name, with ?tls=true|skip-verify|preferred for
// encryption and ?socket=/path for a Unix socket; mariadb:// is the same.
package mysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	driverpkg "github.com/go-sql-driver/mysql"
	"github.com/tenon-mcp/tenon/builtin/sql/engine"
)

func init() { engine.Register(Open, "mysql", "mariadb") }

type database struct {
	config  *driverpkg.Config
	product string
	o       engine.Options
}

// Open returns the database of a URL without connecting.
func Open(dsn string, o engine.Options) (engine.Database, error) {
	u, err := url.Parse(dsn)
	if err != nil || u.Host == "" && u.Query().Get("socket") == "" {
		// The error of url.Parse contains the URL.
		return nil, errors.New("the dsn is not a MySQL URL; write mysql://user:password@host:3306/name, with special characters in the password percent-encoded")
	}
	d := &database{config: driverpkg.NewConfig(), product: "MySQL", o: o.WithDefaults()}
	if u.Scheme == "mariadb" {
		d.product = "MariaDB"
	}
	c := d.config
	c.User = u.User.Username()
	c.Passwd, _ = u.User.Password()
	c.DBName = strings.TrimPrefix(u.Path, "/")
	if c.DBName == "" {
		return nil, errors.New("the dsn has no database name; write mysql://user@host/name")
	}
	c.Net, c.Addr = "tcp", u.Host
	if u.Port() == "" {
		c.Addr = net.JoinHostPort(u.Hostname(), "3306")
	}
	for key, values := range u.Query() {
		switch key {
		case "tls":
			c.TLSConfig = values[0]
		case "socket":
			c.Net, c.Addr = "unix", values[0]
		default:
			return nil, fmt.Errorf("the dsn has the unknown option %q; there are tls and socket", key)
		}
	}
	c.Timeout = d.o.ConnectTimeout
	c.Logger = &driverpkg.NopLogger{}
	if _, err := driverpkg.NewConnector(c.Clone()); err != nil {
		return nil, errors.New("invalid dsn; tls must be true, false, skip-verify or preferred")
	}
	return d, nil
}

func (d *database) Product() string { return d.product }

func (d *database) Location() string {
	return fmt.Sprintf("database %q at %s", d.config.DBName, d.config.Addr)
}

func (d *database) Dialect() string {
	return d.product + ": placeholders are ?, names are quoted with `backticks`, text with 'single quotes'; JSON is read with JSON_VALUE() and JSON_EXTRACT()."
}

func (d *database) Quote(t engine.Table) string { return quote(t.Name) }

func quote(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

func (d *database) Read(ctx context.Context, q engine.Query, to engine.Sink) error {
	s, err := d.connect(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	err = s.killable(ctx, func(ctx context.Context) error {
		if err := s.beginReading(ctx, q); err != nil {
			return err
		}
		sql := q.SQL
		if q.Explain {
			sql = "EXPLAIN " + sql
		}
		return s.run(ctx, sql, q.Params, to)
	})
	if err == nil && ctx.Err() != nil {
		err = engine.Ended(ctx, ctx.Err()) // some functions return a value when killed
	}
	return err
}

func (d *database) Write(ctx context.Context, q engine.Query, to engine.Sink) (changed engine.Changed, err error) {
	if !d.o.Writes {
		return changed, engine.ReadOnly("writes are not enabled")
	}
	s, err := d.connect(ctx)
	if err != nil {
		return changed, err
	}
	defer s.close()
	err = s.killable(ctx, func(ctx context.Context) error {
		if err := s.run(ctx, q.SQL, q.Params, to); err != nil {
			return err
		}
		return s.each(ctx, "SELECT ROW_COUNT(), LAST_INSERT_ID()", func(row []any) {
			changed.Rows, _ = row[0].(int64)
			if id, ok := row[1].(uint64); ok {
				changed.LastID = int64(id)
			}
		})
	})
	changed.Rows = max(changed.Rows, 0) // -1 means that the statement returned rows
	return changed, err
}

// codesOfLogin are the error codes of a wrong user, password or database.
var codesOfLogin = []uint16{1044, 1045, 1049, 1130, 1698}

// connect opens a session and configures value formats and lock timeouts.
func (d *database) connect(ctx context.Context) (*session, error) {
	s := &session{d: d, wire: &meter{limit: d.o.MaxMessage}}
	config := d.config.Clone()
	config.DialFunc = s.wire.dial
	connector, err := driverpkg.NewConnector(config)
	if err != nil {
		return nil, err
	}
	within, cancel := context.WithTimeout(ctx, d.o.ConnectTimeout)
	defer cancel()
	if s.conn, err = connector.Connect(within); err == nil {
		if err = s.settle(ctx, within); err == nil {
			return s, nil
		}
		s.conn.Close()
	}
	if ctx.Err() != nil {
		return nil, engine.Ended(ctx, err)
	}
	if within.Err() != nil {
		err = errors.New("connection timed out")
	}
	if dbErr, ok := errors.AsType[*driverpkg.MySQLError](err); ok && slices.Contains(codesOfLogin, dbErr.Number) {
		return nil, engine.Redact(engine.LoginRefused(d.Location(), dbErr.Message), d.config.Passwd)
	}
	return nil, &engine.Unreachable{Location: d.Location(), Err: engine.Redact(err, d.config.Passwd)}
}

func exec(ctx context.Context, c driver.Conn, sql string) error {
	_, err := c.(driver.ExecerContext).ExecContext(ctx, sql, nil)
	return err
}
