//go:build unix

package sql_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/builtin/sql"
	"github.com/tenon-mcp/tenon/builtin/sql/engine"
)

const password = "s3cr3t-pässword/with:odd@signs"

// quotedPassword is it in a URL.
const quotedPassword = "s3cr3t-p%C3%A4ssword%2Fwith%3Aodd%40signs"

type postgresServer struct {
	*target
	host    *host
	service *service
	port    string
	bin     string
}

func (p *postgresServer) start(t *testing.T) {
	t.Helper()
	p.service = p.host.start(t, "127.0.0.1:"+p.port, "QUIT", filepath.Join(p.bin, "postgres"), "-D", filepath.Join(p.host.dir, "data"), "-p", p.port,
		"-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "fsync=off")
	waitFor(t, func() bool {
		return p.admin.Read(t.Context(), engine.Query{SQL: "SELECT 1"}, ignore{}) == nil
	}, func() string { return "PostgreSQL does not answer" })
}

func startPostgres(t *testing.T) *postgresServer {
	t.Helper()
	server := find("/usr/lib/postgresql/*/bin/postgres", "postgres")
	if server == "" {
		absent(t, "PostgreSQL is not installed: apt-get install postgresql-15")
	}
	p := &postgresServer{target: &target{name: "postgres"}, host: newHost(t), port: freePort(t), bin: filepath.Dir(server)}
	data := filepath.Join(p.host.dir, "data")
	p.host.setUp(t, filepath.Join(p.bin, "initdb"), "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	hba := "host all postgres 127.0.0.1/32 trust\nhost all all 127.0.0.1/32 scram-sha-256\n"
	if err := os.WriteFile(filepath.Join(data, "pg_hba.conf"), []byte(hba), 0o644); err != nil {
		t.Fatal(err)
	}
	var err error
	p.admin, err = engine.Open(p.url("postgres", ""), engine.Options{Writes: true, Privileged: true, ConnectTimeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	p.dsn = p.url("app", quotedPassword)
	p.start(t)
	p.exec(t, `CREATE ROLE app LOGIN PASSWORD '`+password+`'`, `CREATE ROLE boss SUPERUSER LOGIN PASSWORD '`+password+`'`,
		`CREATE ROLE climber LOGIN NOINHERIT PASSWORD '`+password+`'`, `GRANT boss TO climber`,
		`CREATE ROLE runner LOGIN PASSWORD '`+password+`'`, `GRANT pg_execute_server_program TO runner`,
		`CREATE ROLE replicator LOGIN REPLICATION PASSWORD '`+password+`'`,
		`CREATE ROLE poor LOGIN PASSWORD '`+password+`'`, `ALTER ROLE poor SET temp_file_limit = '20MB'`,
		`GRANT ALL ON SCHEMA public TO app`, `GRANT CREATE ON DATABASE postgres TO app`)
	p.fresh = p.reset
	p.state = p.fingerprint
	return p
}

func (p *postgresServer) url(user, password string) string {
	if password != "" {
		user += ":" + password
	}
	return "postgres://" + user + "@127.0.0.1:" + p.port + "/postgres?sslmode=disable"
}

// reset makes everything anew; the account of the server owns it all and could
// do anything to it, if it were let.
func (p *postgresServer) reset(t *testing.T) {
	t.Helper()
	p.exec(t, `DROP SCHEMA public CASCADE`, `DROP SCHEMA IF EXISTS sales CASCADE`, `CREATE SCHEMA public AUTHORIZATION app`, `CREATE SCHEMA sales AUTHORIZATION app`)
	owner, err := engine.Open(p.dsn, engine.Options{Writes: true, ConnectTimeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	g := &target{admin: owner}
	g.exec(t, `CREATE TABLE people (id int PRIMARY KEY, name text NOT NULL, nick text)`,
		`INSERT INTO people VALUES (1, 'Ada', 'a'), (2, 'Grace', NULL), (3, 'Edsger', '')`,
		`CREATE TABLE orders (id int PRIMARY KEY, person_id int REFERENCES people(id), total numeric(10,2) CHECK (total >= 0))`,
		`COMMENT ON TABLE orders IS 'what was bought'`, `COMMENT ON COLUMN orders.total IS 'in euros'`,
		`INSERT INTO orders VALUES (1, 1, 10), (2, 1, 20.5), (3, 2, 0)`, `CREATE INDEX orders_by_person ON orders (person_id)`,
		`CREATE VIEW totals AS SELECT person_id, sum(total) AS total FROM orders GROUP BY 1`,
		`CREATE TABLE "odd ""table""" ("half|column" int)`, `CREATE TABLE sales.deals (id int)`, `CREATE SEQUENCE seq`,
		`CREATE FUNCTION wipe() RETURNS int LANGUAGE plpgsql AS $$ BEGIN DELETE FROM orders; RETURN 1; END $$`,
		`CREATE FUNCTION wipe_definer() RETURNS int LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN SET transaction_read_only = off; DELETE FROM orders; RETURN 1; END $$`,
		`CREATE PROCEDURE commit_and_wipe() LANGUAGE plpgsql AS $$ BEGIN COMMIT; DELETE FROM orders; COMMIT; END $$`,
		`ANALYZE people`)
}

func (p *postgresServer) fingerprint(t *testing.T) string {
	t.Helper()
	state := p.query(t, `SELECT (SELECT json_agg(p ORDER BY id) FROM people p)::text, (SELECT json_agg(o ORDER BY id) FROM orders o)::text,
		(SELECT last_value FROM seq), (SELECT string_agg(relname, ',' ORDER BY relname) FROM pg_class WHERE relnamespace IN ('public'::regnamespace, 'sales'::regnamespace)),
		(SELECT string_agg(proname, ',' ORDER BY proname) FROM pg_proc WHERE pronamespace = 'public'::regnamespace),
		(SELECT count(*) FROM pg_largeobject_metadata), (SELECT count(*) FROM pg_prepared_xacts), (SELECT count(*) FROM pg_replication_slots),
		(SELECT string_agg(rolname || rolsuper::text || coalesce(rolpassword, ''), ',' ORDER BY rolname) FROM pg_authid),
		(SELECT count(*) FROM pg_db_role_setting), (SELECT count(*) FROM pg_namespace WHERE nspname NOT LIKE 'pg_%'), (SELECT count(*) FROM pg_extension)`)
	files, _ := filepath.Glob(filepath.Join(p.host.dir, "*"))
	more, _ := filepath.Glob(filepath.Join(p.host.dir, "data", "*mark*"))
	return state + strings.Join(append(files, more...), " ")
}

func TestPostgres(t *testing.T) {
	p := startPostgres(t)
	suite(t, p.target)
	t.Run("comments", func(t *testing.T) {
		a := call(t, serve(t, sql.Config{DSN: p.dsn}), "describe_table", map[string]any{"table": "public.ORDERS"})
		for _, want := range []string{"what was bought", "total numeric(10,2): in euros", "Check: CHECK"} {
			if !strings.Contains(a.text, want) {
				t.Errorf("no %q in %s", want, a.text)
			}
		}
		if a := call(t, serve(t, sql.Config{DSN: p.dsn}), "list_tables", map[string]any{}); !strings.Contains(a.text, "sales.deals") {
			t.Errorf("other schemas: %s", a.text)
		}
	})
	t.Run("statements that cannot be answered", func(t *testing.T) {
		s := serve(t, sql.Config{DSN: p.dsn, Writes: true})
		for _, row := range []struct {
			statement, want string
			seconds         int // only the first has to run out of them
		}{
			{"COPY people FROM STDIN", "timed out and was cancelled", 3}, {"BEGIN", "left a transaction open", 30}, {"SELECT 1; SELECT 2", "more than one statement", 30},
		} {
			a := call(t, s, "run_statement", map[string]any{"sql": row.statement, "confirm": true, "timeoutSeconds": row.seconds})
			if !a.failed || !strings.Contains(a.text, row.want) {
				t.Errorf("%s: %s", row.statement, a.text)
			}
		}
	})
	t.Run("refused", func(t *testing.T) { refused(t, p.target, sql.Config{DSN: p.dsn}, p.refusedStatements()) })
	t.Run("refused with writes", func(t *testing.T) { refused(t, p.target, sql.Config{DSN: p.dsn, Writes: true}, p.refusedStatements()) })
	t.Run("harmless", func(t *testing.T) { harmless(t, p.target, postgresHarmless) })
	t.Run("accounts", func(t *testing.T) { testPostgresAccounts(t, p) })
	t.Run("values", func(t *testing.T) { testPostgresValues(t, p) })
	t.Run("endless", func(t *testing.T) {
		running := func(t *testing.T) string {
			return p.query(t, `SELECT pid, query FROM pg_stat_activity WHERE usename = 'app' AND state = 'active'`)
		}
		endless(t, p.target, running, []string{
			`WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x FROM c) SELECT count(*) FROM c`,
			`SELECT count(*) FROM generate_series(1, 1000000) a, generate_series(1, 1000000) b`,
			`SELECT pg_sleep(1000)`,
		})
	})
	t.Run("large", func(t *testing.T) { testPostgresLarge(t, p) })
	t.Run("trouble", func(t *testing.T) { testPostgresTrouble(t, p) })
}

func (p *postgresServer) refusedStatements() []string {
	marker := filepath.Join(p.host.dir, "data", "marker")
	list := []string{
		// those of the issue and F18
		`SELECT 1; DROP TABLE orders`, `COMMIT; DROP TABLE orders`, `/**/DELETE FROM orders`,
		`WITH d AS (DELETE FROM orders RETURNING *) SELECT * FROM d`, `EXPLAIN ANALYZE DELETE FROM orders`,
		`COPY (SELECT 1) TO PROGRAM 'touch MARKER'`, `COPY orders TO 'MARKER'`, `SELECT pg_read_file('/etc/passwd')`,
		// our own
		`DROP TABLE orders`, `TRUNCATE orders`, `INSERT INTO people VALUES (9, 'x')`, `UPDATE orders SET total = 0`, `MERGE INTO orders o USING people p ON o.id = p.id WHEN MATCHED THEN DELETE`,
		`SELECT * INTO made FROM orders`, `CREATE TABLE made AS SELECT 1`, `CREATE TEMP TABLE made (a int)`, `CREATE VIEW made AS SELECT 1`, `CREATE INDEX ON orders (total)`,
		`ALTER TABLE orders ADD made int`, `COMMENT ON TABLE orders IS 'x'`, `GRANT ALL ON orders TO PUBLIC`, `REVOKE ALL ON orders FROM app`, `ALTER ROLE app PASSWORD 'x'`, `ALTER ROLE app SET work_mem = '1GB'`,
		`SELECT nextval('seq')`, `SELECT setval('seq', 500)`, `SELECT * FROM orders FOR UPDATE`, `SELECT wipe()`, `SELECT wipe_definer()`, `CALL commit_and_wipe()`,
		`COMMIT`, `ROLLBACK`, `END`, `ABORT`, `PREPARE TRANSACTION 'made'`, `SET TRANSACTION READ WRITE`, `SET transaction_read_only = off`, `SET LOCAL transaction_read_only TO off`,
		`SELECT set_config('transaction_read_only', 'off', false)`, `SELECT set_config('transaction_read_only', 'off', true), wipe()`,
		`DO $$ BEGIN SET TRANSACTION READ WRITE; DELETE FROM orders; END $$`, `DO $$ BEGIN COMMIT; DELETE FROM orders; END $$`, `DO $$ BEGIN ROLLBACK; DELETE FROM orders; COMMIT; END $$`,
		`DO $$ BEGIN EXECUTE 'SET transaction_read_only = off'; EXECUTE 'DROP TABLE orders'; END $$`, `DO $$ BEGIN PERFORM wipe(); EXCEPTION WHEN OTHERS THEN PERFORM wipe(); END $$`,
		`EXPLAIN (ANALYZE) INSERT INTO people VALUES (9, 'x')`, `COPY orders FROM PROGRAM 'echo 9'`, `COPY orders FROM '/etc/passwd'`, `COPY orders FROM STDIN`,
		`SELECT lo_import('/etc/passwd')`, `SELECT lo_export(1, 'MARKER')`, `SELECT pg_ls_dir('/')`, `CREATE EXTENSION dblink`, `CREATE EXTENSION hstore`, `CREATE FUNCTION made() RETURNS int LANGUAGE sql AS 'SELECT 1'`,
		`CREATE SCHEMA made`, `DROP SCHEMA sales CASCADE`, `REFRESH MATERIALIZED VIEW made`, `VACUUM`, `VACUUM FULL orders`, `CLUSTER`, `REINDEX DATABASE postgres`, `ALTER SYSTEM SET work_mem = '1GB'`, `CHECKPOINT`,
		`SELECT pg_reload_conf()`, `SELECT pg_create_logical_replication_slot('made', 'test_decoding')`, `SELECT pg_create_physical_replication_slot('made')`, `SECURITY LABEL ON TABLE orders IS 'x'`,
		`IMPORT FOREIGN SCHEMA x FROM SERVER y INTO public`, `DROP OWNED BY app`, `REASSIGN OWNED BY app TO postgres`, `LOCK TABLE orders IN ACCESS EXCLUSIVE MODE; DELETE FROM orders`,
		`SELECT 1; SELECT 2`, "SELECT 1\x00; DROP TABLE orders", "SELECT 1\x00\x00\x00", ``, `SELECT * FROM nowhere`, `BEGIN; DELETE FROM orders; COMMIT`, `SELECT query_to_xml('DELETE FROM orders RETURNING *', true, true, '')`,
		`SELECT table_to_xml('nowhere', true, true, '')`, `PREPARE x AS DELETE FROM orders; EXECUTE x`, `SELECT txid_current(), wipe()`,
	}
	for i := range list {
		list[i] = strings.ReplaceAll(list[i], "MARKER", marker)
	}
	return list
}

// postgresHarmless are statements that the server may answer. Nothing of what
// they do outlives them.
var postgresHarmless = []string{
	`SELECT lo_create(0)`, `SELECT lo_from_bytea(0, 'x')`, `SELECT pg_advisory_lock(1)`, `SELECT pg_advisory_lock(1)`, `SELECT pg_notify('made', 'x')`, `NOTIFY made`, `LISTEN made`,
	`SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE`, `SET default_transaction_read_only = off`, `SET ROLE app`, `SET SESSION AUTHORIZATION app`, `RESET ALL`, `DISCARD ALL`, `DISCARD PLANS`,
	`PREPARE made AS DELETE FROM orders`, `EXECUTE made`, `DEALLOCATE ALL`, `DECLARE made CURSOR WITH HOLD FOR SELECT 1`, `SAVEPOINT made`, `COMMIT AND CHAIN`, `ROLLBACK AND CHAIN`, `BEGIN`, `START TRANSACTION READ WRITE`,
	`LOCK TABLE orders IN ACCESS EXCLUSIVE MODE`, `LOCK TABLE orders IN ACCESS SHARE MODE`, `ANALYZE orders`, `COPY orders TO STDOUT`, `SHOW ALL`, `SELECT txid_current()`, `SELECT pg_cancel_backend(1)`,
	`SELECT pg_terminate_backend(1)`, `SELECT pg_export_snapshot()`, `SELECT set_config('search_path', 'pg_temp', false)`, `EXPLAIN DELETE FROM orders`, `DO $$ BEGIN END $$`, `SELECT pg_stat_reset()`,
	`LOAD 'plpgsql'`, `EXPLAIN ANALYZE CREATE TABLE made AS SELECT 1`, `SELECT pg_logical_emit_message(false, 'made', 'x')`, `SELECT currval('seq')`, `VALUES (1)`, `TABLE people`, `WITH x AS MATERIALIZED (SELECT 1) SELECT * FROM x`,
}

func testPostgresAccounts(t *testing.T, p *postgresServer) {
	wrongLogin(t, p.url("app", "wr0ng"), p.url("app", quotedPassword)+"&dbname=nowhere")
	for _, account := range []string{"boss", "climber", "runner", "replicator"} {
		before := p.state(t)
		s := serve(t, sql.Config{DSN: p.url(account, quotedPassword)})
		a := run(t, s, "COPY (SELECT 1) TO PROGRAM 'touch "+filepath.Join(p.host.dir, "data", "marker")+"'")
		if !a.failed || !strings.Contains(a.text, "can escape a read-only transaction") || !strings.Contains(a.text, "pg_read_all_data") {
			t.Errorf("%s: %s", account, a.text)
		}
		if a := call(t, s, "list_tables", map[string]any{}); !a.failed {
			t.Errorf("%s lists tables: %s", account, a.text)
		}
		if after := p.state(t); after != before {
			t.Errorf("%s changed something", account)
		}
	}
	if a := run(t, serve(t, sql.Config{DSN: p.url("boss", quotedPassword), Privileged: true}), "SELECT 1"); a.failed {
		t.Errorf("privileged: %s", a.text)
	}
	if a := run(t, serve(t, sql.Config{DSN: p.url("boss", quotedPassword), Privileged: true}), "DROP TABLE orders"); !a.failed {
		t.Errorf("privileged still reads only: %s", a.text)
	}
}

func testPostgresValues(t *testing.T, p *postgresServer) {
	s := serve(t, sql.Config{DSN: p.dsn})
	for query, want := range map[string]string{
		`SELECT NULL, 1, true, 'x', 1.5::float8`:                                        `[[null,1,true,"x",1.5]]`,
		`SELECT 9007199254740993, 0.1::numeric, 123456789.123456789::numeric`:           `[["9007199254740993","0.1","123456789.123456789"]]`,
		`SELECT 'NaN'::float8, 'Infinity'::float8, '-Infinity'::float4, 'NaN'::numeric`: `[["NaN","Infinity","-Infinity","NaN"]]`,
		`SELECT '\x00ff'::bytea`: `[[{"base64":"AP8=","size":2}]]`,
		`SELECT '2024-05-01 10:00:00.25'::timestamp, '2024-05-01'::date, '10:00'::time`:          `[["2024-05-01T10:00:00.25","2024-05-01","10:00:00"]]`,
		`SELECT '2024-05-01 10:00:00+00'::timestamptz AT TIME ZONE 'UTC'`:                        `[["2024-05-01T10:00:00"]]`,
		`SELECT '{"a": [1, 2.50, 12345678901234567890]}'::jsonb, '[1,  2]'::json`:                `[[{"a":[1,2.50,12345678901234567890]},[1,2]]]`,
		`SELECT ARRAY[1,NULL,3], ARRAY['a b','"q"','NULL',''], ARRAY[[1,2],[3,4]], '{}'::int[]`:  `[[[1,null,3],["a b","\"q\"","NULL",""],[[1,2],[3,4]],[]]]`,
		`SELECT '[5:6]={1,2}'::int[], ARRAY[9007199254740993], ARRAY['2024-05-01'::date]`:        `[[[1,2],["9007199254740993"],["2024-05-01"]]]`,
		`SELECT '1 day 2 hours'::interval, gen_random_uuid() IS NOT NULL, 'infinity'::timestamp`: `[["P1DT2H",true,"infinity"]]`,
		`SELECT ROW(1,'a'), int4range(1,5), '192.168.0.1'::inet`:                                 `[["(1,a)","[1,5)","192.168.0.1"]]`,
	} {
		if got := run(t, s, query).rows(t); strings.ReplaceAll(got, " ", "") != strings.ReplaceAll(want, " ", "") {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
	a := run(t, s, `SELECT 1 AS n, ARRAY['x'] AS l, '1'::oid AS o`)
	if !strings.HasPrefix(a.text, "n integer | l text[] | o oid\n") {
		t.Errorf("types: %s", a.text)
	}
	for _, row := range []struct {
		sql   string
		param any
		want  string
	}{
		{"SELECT pg_typeof($1)::text", 1, `[["bigint"]]`}, {"SELECT pg_typeof($1)::text", true, `[["boolean"]]`}, {"SELECT pg_typeof($1)::text", "x", `[["text"]]`},
		{"SELECT pg_typeof($1)::text", 1.5, `[["double precision"]]`}, {"SELECT pg_typeof($1)::text", map[string]any{"a": 1}, `[["jsonb"]]`},
		{"SELECT $1::int + 1", 41, `[[42]]`}, {"SELECT DATE '2024-05-01' + $1::int", 1, `[["2024-05-02"]]`}, {"SELECT '2024-05-01' < $1::date", "2024-05-02", `[[true]]`},
		{"SELECT name FROM people WHERE id = ANY($1) ORDER BY 1", []int{1, 3}, `[["Ada"],["Edsger"]]`}, {"SELECT name FROM people WHERE name = ANY($1)", []string{"Ada", "o\"x"}, `[["Ada"]]`},
		{"SELECT length($1::bytea)", map[string]string{"base64": "AP8="}, `[[2]]`}, {"SELECT total FROM orders WHERE total > $1 ORDER BY 1", 10, `[["20.50"]]`},
		{"SELECT $1::jsonb->>'a'", map[string]any{"a": "b"}, `[["b"]]`}, {"SELECT repeat('x', $1)", 3, `[["xxx"]]`},
	} {
		if got := run(t, s, row.sql, row.param).rows(t); got != row.want {
			t.Errorf("%s with %v: %s, want %s", row.sql, row.param, got, row.want)
		}
	}
}

func testPostgresLarge(t *testing.T, p *postgresServer) {
	s := serve(t, sql.Config{DSN: p.dsn})
	if a := run(t, s, `SELECT repeat('x', 200000000)`); !a.failed || !strings.Contains(a.text, "64 MiB") {
		t.Errorf("200 MB: %.300s", a.text)
	}
	if a := run(t, s, `SELECT repeat('x', 1073741824 - 100)`); !a.failed {
		t.Errorf("1 GB: %.300s", a.text)
	}
	a := call(t, s, "run_query", map[string]any{"sql": "SELECT g FROM generate_series(1, 10000000) g", "limit": 10000})
	if a.failed || a.size > 200<<10 || !strings.Contains(a.text, "there are more") {
		t.Errorf("10^7 rows: %d bytes, %.300s", a.size, a.text)
	}
	waitUntil(t, func() bool {
		return p.query(t, `SELECT pid FROM pg_stat_activity WHERE usename = 'app' AND state = 'active'`) == ""
	}, "the rest is still being made")
	if a := run(t, serve(t, sql.Config{DSN: p.url("poor", quotedPassword)}), `SELECT count(*) FROM (SELECT g, repeat('x', 500) FROM generate_series(1, 1000000) g ORDER BY 2, 1) x`); !a.failed || !strings.Contains(a.text, "temp_file_limit") {
		t.Errorf("no room for temporary files: %.300s", a.text)
	}
	if a := run(t, s, "SELECT 1"); a.failed {
		t.Errorf("afterwards: %s", a.text)
	}
}

func testPostgresTrouble(t *testing.T, p *postgresServer) {
	s := serve(t, sql.Config{DSN: p.dsn})
	bad := serve(t, sql.Config{DSN: p.url("app", "wr0ng-"+quotedPassword)})
	if a := run(t, bad, "SELECT 1"); !a.failed || !strings.Contains(a.text, "password authentication failed") || strings.Contains(a.text, "wr0ng") {
		t.Errorf("a wrong password: %s", a.text)
	}
	ctx, release := context.WithCancel(t.Context())
	released := make(chan struct{})
	go func() {
		defer close(released)
		_, _ = p.admin.Write(ctx, engine.Query{SQL: `DO $$ BEGIN LOCK TABLE people IN ACCESS EXCLUSIVE MODE; PERFORM pg_sleep(600); END $$`}, ignore{})
	}()
	waitUntil(t, func() bool {
		return p.query(t, `SELECT 1 FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND relation = 'people'::regclass`) != ""
	}, "nothing is locked")
	if a := run(t, s, "SELECT count(*) FROM people"); !a.failed || !strings.Contains(a.text, "lock timeout") {
		t.Errorf("locked: %s", a.text)
	}
	release()
	<-released
	if a := run(t, s, "SELECT count(*) FROM people"); a.failed {
		t.Errorf("unlocked: %s", a.text)
	}

	p.service.stop()
	if a := run(t, s, "SELECT 1"); !a.failed || !strings.Contains(a.text, "connect to ") || strings.Contains(a.text, "s3cr3t") {
		t.Errorf("gone: %s", a.text)
	}
	p.start(t)
	if a := run(t, s, "SELECT count(*) FROM people"); a.failed {
		t.Errorf("when it is back: %s", a.text)
	}
}
