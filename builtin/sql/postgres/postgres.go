// Package postgres is the engine for PostgreSQL. A DSN is a URL such as
// postgres://user@host:5432/name?sslmode=verify-full; the environment variables
// and the password file of libpq are read as usual.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/tenon-mcp/tenon/builtin/sql/engine"
)

func init() { engine.Register(Open, "postgres", "postgresql") }

type database struct {
	config *pgconn.Config
	o      engine.Options
}

// Open returns the database of a URL without connecting.
func Open(dsn string, o engine.Options) (engine.Database, error) {
	config, err := pgconn.ParseConfig(dsn)
	if err != nil {
		// The error of the driver contains the URL.
		return nil, errors.New("the dsn is not a PostgreSQL URL; write postgres://user:password@host:5432/name, with special characters in the password percent-encoded, and only options that libpq knows")
	}
	o = o.WithDefaults()
	config.ConnectTimeout = o.ConnectTimeout
	config.MaxProtocolMessageBodyLen = o.MaxMessage
	config.RuntimeParams["application_name"] = "tenon"
	config.OnNotice = nil
	// When a context ends, the statement is cancelled; the connection is
	// closed only if that does not help.
	config.BuildContextWatcherHandler = func(c *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: c, DeadlineDelay: engine.Grace}
	}
	return &database{config: config, o: o}, nil
}

func (d *database) Product() string { return "PostgreSQL" }

func (d *database) Location() string {
	host := d.config.Host
	if !strings.HasPrefix(host, "/") {
		host = net.JoinHostPort(host, strconv.Itoa(int(d.config.Port)))
	}
	return fmt.Sprintf("database %q at %s", d.config.Database, host)
}

func (d *database) Dialect() string {
	return `PostgreSQL: placeholders are $1, $2, …; names are quoted with "double quotes" and are lower case without them; JSON is read with -> and ->>.`
}

func (d *database) Quote(t engine.Table) string { return quote(t.Schema) + "." + quote(t.Name) }

func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// connect opens a session.
func (d *database) connect(ctx context.Context) (*pgconn.PgConn, error) {
	within, cancel := context.WithTimeout(ctx, d.o.ConnectTimeout)
	defer cancel()
	c, err := pgconn.ConnectConfig(within, d.config.Copy())
	if err == nil {
		return c, nil
	}
	if ctx.Err() != nil {
		return nil, engine.Ended(ctx, err)
	}
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok {
		if strings.HasPrefix(refused.Code, "28") || refused.Code == "3D000" { // a wrong user, password or database
			return nil, engine.Redact(engine.LoginRefused(d.Location(), refused.Message), d.config.Password)
		}
		err = errors.New(refused.Message)
	} else {
		err = errors.New(lastLine(err.Error()))
	}
	return nil, &engine.Unreachable{Location: d.Location(), Err: engine.Redact(err, d.config.Password)}
}

// lastLine removes the failed attempts of a driver that tried several
// addresses.
func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return strings.TrimSpace(s[strings.LastIndexByte(s, '\n')+1:])
}

// hangUp closes a session, which ends anything that still runs in it.
func hangUp(c *pgconn.PgConn) {
	ctx, cancel := context.WithTimeout(context.Background(), engine.Grace)
	defer cancel()
	if c.IsBusy() {
		_ = c.CancelRequest(ctx)
	}
	_ = c.Close(ctx)
}

func (d *database) Read(ctx context.Context, q engine.Query, to engine.Sink) error {
	c, err := d.connect(ctx)
	if err != nil {
		return err
	}
	defer hangUp(c)
	if err := d.beginReading(ctx, c); err != nil {
		return engine.Ended(ctx, d.failure(err))
	}
	r := &runner{conn: c, sink: to, rowsOnly: true, restart: func() error {
		if err := exec(ctx, c, "ROLLBACK"); err != nil {
			return err
		}
		return d.beginReading(ctx, c)
	}}
	if err := r.run(ctx, q); err != nil {
		return engine.Ended(ctx, d.failure(err))
	}
	return d.stillReading(c)
}

func (d *database) Write(ctx context.Context, q engine.Query, to engine.Sink) (engine.Changed, error) {
	if !d.o.Writes {
		return engine.Changed{}, engine.ReadOnly("writes are not enabled")
	}
	c, err := d.connect(ctx)
	if err != nil {
		return engine.Changed{}, err
	}
	defer hangUp(c)
	if err := exec(ctx, c, d.settings("SET ")); err != nil {
		return engine.Changed{}, engine.Ended(ctx, d.failure(err))
	}
	r := &runner{conn: c, sink: to, restart: func() error { return nil }}
	if err := r.run(ctx, q); err != nil {
		return engine.Changed{}, engine.Ended(ctx, d.failure(err))
	}
	if c.TxStatus() != 'I' {
		return engine.Changed{}, &engine.Refusal{Why: "the statement left a transaction open, which was rolled back", Advice: "Every statement runs in its own transaction"}
	}
	return engine.Changed{Rows: r.tag.RowsAffected()}, nil
}

// settings returns statements that set value formats and lock timeouts.
func (d *database) settings(set string) string {
	ms := func(t time.Duration) string { return strconv.FormatInt(t.Milliseconds(), 10) }
	return strings.Join([]string{
		set + "datestyle = 'ISO'", set + "intervalstyle = 'iso_8601'", set + "bytea_output = 'hex'",
		set + "extra_float_digits = 1", set + "lock_timeout = " + ms(d.o.LockTimeout),
		set + "client_encoding = 'UTF8'", set + "standard_conforming_strings = on",
	}, "; ")
}

// exec runs the server's own statements.
func exec(ctx context.Context, c *pgconn.PgConn, sql string) error {
	_, err := c.Exec(ctx, sql).ReadAll()
	return err
}
