package sql_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/builtin/sql"
	"github.com/tenon-mcp/tenon/client"
)

func queryFile(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "queries.sql")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

const goodQueries = `-- What the shop asks.

-- name: orders_of
-- title: Orders of a person
-- description: The orders of a person,
-- description: the largest first
-- param: person integer  The id of the person
-- param: least number default=0 min=0  The least total
-- param: most integer default=10 min=1 max=100
SELECT id, total -- :comment
FROM orders WHERE person_id = :person AND total >= :least AND ':text' <> '' AND :person = person_id
ORDER BY total DESC LIMIT :most;

-- name: named
-- description: People by name
-- param: name string optional enum=Ada|Grace
SELECT name FROM people WHERE :name IS NULL OR name = :name ORDER BY id

-- name: sly
-- description: Says that it reads
DELETE FROM orders;
`

// S6: the queries of a file are tools: with their own schema, on every engine,
// and read-only by the engine unless they say that they write.
func testQueries(t *testing.T, g *target) {
	text := goodQueries
	if g.name == "postgres" { // it wants to know the type of a parameter that is compared with nothing
		text = strings.ReplaceAll(text, ":name IS NULL", ":name::text IS NULL")
	}
	s := serve(t, sql.Config{DSN: g.dsn, Queries: queryFile(t, text)})
	for _, row := range []struct {
		tool string
		args map[string]any
		want string
	}{
		{"orders_of", map[string]any{"person": 1}, "2 rows"},
		{"orders_of", map[string]any{"person": 1, "least": 15.5}, "1 row"},
		{"orders_of", map[string]any{"person": 1, "most": 1}, "20.5"},
		{"orders_of", map[string]any{}, "person: is required"},
		{"orders_of", map[string]any{"person": "1; DROP TABLE orders"}, "Invalid arguments"},
		{"orders_of", map[string]any{"person": 1, "most": 1000}, "at most 100"},
		{"orders_of", map[string]any{"person": 1, "other": 1}, "other"},
		{"named", map[string]any{"name": "Grace"}, "1 row"},
		{"named", map[string]any{}, "3 rows"},
		{"named", map[string]any{"name": "Eve"}, "Invalid arguments"},
		{"sly", map[string]any{}, "refused"},
	} {
		if a := call(t, s, row.tool, row.args); !strings.Contains(a.text, row.want) {
			t.Errorf("%s %v: %s, want %s", row.tool, row.args, a.text, row.want)
		}
	}
	if got := g.query(t, "SELECT count(*) FROM orders"); got != "[3]\n" {
		t.Errorf("orders: %s", got)
	}
	tools, err := client.All(client.New(s, nil).Tools(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range tools {
		if tool.Name == "orders_of" && (tool.Title != "Orders of a person" || tool.Description != "The orders of a person, the largest first" || !*tool.Annotations.ReadOnlyHint) {
			t.Errorf("%+v", tool)
		}
	}
	w := serve(t, sql.Config{DSN: g.dsn, Writes: true, Queries: queryFile(t, "-- name: cancel\n-- description: Cancel an order\n-- writes: true\n-- param: id integer\nDELETE FROM orders WHERE id = :id;\n")})
	defer g.fresh(t)
	if a := call(t, w, "cancel", map[string]any{"id": 3}); !a.failed || !strings.Contains(a.text, "confirm") {
		t.Errorf("nobody was asked: %s", a.text)
	}
	if a := call(t, w, "cancel", map[string]any{"id": 3, "confirm": true}); a.failed || !strings.Contains(a.text, "1 rows changed") {
		t.Errorf("%s", a.text)
	}
	if got := g.query(t, "SELECT count(*) FROM orders"); got != "[2]\n" {
		t.Errorf("orders: %s", got)
	}
}

// S6: a mistake in a file is told when it is read, with line and column, and all
// of them at once.
func TestQueryFileMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"":                    ":1:1: no query found",
		"SELECT 1":            ":1:1: text outside a query",
		"-- param: a integer": ":1:4: param is outside a query",
		"-- name: a b\n-- description: x\nSELECT 1":                                         `:1:10: "a b" is not a valid tool name`,
		"-- name: a\n-- description: x":                                                     `:1:1: query "a" has no statement`,
		"-- name: a\nSELECT 1":                                                              `:1:1: query "a" has no description`,
		"-- name: a\n-- description: x\nSELECT 1\n-- title: late":                           ":4:4: title must come before",
		"-- name: a\n-- description: x\nSELECT :b":                                          ":3:8: parameter :b is not declared",
		"-- name: a\n-- description: x\n-- param: b integer\nSELECT 1":                      `:1:1: query "a" declares parameter b`,
		"-- name: a\n-- description: x\n-- param: b int\nSELECT :b":                         `:3:13: the type of b must be`,
		"-- name: a\n-- description: x\n-- param: b integer default=x\nSELECT :b":           `:3:21: "x" is not a valid integer`,
		"-- name: a\n-- description: x\n-- param: confirm integer\nSELECT :confirm":         ":3:11: confirm is reserved",
		"-- name: a\n-- description: x\nSELECT 1;\n\nSELECT 2":                              ":3:10: a query must be one statement",
		"-- name: a\n-- description: x\nSELECT\n  'open":                                    ":4:3: unterminated string, quoted name or comment",
		"-- name: a\n-- description: x\nSELECT ?":                                           ":3:8: use named parameters",
		"-- name: a\n-- description: x\n-- writes: maybe\nSELECT 1":                         ":3:12: writes must be",
		"-- name: a\n-- description: x\nSELECT 1;\n-- name: a\n-- description: x\nSELECT 1": `:4:10: duplicate query "a"`,
		"-- name: run_query\n-- description: x\nSELECT 1":                                   ":1:1: run_query is a tool of the server",
		"-- name: a\n-- description: x\n-- writes: true\nDELETE FROM people":                ":1:1: query \"a\" writes, but the server is read-only",
		"-- name: 1\nSELECT :b":                                                             ":2:8: parameter :b is not declared",
	} {
		_, err := sql.New(sql.Config{DSN: filepath.Join(t.TempDir(), "x.db"), Queries: queryFile(t, text)})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	if _, err := sql.New(sql.Config{DSN: "x.db", Queries: "/no/such/file.sql"}); err == nil || !strings.Contains(err.Error(), "/no/such/file.sql") {
		t.Error(err)
	}
}
