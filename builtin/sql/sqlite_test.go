package sql_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tenon-mcp/tenon/builtin/sql"
	"github.com/tenon-mcp/tenon/builtin/sql/engine"
	"github.com/tenon-mcp/tenon/mcp"
)

func sqliteTarget(t *testing.T) *target {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "shop.db")
	admin, err := engine.Open(file, engine.Options{Writes: true})
	if err != nil {
		t.Fatal(err)
	}
	g := &target{name: "sqlite", dsn: file, admin: admin}
	g.fresh = func(t *testing.T) {
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		g.exec(t, `CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT NOT NULL, nick TEXT)`,
			`INSERT INTO people VALUES (1, 'Ada', 'a'), (2, 'Grace', NULL), (3, 'Edsger', '')`,
			`CREATE TABLE orders (id INTEGER PRIMARY KEY, person_id INT REFERENCES people(id), total DECIMAL(10,2) CHECK (total >= 0)) -- what was bought`,
			`INSERT INTO orders VALUES (1, 1, 10), (2, 1, 20.5), (3, 2, 0)`,
			`CREATE INDEX orders_by_person ON orders (person_id)`,
			`CREATE VIEW totals AS SELECT person_id, sum(total) AS total FROM orders GROUP BY 1`,
			`CREATE TABLE "odd ""table""" ("half|column" INT)`,
			`CREATE VIRTUAL TABLE notes USING fts5(body)`, `INSERT INTO notes VALUES ('hello world')`)
	}
	g.state = func(t *testing.T) string {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		files, _ := filepath.Glob(filepath.Join(dir, "*"))
		return fmt.Sprintf("%x %v", sha256.Sum256(raw), files)
	}
	t.Chdir(dir) // where statements with relative names would leave something
	return g
}

func TestSQLite(t *testing.T) {
	g := sqliteTarget(t)
	suite(t, g)
	t.Run("refused", func(t *testing.T) { refused(t, g, sql.Config{DSN: g.dsn}, sqliteRefused) })
	// A server that may write still reads with run_query.
	t.Run("refused with writes", func(t *testing.T) { refused(t, g, sql.Config{DSN: g.dsn, Writes: true}, sqliteRefused) })
	t.Run("allowed", func(t *testing.T) { testSQLiteAllowed(t, g) })
	t.Run("values", func(t *testing.T) { testSQLiteValues(t, g) })
	t.Run("endless", func(t *testing.T) {
		endless(t, g, func(*testing.T) string { return "" }, []string{
			`WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT count(*) FROM c`,
			`WITH n(i) AS (SELECT value FROM json_each('[' || substr(replace(hex(zeroblob(5000)), '00', ',1'), 2) || ']')) SELECT count(*) FROM n a, n b, n c`,
		})
	})
	t.Run("progress", func(t *testing.T) {
		var notes atomic.Int32
		c := &mcp.Call{Method: mcp.MethodToolsCall, Progress: true, OnNotification: func(n mcp.Notification) { notes.Add(1) },
			Params: []byte(`{"name":"run_query","arguments":{"timeoutSeconds":5,"sql":"WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT count(*) FROM c"}}`)}
		if _, err := serve(t, sql.Config{DSN: g.dsn}).Serve(t.Context(), c); err != nil || notes.Load() == 0 {
			t.Errorf("%d signs of life, %v", notes.Load(), err)
		}
	})
	t.Run("large", func(t *testing.T) { testSQLiteLarge(t, g) })
	t.Run("trouble", func(t *testing.T) { testSQLiteTrouble(t, g) })
}

var sqliteRefused = []string{
	// those of the issue and F18
	`SELECT 1; DROP TABLE people`, `COMMIT; DROP TABLE people`, `/**/DELETE FROM people`,
	`WITH d AS (SELECT 1) DELETE FROM people RETURNING *`, `WITH d AS (DELETE FROM people RETURNING *) SELECT * FROM d`,
	`PRAGMA writable_schema=1`, `PRAGMA query_only=0`, `ATTACH 'marker.db' AS y`, `ATTACH DATABASE ':memory:' AS y`,
	`VACUUM INTO 'marker.db'`, `SELECT load_extension('x')`, `EXPLAIN QUERY PLAN DELETE FROM people`,
	// our own
	`DROP TABLE people`, `DELETE FROM people`, `UPDATE people SET name = 'x' RETURNING *`, `INSERT INTO people VALUES (9, 'x', 'y')`,
	`REPLACE INTO people VALUES (1, 'x', 'y')`, `CREATE TABLE t (a)`, `CREATE TEMP TABLE t (a)`, `CREATE TEMP VIEW v AS SELECT 1`,
	`CREATE TRIGGER tr AFTER INSERT ON people BEGIN DELETE FROM people; END`, `CREATE VIRTUAL TABLE v USING fts5(a)`,
	`ALTER TABLE people RENAME TO folk`, `ALTER TABLE people DROP COLUMN nick`, `REINDEX`, `ANALYZE`, `VACUUM`,
	`BEGIN`, `BEGIN IMMEDIATE`, `BEGIN EXCLUSIVE`, `COMMIT`, `ROLLBACK`, `SAVEPOINT s`, `RELEASE s`, `DETACH main`,
	`PRAGMA journal_mode=WAL`, `PRAGMA journal_mode=DELETE`, `PRAGMA user_version=7`, `PRAGMA application_id=7`, `PRAGMA foreign_keys=0`,
	`PRAGMA temp_store_directory='.'`, `PRAGMA locking_mode=EXCLUSIVE`, `PRAGMA schema_version=99`, `PRAGMA encoding='UTF-16'`,
	`PRAGMA mmap_size=1000000`, `PRAGMA cache_size=1000000`, `PRAGMA hard_heap_limit=1`, `PRAGMA wal_checkpoint(TRUNCATE)`,
	`PRAGMA incremental_vacuum`, `PRAGMA optimize`, `PRAGMA auto_vacuum=1`, `PRAGMA page_size=512`, `PRAGMA trusted_schema=1`,
	`SELECT fts3_tokenizer('simple', x'00')`, `SELECT writefile('marker', 'x')`, `SELECT readfile('/etc/passwd')`,
	`INSERT INTO notes(notes) VALUES ('rebuild')`, `INSERT INTO notes_data VALUES (1, x'00')`, `DELETE FROM sqlite_schema`,
	`SELECT 1; SELECT 2`, `SELECT 1;;;DELETE FROM people`, "SELECT 1; -- x\nDELETE FROM people", `SELECT 1 /* */ ; /* */ PRAGMA query_only=0`,
	`SELECT * FROM pragma_query_only(0)`, `SELECT * FROM pragma_journal_mode('WAL')`, ``, `-- nothing`, `;`,
	"SELECT 1\x00; DROP TABLE people", `.shell touch marker`, `SELECT * FROM nowhere`,
}

func testSQLiteAllowed(t *testing.T, g *target) {
	s := serve(t, sql.Config{DSN: g.dsn})
	for _, statement := range []string{
		`SELECT 1;`, "SELECT 1 ; -- the end", `WITH a AS (SELECT 1 AS x) SELECT x FROM a`, `VALUES (1), (2)`,
		`SELECT * FROM notes WHERE notes MATCH 'hello'`, `PRAGMA table_info(people)`, `SELECT name FROM pragma_table_info('people')`,
		`SELECT value FROM json_each('[1,2]')`, `EXPLAIN QUERY PLAN SELECT * FROM people`, `EXPLAIN SELECT 1`, `PRAGMA user_version`, `PRAGMA integrity_check`,
		`SELECT name, row_number() OVER (ORDER BY id) FROM people`, `SELECT name FROM people WHERE name LIKE 'A%' UNION SELECT 'delete from people'`,
		`SELECT * FROM totals`, `SELECT sql FROM sqlite_schema`, `SELECT strftime('%Y', 'now'), random(), hex(randomblob(4))`,
	} {
		if a := run(t, s, statement); a.failed {
			t.Errorf("%s: %s", statement, a.text)
		}
	}
}

func testSQLiteValues(t *testing.T, g *target) {
	s := serve(t, sql.Config{DSN: g.dsn})
	for query, want := range map[string]string{
		`SELECT NULL, 1, -1.5, 'x', ''`:                          `[[null,1,-1.5,"x",""]]`,
		`SELECT 9007199254740991, 9007199254740992`:              `[[9007199254740991,"9007199254740992"]]`,
		`SELECT -9223372036854775808`:                            `[["-9223372036854775808"]]`,
		`SELECT 9e999, -9e999`:                                   `[["Infinity","-Infinity"]]`,
		`SELECT x'00ff'`:                                         `[[{"base64":"AP8=","size":2}]]`,
		`SELECT CAST(x'ff' AS TEXT)`:                             `[[{"base64":"/w==","size":1}]]`,
		`SELECT 'a|b' || char(10) || char(27) || '[31m', '<b>&'`: `[["a|b\n\u001b[31m","<b>&"]]`,
		`SELECT 0.1, 1e300, 1e21`:                                `[[0.1,1e+300,1e+21]]`,
	} {
		if got := run(t, s, query).rows(t); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
	a := run(t, s, `SELECT 'a|b' || char(10) || char(27) || '[31m' AS t, NULL AS n, 'NULL' AS m, x'0001' AS b, '' AS e`)
	if want := "t | n | m | b | e\na\\|b\\n\\u001b[31m | NULL | 'NULL' | \\x0001 | ''\n1 row."; a.text != want {
		t.Errorf("table:\n%q, want\n%q", a.text, want)
	}
	for _, row := range []struct {
		param any
		want  string
	}{
		{1, "integer"}, {1.5, "real"}, {"1", "text"}, {nil, "null"}, {true, "integer"}, {map[string]string{"base64": "AP8="}, "blob"}, {[]int{1}, "text"},
	} {
		if got := run(t, s, "SELECT typeof(?)", row.param).rows(t); got != `[["`+row.want+`"]]` {
			t.Errorf("%v is %s, want %s", row.param, got, row.want)
		}
	}
}

func testSQLiteLarge(t *testing.T, g *target) {
	s := serve(t, sql.Config{DSN: g.dsn})
	if a := run(t, s, `SELECT zeroblob(1000000000)`); !a.failed || !strings.Contains(a.text, "too big") {
		t.Errorf("1 GB: %.300s", a.text)
	}
	if a := run(t, s, `SELECT zeroblob(1000000)`); a.failed || !strings.Contains(a.text, "(1000000 bytes)") || a.size > 128<<10 {
		t.Errorf("1 MB: %d bytes, %.300s", a.size, a.text)
	}
	a := call(t, s, "run_query", map[string]any{"sql": numbered(10_000_000)[:len(numbered(10_000_000))-len(" ORDER BY i")], "limit": 10000})
	if a.failed || a.size > 200<<10 || !strings.Contains(a.text, "there are more") {
		t.Errorf("10^7 rows: %d bytes, %.300s", a.size, a.text)
	}
}

func testSQLiteTrouble(t *testing.T, g *target) {
	s := serve(t, sql.Config{DSN: g.dsn, Writes: true})
	fine := func(when string) {
		t.Helper()
		if a := run(t, s, "SELECT count(*) FROM people"); a.failed || a.rows(t) != "[[3]]" {
			t.Errorf("%s: %s", when, a.text)
		}
	}
	g.fresh(t)
	fine("at first")

	raw, err := os.ReadFile(g.dsn)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(g.dsn); err != nil {
		t.Fatal(err)
	}
	if a := run(t, s, "SELECT 1"); !a.failed || !strings.Contains(a.text, "open shop.db: ") || strings.Contains(a.text, "later") {
		t.Errorf("gone: %s", a.text)
	}
	if _, err := os.Stat(g.dsn); err == nil {
		t.Error("a file that was gone has been made")
	}
	if err := os.WriteFile(g.dsn, []byte(strings.Repeat("this is not a database", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	if a := run(t, s, "SELECT * FROM people"); !a.failed || !strings.Contains(a.text, "not a database") {
		t.Errorf("garbage: %s", a.text)
	}
	if err := os.WriteFile(g.dsn, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	fine("when it is back")

	unlock := lockSQLite(t, g.dsn)
	if a := run(t, s, "SELECT * FROM people"); !a.failed || !strings.Contains(a.text, "holds a lock") {
		t.Errorf("locked: %s", a.text)
	}
	unlock()
	fine("when it is unlocked")
}

// S3: how many rows there are is not told by a key that may be anything.
func TestSQLiteRowEstimate(t *testing.T) {
	g := sqliteTarget(t)
	g.fresh(t)
	g.exec(t, `CREATE TABLE sparse (id INTEGER PRIMARY KEY)`, `INSERT INTO sparse VALUES (9007199254745993), (-5)`,
		`CREATE TABLE keyed (k TEXT PRIMARY KEY) WITHOUT ROWID`, `INSERT INTO keyed VALUES ('a'), ('b'), ('c')`,
		`CREATE TABLE many (id INTEGER PRIMARY KEY)`,
		`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10500) INSERT INTO many SELECT i FROM n`)
	s := serve(t, sql.Config{DSN: g.dsn})
	got := call(t, s, "list_tables", map[string]any{}).text
	for _, want := range []string{"sparse (table, about 2 rows)", "keyed (table, about 3 rows)", "many (table, more than 10000 rows)", "people (table, about 3 rows)"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is missing in %s", want, got)
		}
	}
	g.exec(t, `ANALYZE`)
	if got := call(t, s, "list_tables", map[string]any{}).text; !strings.Contains(got, "many (table, about 10500 rows)") {
		t.Errorf("after ANALYZE: %s", got)
	}
}
