//go:build unix

package sql_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/builtin/sql"
	"github.com/tenon-mcp/tenon/builtin/sql/engine"
)

type mariadbServer struct {
	*target
	host    *host
	service *service
	port    string
	program string
	root    *target // without a database
}

func (m *mariadbServer) start(t *testing.T) {
	t.Helper()
	m.service = m.host.start(t, "127.0.0.1:"+m.port, "KILL", m.program, "--no-defaults", "--datadir="+filepath.Join(m.host.dir, "data"), "--socket="+m.socket(),
		"--port="+m.port, "--bind-address=127.0.0.1", "--pid-file="+filepath.Join(m.host.dir, "pid"), "--innodb-flush-log-at-trx-commit=0",
		"--skip-log-bin", "--max-allowed-packet=1G", "--lower-case-table-names=0")
}

func (m *mariadbServer) socket() string { return filepath.Join(m.host.dir, "s") }

func (m *mariadbServer) url(user, password string) string {
	return "mariadb://" + user + ":" + password + "@127.0.0.1:" + m.port + "/shop"
}

func startMariaDB(t *testing.T) *mariadbServer {
	t.Helper()
	m := &mariadbServer{target: &target{name: "mariadb"}, program: find("mariadbd", "/usr/sbin/mariadbd")}
	install := find("mariadb-install-db")
	if m.program == "" || install == "" {
		absent(t, "MariaDB is not installed: apt-get install --no-install-recommends mariadb-server-core mariadb-client-core")
	}
	m.host, m.port = newHost(t), freePort(t)
	m.host.setUp(t, install, "--no-defaults", "--datadir="+filepath.Join(m.host.dir, "data"), "--auth-root-authentication-method=normal", "--skip-test-db")
	m.start(t)
	root, err := engine.Open("mariadb://root@x/mysql?socket="+m.socket(), engine.Options{Writes: true, Privileged: true})
	if err != nil {
		t.Fatal(err)
	}
	m.root = &target{admin: root}
	m.root.exec(t, `CREATE DATABASE shop`, `CREATE USER app@'%' IDENTIFIED BY '`+password+`'`, `GRANT ALL ON shop.* TO app@'%'`,
		`CREATE USER boss@'%' IDENTIFIED BY '`+password+`'`, `GRANT ALL ON *.* TO boss@'%' WITH GRANT OPTION`,
		`CREATE ROLE filer`, `GRANT FILE ON *.* TO filer`, `CREATE USER climber@'%' IDENTIFIED BY '`+password+`'`, `GRANT SELECT ON shop.* TO climber@'%'`,
		`GRANT filer TO climber@'%'`, `SET DEFAULT ROLE filer FOR climber@'%'`)
	m.admin, err = engine.Open("mariadb://root@x/shop?socket="+m.socket(), engine.Options{Writes: true, Privileged: true})
	if err != nil {
		t.Fatal(err)
	}
	m.dsn = m.url("app", quotedPassword)
	m.fresh, m.state = m.reset, m.fingerprint
	return m
}

func (m *mariadbServer) reset(t *testing.T) {
	t.Helper()
	m.root.exec(t, `DROP DATABASE shop`, `CREATE DATABASE shop`)
	owner, err := engine.Open(m.dsn, engine.Options{Writes: true})
	if err != nil {
		t.Fatal(err)
	}
	g := &target{admin: owner}
	g.exec(t, `CREATE TABLE people (id int PRIMARY KEY, name varchar(50) NOT NULL, nick text)`,
		`INSERT INTO people VALUES (1, 'Ada', 'a'), (2, 'Grace', NULL), (3, 'Edsger', '')`,
		`CREATE TABLE orders (id int PRIMARY KEY, person_id int, total decimal(10,2) COMMENT 'in euros' CHECK (total >= 0),
			KEY orders_by_person (person_id), CONSTRAINT fk FOREIGN KEY (person_id) REFERENCES people(id)) COMMENT 'what was bought'`,
		`INSERT INTO orders VALUES (1, 1, 10), (2, 1, 20.5), (3, 2, 0)`,
		`CREATE VIEW totals AS SELECT person_id, sum(total) AS total FROM orders GROUP BY 1`,
		"CREATE TABLE `odd \"table\"` (`half|column` int)", `CREATE TABLE plain (id int) ENGINE=MyISAM`, `INSERT INTO plain VALUES (1)`,
		`CREATE TABLE aria (id int) ENGINE=Aria TRANSACTIONAL=0`, `INSERT INTO aria VALUES (1)`, `CREATE SEQUENCE seq`,
		`CREATE FUNCTION wipe() RETURNS int MODIFIES SQL DATA BEGIN DELETE FROM orders; DELETE FROM plain; RETURN 1; END`,
		`CREATE FUNCTION wipe_freely() RETURNS int MODIFIES SQL DATA BEGIN SET SESSION tx_read_only = 0; DELETE FROM plain; RETURN 1; END`,
		`CREATE PROCEDURE wipe_all() BEGIN COMMIT; SET SESSION tx_read_only = 0; DELETE FROM orders; COMMIT; DROP TABLE plain; END`)
}

func (m *mariadbServer) fingerprint(t *testing.T) string {
	t.Helper()
	state := m.query(t, `SELECT (SELECT group_concat(id, name ORDER BY id) FROM people), (SELECT group_concat(id, total ORDER BY id) FROM orders),
		(SELECT sum(id) FROM plain), (SELECT sum(id) FROM aria), (SELECT next_not_cached_value FROM seq), @@global.max_connections, @@global.read_only,
		(SELECT group_concat(table_name, table_comment ORDER BY table_name) FROM information_schema.tables WHERE table_schema = 'shop'),
		(SELECT group_concat(column_name ORDER BY table_name, column_name) FROM information_schema.columns WHERE table_schema = 'shop'),
		(SELECT group_concat(routine_name ORDER BY routine_name) FROM information_schema.routines WHERE routine_schema = 'shop'),
		(SELECT group_concat(schema_name ORDER BY schema_name) FROM information_schema.schemata), (SELECT group_concat(user ORDER BY user) FROM mysql.user),
		(SELECT group_concat(privilege_type ORDER BY 1) FROM information_schema.schema_privileges)`)
	files, _ := filepath.Glob(filepath.Join(m.host.dir, "*"))
	more, _ := filepath.Glob(filepath.Join(m.host.dir, "data", "*mark*"))
	return state + strings.Join(append(files, more...), " ")
}

func TestMariaDB(t *testing.T) {
	m := startMariaDB(t)
	suite(t, m.target)
	t.Run("comments", func(t *testing.T) {
		a := call(t, serve(t, sql.Config{DSN: m.dsn}), "describe_table", map[string]any{"table": "ORDERS"})
		for _, want := range []string{"what was bought", "total decimal(10,2): in euros", "Check: "} {
			if !strings.Contains(a.text, want) {
				t.Errorf("no %q in %s", want, a.text)
			}
		}
	})
	t.Run("refused", func(t *testing.T) { refused(t, m.target, sql.Config{DSN: m.dsn}, m.refusedStatements()) })
	t.Run("refused with writes", func(t *testing.T) { refused(t, m.target, sql.Config{DSN: m.dsn, Writes: true}, m.refusedStatements()) })
	t.Run("harmless", func(t *testing.T) { harmless(t, m.target, mariadbHarmless) })
	t.Run("accounts", func(t *testing.T) { testMariaDBAccounts(t, m) })
	t.Run("values", func(t *testing.T) { testMariaDBValues(t, m) })
	t.Run("endless", func(t *testing.T) {
		running := func(t *testing.T) string {
			return m.query(t, `SELECT id, info FROM information_schema.processlist WHERE user = 'app' AND command <> 'Sleep'`)
		}
		endless(t, m.target, running, []string{
			`SELECT sleep(1000)`,
			`SELECT count(*) FROM seq_1_to_1000000 a, seq_1_to_1000000 b`,
			`SELECT count(*) FROM information_schema.columns a, information_schema.columns b, information_schema.columns c`,
			`SELECT benchmark(100000000000, md5('x'))`,
		})
	})
	t.Run("large", func(t *testing.T) { testMariaDBLarge(t, m) })
	t.Run("trouble", func(t *testing.T) { testMariaDBTrouble(t, m) })
}

func (m *mariadbServer) refusedStatements() []string {
	marker := filepath.Join(m.host.dir, "data", "marker")
	list := []string{
		// those of the issue and F18
		`SELECT 1; DROP TABLE orders`, `COMMIT; DROP TABLE orders`, `/**/DELETE FROM orders`, `WITH d AS (SELECT 1) DELETE FROM orders`, `DROP TABLE orders`,
		`SELECT 1 INTO OUTFILE 'MARKER'`, `SELECT 'x' INTO DUMPFILE 'MARKER'`, `ANALYZE DELETE FROM orders`, `ANALYZE FORMAT=JSON DELETE FROM orders`, `EXPLAIN DELETE FROM orders`,
		`CREATE TABLE made (a int)`, `ALTER TABLE orders ADD made int`, `TRUNCATE orders`, `RENAME TABLE orders TO made`, `CREATE INDEX made ON orders (total)`,
		// our own
		`DELETE FROM orders RETURNING *`, `INSERT INTO people VALUES (9, 'x', '') RETURNING id`, `REPLACE INTO people VALUES (1, 'x', '')`, `UPDATE plain SET id = 5`, `INSERT INTO plain VALUES (7) RETURNING id`, `UPDATE aria SET id = 5`,
		`BEGIN NOT ATOMIC COMMIT; SET SESSION tx_read_only=0; DROP TABLE orders; END`, `BEGIN NOT ATOMIC DROP TABLE orders; END`, `IF 1 THEN SET SESSION tx_read_only=0; DROP TABLE orders; END IF`,
		`WHILE 1 DO DELETE FROM orders; END WHILE`, `FOR i IN 1..2 DO SET SESSION tx_read_only=0; DROP TABLE orders; END FOR`,
		`SET STATEMENT tx_read_only=0 FOR DROP TABLE orders`, `SET STATEMENT tx_read_only=0 FOR DELETE FROM orders RETURNING *`, `SET STATEMENT tx_read_only=0 FOR OPTIMIZE TABLE plain`, `SET STATEMENT tx_read_only=0 FOR REPAIR TABLE plain USE_FRM`,
		`SET STATEMENT max_statement_time=0 FOR SELECT sleep(1)`, `EXECUTE IMMEDIATE 'DROP TABLE orders'`, `PREPARE x FROM 'DROP TABLE orders'`,
		`CREATE OR REPLACE TABLE orders AS SELECT 1`, `CREATE TEMPORARY TABLE made AS SELECT 1`, `CREATE OR REPLACE VIEW totals AS SELECT 1`, `CREATE DATABASE made`, `DROP DATABASE shop`, `CREATE TRIGGER made AFTER INSERT ON people FOR EACH ROW DELETE FROM orders`,
		`SELECT nextval(seq)`, `SELECT NEXT VALUE FOR seq`, `SELECT setval(seq, 500)`, `ALTER SEQUENCE seq RESTART 9`, `SELECT wipe()`, `SELECT wipe_freely()`, `CALL wipe_all()`, `DO wipe()`, `SET @x = wipe()`,
		`ANALYZE TABLE orders`, `OPTIMIZE TABLE orders`, `REPAIR TABLE plain`, `CHECK TABLE orders`, `LOCK TABLES orders WRITE`, `UNLOCK TABLES`, `FLUSH TABLES`, `FLUSH TABLES WITH READ LOCK`,
		`GRANT SELECT ON shop.* TO made`, `CREATE USER made`, `DROP USER app`, `SET PASSWORD = PASSWORD('x')`, `SET GLOBAL max_connections=10`, `SET SESSION tx_read_only=0`, `SET autocommit=1`, `SET @a=1`,
		`COMMIT`, `ROLLBACK`, `BEGIN`, `START TRANSACTION READ WRITE`, `SET TRANSACTION READ WRITE`, `XA START 'x'`, `SAVEPOINT s`, `SELECT * FROM orders FOR UPDATE`, `SELECT * FROM plain FOR UPDATE`, `SELECT * INTO @x FROM people`,
		`LOAD DATA INFILE '/etc/passwd' INTO TABLE plain`, `LOAD DATA LOCAL INFILE '/etc/passwd' INTO TABLE plain`, `HANDLER orders OPEN`, `KILL 1`, `SHUTDOWN`, `INSTALL SONAME 'x'`, `PURGE BINARY LOGS TO 'x'`, `BACKUP STAGE START`, `RESET MASTER`,
		`CREATE FUNCTION made() RETURNS int RETURN 1`, `DROP FUNCTION wipe`, `/*!DROP TABLE orders*/`, `/*M!100000 DROP TABLE orders*/`, `/*!50000 DELETE FROM orders*/`, `SELECT 1 /*! ; DROP TABLE orders */`, `FORMAT=JSON SELECT 1`, `orders`, `commit`, `help`,
		`INSERT INTO orders SELECT * FROM orders`, `DELETE o FROM orders o JOIN people p ON p.id = o.person_id`, `UPDATE orders, plain SET plain.id = 9`, `DELETE HISTORY FROM orders`, "SELECT 1\x00; DROP TABLE orders", ``, `SELECT * FROM nowhere`, `CACHE INDEX plain IN hot`, `SHOW TABLES`, `CHANGE MASTER TO master_host='x'`,
	}
	for i := range list {
		list[i] = strings.ReplaceAll(list[i], "MARKER", marker)
	}
	return list
}

var mariadbHarmless = []string{
	`SELECT get_lock('made', 1)`, `SELECT get_lock('made', 1)`, `SELECT @x := 5`, `SELECT @x`, `SELECT load_file('/etc/passwd')`, `SELECT last_insert_id(5)`, `SELECT sleep(0)`, `VALUES (1),(2)`, `(SELECT 1) UNION (SELECT 2)`,
	`SELECT * FROM orders LOCK IN SHARE MODE`, `SELECT * FROM orders PROCEDURE analyse()`, `WITH a AS (SELECT 1 AS x) SELECT * FROM a`, `SELECT 'x' AS "DROP TABLE orders"`, `SELECT 1 -- ; DROP TABLE orders`, `SELECT 1 /* ; DROP TABLE orders */`,
	`SELECT version(), current_user()`, `SELECT lastval(seq)`, `SELECT * FROM information_schema.processlist`, `SELECT release_all_locks()`, `SELECT json_object('a', 1)`, `SELECT * FROM seq`, `SELECT 1;`,
}

func testMariaDBAccounts(t *testing.T, m *mariadbServer) {
	wrongLogin(t, m.url("app", "wr0ng"), strings.Replace(m.dsn, "/shop", "/nowhere", 1))
	for _, account := range []string{"boss", "climber"} {
		before := m.state(t)
		s := serve(t, sql.Config{DSN: m.url(account, quotedPassword)})
		a := run(t, s, "SELECT 1 INTO OUTFILE '"+filepath.Join(m.host.dir, "data", "marker")+"'")
		if !a.failed || !strings.Contains(a.text, "FILE privilege") || !strings.Contains(a.text, "GRANT SELECT") {
			t.Errorf("%s: %s", account, a.text)
		}
		if a := run(t, s, "SELECT load_file('/etc/passwd')"); !a.failed {
			t.Errorf("%s reads files: %s", account, a.text)
		}
		if after := m.state(t); after != before {
			t.Errorf("%s changed something", account)
		}
	}
	s := serve(t, sql.Config{DSN: m.url("boss", quotedPassword), Privileged: true})
	if a := run(t, s, "SELECT 1"); a.failed {
		t.Errorf("privileged: %s", a.text)
	}
	for _, statement := range []string{"SHUTDOWN", "SET GLOBAL max_connections=10", "DROP TABLE orders", "DELETE FROM plain", "BEGIN NOT ATOMIC COMMIT; SET SESSION tx_read_only=0; DROP TABLE orders; END"} {
		before := m.state(t)
		if a := run(t, s, statement); !a.failed || m.state(t) != before {
			t.Errorf("privileged: %s: %s", statement, a.text)
		}
	}
}

func testMariaDBValues(t *testing.T, m *mariadbServer) {
	s := serve(t, sql.Config{DSN: m.dsn})
	for query, want := range map[string]string{
		`SELECT NULL, 1, 'x', 1.5e0, 0.1`:                                 `[[null,1,"x",1.5,"0.1"]]`,
		`SELECT 9007199254740993, 18446744073709551615, 9007199254740991`: `[["9007199254740993","18446744073709551615",9007199254740991]]`,
		`SELECT CAST('123456789012345678.123456789' AS decimal(40,9))`:    `[["123456789012345678.123456789"]]`,
		`SELECT x'00ff'`: `[[{"base64":"AP8=","size":2}]]`,
		`SELECT TIMESTAMP'2024-05-01 10:00:00', DATE'2024-05-01', TIME'10:00:00'`: `[["2024-05-01T10:00:00","2024-05-01","10:00:00"]]`,
		`SELECT json_object('a', 1)`:        `[["{\"a\": 1}"]]`,
		`SELECT CAST(0.1 AS float), b'101'`: `[[0.1,{"base64":"BQ==","size":1}]]`,
	} {
		if got := run(t, s, query).rows(t); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
	if got := run(t, s, `SELECT 1 + ?, concat(?, 'x'), length(?)`, 41, "a", map[string]string{"base64": "AP8="}).rows(t); got != `[[42,"ax",2]]` {
		t.Errorf("params: %s", got)
	}
}

func testMariaDBLarge(t *testing.T, m *mariadbServer) {
	s := serve(t, sql.Config{DSN: m.dsn})
	if a := run(t, s, `SELECT repeat('x', 200000000)`); !a.failed || !strings.Contains(a.text, "64 MiB") {
		t.Errorf("200 MB: %.300s", a.text)
	}
	if a := run(t, s, `SELECT repeat('x', 1000000000)`); !a.failed {
		t.Errorf("1 GB: %.300s", a.text)
	}
	a := call(t, s, "run_query", map[string]any{"sql": "SELECT seq FROM seq_1_to_10000000", "limit": 10000})
	if a.failed || a.size > 200<<10 || !strings.Contains(a.text, "there are more") {
		t.Errorf("10^7 rows: %d bytes, %.300s", a.size, a.text)
	}
	waitUntil(t, func() bool {
		return m.query(t, `SELECT id FROM information_schema.processlist WHERE user = 'app' AND command <> 'Sleep'`) == ""
	}, "the rest is still being made")
}

func testMariaDBTrouble(t *testing.T, m *mariadbServer) {
	s := serve(t, sql.Config{DSN: m.dsn})
	bad := serve(t, sql.Config{DSN: m.url("app", "wr0ng-"+quotedPassword)})
	if a := run(t, bad, "SELECT 1"); !a.failed || !strings.Contains(a.text, "Access denied") || strings.Contains(a.text, "wr0ng") {
		t.Errorf("a wrong password: %s", a.text)
	}
	ctx, release := context.WithCancel(t.Context())
	released := make(chan struct{})
	go func() {
		defer close(released)
		_, _ = m.admin.Write(ctx, engine.Query{SQL: `UPDATE people SET nick = sleep(600)`}, ignore{})
	}()
	waitUntil(t, func() bool {
		return m.query(t, `SELECT id FROM information_schema.processlist WHERE state = 'User sleep'`) != ""
	}, "nothing is locked")
	if a := run(t, s, "SELECT * FROM people LOCK IN SHARE MODE"); !a.failed || !strings.Contains(a.text, "Lock wait timeout") {
		t.Errorf("locked: %s", a.text)
	}
	release()
	<-released
	if a := run(t, s, "SELECT count(*) FROM people"); a.failed {
		t.Errorf("unlocked: %s", a.text)
	}

	m.service.stop()
	if a := run(t, s, "SELECT 1"); !a.failed || !strings.Contains(a.text, "connect to ") || strings.Contains(a.text, "s3cr3t") {
		t.Errorf("gone: %s", a.text)
	}
	m.start(t)
	if a := run(t, s, "SELECT count(*) FROM people"); a.failed {
		t.Errorf("when it is back: %s", a.text)
	}
}
