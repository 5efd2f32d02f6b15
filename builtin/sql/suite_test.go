package sql_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/builtin/sql"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/mcptest"
)

// suite is what every engine must do alike.
func suite(t *testing.T, g *target) {
	g.fresh(t)
	t.Run("tables", func(t *testing.T) { testTables(t, g) })
	t.Run("search", func(t *testing.T) { testSearch(t, g) })
	t.Run("queries", func(t *testing.T) { testQueries(t, g) })
	t.Run("params", func(t *testing.T) { testParams(t, g) })
	t.Run("pages", func(t *testing.T) { testPages(t, g) })
	t.Run("eras", func(t *testing.T) { testEras(t, g) })
	t.Run("writes", func(t *testing.T) { testWrites(t, g) })
}

func testTables(t *testing.T, g *target) {
	s := serve(t, sql.Config{DSN: g.dsn})
	list := call(t, s, "list_tables", map[string]any{})
	for _, want := range []string{"people (table, about ", "orders (table", "totals (view)"} {
		if !strings.Contains(list.text, want) {
			t.Errorf("list_tables has no %q:\n%s", want, list.text)
		}
	}
	if a := call(t, s, "list_tables", map[string]any{"contains": "PEOP"}); strings.Contains(a.text, "orders") || !strings.Contains(a.text, "people") {
		t.Errorf("contains: %s", a.text)
	}
	a := call(t, s, "describe_table", map[string]any{"table": "orders", "sample": 2})
	for _, want := range []string{"id ", "primary key", "Foreign key: person_id → people(id)", "orders_by_person: person_id", "Sample:", "2 rows"} {
		if !strings.Contains(a.text, want) {
			t.Errorf("describe_table has no %q:\n%s", want, a.text)
		}
	}
	if a := call(t, s, "describe_table", map[string]any{"table": "totals"}); !strings.Contains(strings.ToLower(a.text), "definition:") {
		t.Errorf("the view has no definition:\n%s", a.text)
	}
	if a := call(t, s, "describe_table", map[string]any{"table": "peopel"}); !a.failed || !strings.Contains(a.text, "people") {
		t.Errorf("an unknown table: %s", a.text)
	}
	if a := call(t, s, "describe_table", map[string]any{"table": `x"; DROP TABLE people; --`}); !a.failed {
		t.Errorf("a name that is a statement: %s", a.text)
	}
	read := func(uri string) string {
		params, _ := json.Marshal(map[string]string{"uri": uri})
		res, err := s.Serve(t.Context(), &mcp.Call{Method: mcp.MethodResourcesRead, Params: params})
		if err != nil {
			return err.Error()
		}
		return string(res.Body)
	}
	if got := read("db://schema"); !strings.Contains(got, "db://schema/people") {
		t.Errorf("db://schema: %s", got)
	}
	if got := read("db://schema/people"); !strings.Contains(got, "name") || !strings.Contains(got, "not null") {
		t.Errorf("db://schema/people: %s", got)
	}
	if got := read("db://schema/odd%20%22table%22"); !strings.Contains(got, "half|column") && !strings.Contains(got, `half\\|column`) {
		t.Errorf("a table with an odd name: %s", got)
	}
	if got := read("db://schema/nothing"); !strings.Contains(got, "no resource has the URI") {
		t.Errorf("a table that is not there: %s", got)
	}
	res, err := s.Serve(t.Context(), &mcp.Call{Method: mcp.MethodResourcesList})
	if err != nil || !strings.Contains(string(res.Body), `"db://schema/orders"`) {
		t.Errorf("resources/list: %s, %v", res.Body, err)
	}
	res, err = s.Serve(t.Context(), &mcp.Call{Method: mcp.MethodComplete, Params: json.RawMessage(
		`{"ref":{"type":"ref/resource","uri":"db://schema/{table}"},"argument":{"name":"table","value":"PEO"}}`)})
	if err != nil || !strings.Contains(string(res.Body), `"people"`) {
		t.Errorf("completion: %s, %v", res.Body, err)
	}
	res, err = s.Serve(t.Context(), &mcp.Call{Method: mcp.MethodPromptsGet, Params: json.RawMessage(`{"name":"explore_schema","arguments":{"focus":"sales"}}`)})
	if err != nil || !strings.Contains(string(res.Body), "db://schema/people") {
		t.Errorf("prompt: %s, %v", res.Body, err)
	}
}

// S6: columns, indexes, routines and triggers are found by a part of their name.
func testSearch(t *testing.T, g *target) {
	s := serve(t, sql.Config{DSN: g.dsn})
	search := func(args map[string]any) string {
		t.Helper()
		a := call(t, s, "search_schema", args)
		if a.failed {
			t.Error(a.text)
		}
		return a.text
	}
	for _, want := range []string{"column orders.person_id int", "column totals.person_id", "index orders.orders_by_person "} {
		if got := search(map[string]any{"contains": "PERSON"}); !strings.Contains(got, want) {
			t.Errorf("%s is missing in %s", want, got)
		}
	}
	if got := search(map[string]any{"contains": "person", "kind": "index"}); strings.Contains(got, "column") || !strings.Contains(got, "index") {
		t.Errorf("one kind: %s", got)
	}
	if got := search(map[string]any{"contains": "person", "table": "totals"}); strings.Contains(got, "orders.") || !strings.Contains(got, "totals.person_id") {
		t.Errorf("one table: %s", got)
	}
	if got := search(map[string]any{"contains": "%"}); strings.Contains(got, "person_id") {
		t.Errorf("a sign of a pattern: %s", got)
	}
	if got := search(map[string]any{"contains": "d", "limit": 1}); !strings.Contains(got, "There are more of kind column") {
		t.Errorf("a limit: %s", got)
	}
	if got := search(map[string]any{"contains": "x'; DROP TABLE people; --"}); !strings.Contains(got, "Nothing found") {
		t.Errorf("a statement: %s", got)
	}
	routines := map[string][]string{
		"sqlite":   {`CREATE TRIGGER refund_log AFTER DELETE ON orders BEGIN SELECT 1; END`},
		"postgres": {`CREATE FUNCTION refund_of(order_id int) RETURNS numeric LANGUAGE sql AS 'SELECT 1.0'`, `COMMENT ON FUNCTION refund_of IS 'what is paid back'`},
		"mariadb":  {"CREATE FUNCTION refund_of(order_id INT) RETURNS DECIMAL(10,2) DETERMINISTIC COMMENT 'what is paid back' RETURN 1.0"},
	}[g.name]
	want := map[string]string{"sqlite": "trigger orders.refund_log CREATE TRIGGER", "postgres": "routine refund_of (order_id integer) returns numeric: what is paid back",
		"mariadb": "routine refund_of function (order_id int(11)) returns decimal(10,2): what is paid back"}[g.name]
	g.exec(t, routines...)
	defer g.fresh(t)
	if got := search(map[string]any{"contains": "Refund"}); !strings.Contains(got, want) {
		t.Errorf("%s is missing in %s", want, got)
	}
}

func testParams(t *testing.T, g *target) {
	s := serve(t, sql.Config{DSN: g.dsn})
	mark := "?"
	if g.name == "postgres" {
		mark = "$1"
	}
	rows := run(t, s, "SELECT name FROM people WHERE id = "+mark, 2).rows(t)
	if rows != `[["Grace"]]` {
		t.Errorf("an integer: %s", rows)
	}
	if rows := run(t, s, "SELECT id FROM people WHERE name = "+mark, "x'; DROP TABLE people; --").rows(t); rows != `[]` {
		t.Errorf("a text that is a statement: %s", rows)
	}
	if rows := run(t, s, "SELECT id FROM people WHERE nick IS NULL AND name = "+mark, "Grace").rows(t); rows != `[[2]]` {
		t.Errorf("a text: %s", rows)
	}
	if rows := run(t, s, "SELECT "+mark, json.RawMessage("9007199254740993")).rows(t); rows != `[["9007199254740993"]]` {
		t.Errorf("a large integer: %s", rows)
	}
	if rows := run(t, s, "SELECT "+mark, nil).rows(t); rows != `[[null]]` {
		t.Errorf("null: %s", rows)
	}
	for _, n := range []int{0, 2} {
		if a := run(t, s, "SELECT "+mark, make([]any, n)...); !a.failed || !strings.Contains(a.text, "1 placeholders") {
			t.Errorf("%d params: %s", n, a.text)
		}
	}
}

// numbered is a query with n rows, 1 to n.
func numbered(n int) string {
	return fmt.Sprintf("WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < %d) SELECT i FROM c ORDER BY i", n)
}

func testPages(t *testing.T, g *target) {
	s := serve(t, sql.Config{DSN: g.dsn, MaxRows: 50, MaxBytes: 4096})
	var got []string
	offset := 0
	for range 20 {
		a := call(t, s, "run_query", map[string]any{"sql": numbered(120), "limit": 1000, "offset": offset})
		var r struct {
			Rows [][]json.Number `json:"rows"`
			Next int             `json:"nextOffset"`
		}
		if err := json.Unmarshal(a.structured, &r); err != nil {
			t.Fatal(err, a.text)
		}
		for _, row := range r.Rows {
			got = append(got, row[0].String())
		}
		if offset = r.Next; offset == 0 {
			break
		}
		if !strings.Contains(a.text, fmt.Sprintf("offset %d", offset)) {
			t.Errorf("the text does not say how to go on: %s", a.text)
		}
	}
	if len(got) != 120 || got[0] != "1" || got[119] != "120" {
		t.Errorf("%d rows in all pages: %v", len(got), got)
	}
	wide := "SELECT " + map[string]string{"sqlite": "printf('%.*c', 3000, 'x')", "postgres": "repeat('x', 3000)", "mariadb": "repeat('x', 3000)"}[g.name] + " FROM people"
	a := call(t, s, "run_query", map[string]any{"sql": wide})
	if a.size > 3*4096 || !strings.Contains(a.text, "3000 characters") || !strings.Contains(a.text, "substr") {
		t.Errorf("%d bytes: %s", a.size, a.text)
	}
	for format, without := range map[string]string{"table": `"rows"`, "rows": `id`} {
		a := call(t, s, "run_query", map[string]any{"sql": "SELECT id FROM people", "format": format})
		if format == "table" && strings.Contains(string(a.structured), without) || format == "rows" && strings.Contains(a.text, without) {
			t.Errorf("%s: %s %s", format, a.text, a.structured)
		}
	}
	if a := call(t, s, "run_query", map[string]any{"sql": "SELECT id FROM people", "offset": 99}); !strings.Contains(a.text, "has only 3 rows") {
		t.Errorf("beyond the end: %s", a.text)
	}
	if a := call(t, s, "run_query", map[string]any{"sql": "SELECT * FROM people WHERE id = 1", "explain": true}); a.failed || !strings.Contains(strings.ToLower(a.text), "people") {
		t.Errorf("explain: %s", a.text)
	}
}

func testEras(t *testing.T, g *target) {
	s := serve(t, sql.Config{DSN: g.dsn, Writes: true})
	mcptest.EveryEra(t, s, func(t *testing.T, h mcp.Handler) {
		if a := run(t, h, "SELECT id, name FROM people ORDER BY id"); a.failed || !strings.Contains(a.text, "1 | Ada") {
			t.Errorf("run_query: %s", a.text)
		}
		if a := run(t, h, "DELETE FROM people"); !a.failed || !strings.Contains(a.text, "refused") {
			t.Errorf("run_query that deletes: %s", a.text)
		}
		if a := call(t, h, "describe_table", map[string]any{"table": "people"}); a.failed || !strings.Contains(a.text, "name") {
			t.Errorf("describe_table: %s", a.text)
		}
	})
}

func testWrites(t *testing.T, g *target) {
	defer g.fresh(t)
	reading := serve(t, sql.Config{DSN: g.dsn})
	if a := call(t, reading, "run_statement", map[string]any{"sql": "DELETE FROM orders", "confirm": true}); !a.failed || !strings.Contains(a.text, "unknown tool") {
		t.Errorf("without writes: %s", a.text)
	}
	s := serve(t, sql.Config{DSN: g.dsn, Writes: true})
	before := g.state(t)
	if a := call(t, s, "run_statement", map[string]any{"sql": "DELETE FROM orders"}); !a.failed || !strings.Contains(a.text, `"confirm": true`) {
		t.Errorf("a client that cannot ask: %s", a.text)
	}
	c := &mcp.Call{Method: mcp.MethodToolsCall, Params: json.RawMessage(`{"name":"run_statement","arguments":{"sql":"DELETE FROM orders WHERE id = 1","confirm":true}}`)}
	c.Caller.Capabilities = &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapability{}}
	for _, no := range []string{`{"action":"decline"}`, `{"action":"cancel"}`, `{"action":"accept","content":{"run":false}}`} {
		h := mcp.HandleInput(s, func(context.Context, *mcp.Call, string, mcp.InputRequest) (json.RawMessage, error) {
			return json.RawMessage(no), nil
		}, 0)
		res, err := h.Serve(t.Context(), c)
		if err != nil || !strings.Contains(string(res.Body), `"isError":true`) {
			t.Errorf("%s: %s, %v", no, res.Body, err)
		}
	}
	if after := g.state(t); after != before {
		t.Fatalf("something was done without a yes:\n%s\nbefore:\n%s", after, before)
	}
	asked := ""
	h := mcp.HandleInput(s, func(_ context.Context, _ *mcp.Call, _ string, q mcp.InputRequest) (json.RawMessage, error) {
		asked = string(q.Params)
		return json.RawMessage(`{"action":"accept","content":{"run":true}}`), nil
	}, 0)
	res, err := h.Serve(t.Context(), c)
	if err != nil || !strings.Contains(string(res.Body), `"changedRows":1`) || !strings.Contains(asked, "DELETE FROM orders WHERE id = 1") {
		t.Errorf("with a yes: %s, %v; asked %s", res.Body, err, asked)
	}
	insert := "INSERT INTO orders (id, person_id, total) VALUES (?, ?, ?)"
	if g.name == "postgres" {
		insert = "INSERT INTO orders (id, person_id, total) VALUES ($1, $2, $3)"
	}
	if a := call(t, s, "run_statement", map[string]any{"sql": insert, "params": []any{77, 1, "12.50"}, "confirm": true}); a.failed {
		t.Errorf("insert: %s", a.text)
	}
	if a := call(t, s, "run_statement", map[string]any{"sql": insert, "params": []any{78, 999, "1"}, "confirm": true}); !a.failed {
		t.Errorf("a foreign key that names nobody: %s", a.text)
	}
	if a := call(t, s, "run_statement", map[string]any{"sql": "DELETE FROM orders WHERE id = 77 RETURNING id", "confirm": true}); a.failed || !strings.Contains(string(a.structured), `[[77]]`) {
		t.Errorf("returning: %s", a.text)
	}
	if a := call(t, s, "run_statement", map[string]any{"sql": "DELETE FROM orders; DELETE FROM people", "confirm": true}); !a.failed {
		t.Errorf("two statements: %s", a.text)
	}
	if a := call(t, s, "run_statement", map[string]any{"sql": "CREATE TABLE made (id int)", "confirm": true}); a.failed {
		t.Errorf("create: %s", a.text)
	}
	if a := call(t, s, "list_tables", map[string]any{}); !strings.Contains(a.text, "made") {
		t.Errorf("the new table: %s", a.text)
	}
}

// refused runs statements that must not do anything, and looks after each
// whether anything was done.
func refused(t *testing.T, g *target, c sql.Config, statements []string) {
	t.Helper()
	g.fresh(t)
	s := serve(t, c)
	before := g.state(t)
	for _, statement := range statements {
		for _, explain := range []bool{false, true} {
			a := call(t, s, "run_query", map[string]any{"sql": statement, "explain": explain, "timeoutSeconds": 10})
			if !a.failed && !explain {
				t.Errorf("not refused: %s\n%s", statement, a.text)
			}
			if after := g.state(t); after != before {
				t.Fatalf("%s (explain %v) changed something:\n%s\nbefore:\n%s\nanswer: %s", statement, explain, after, before, a.text)
			}
		}
	}
	if a := run(t, s, "SELECT count(*) FROM people"); a.rows(t) != "[[3]]" {
		t.Errorf("afterwards: %s", a.text)
	}
}

// harmless runs statements that may be answered, but must leave nothing.
func harmless(t *testing.T, g *target, statements []string) {
	t.Helper()
	g.fresh(t)
	s := serve(t, sql.Config{DSN: g.dsn})
	before := g.state(t)
	for _, statement := range statements {
		a := call(t, s, "run_query", map[string]any{"sql": statement, "timeoutSeconds": 10})
		t.Logf("%-80s %.90q", statement, a.text)
		if after := g.state(t); after != before {
			t.Fatalf("%s changed something:\n%s\nbefore:\n%s\nanswer: %s", statement, after, before, a.text)
		}
	}
}

// endless runs statements that would go on for ever, and looks whether the
// engine still works on them afterwards.
func endless(t *testing.T, g *target, running func(t *testing.T) string, statements []string) {
	t.Helper()
	s := serve(t, sql.Config{DSN: g.dsn})
	if a := run(t, s, "SELECT 1"); a.failed { // so that the second below is one of running, not of connecting
		t.Fatal(a.text)
	}
	for _, statement := range statements {
		a := call(t, s, "run_query", map[string]any{"sql": statement, "timeoutSeconds": 1})
		if !a.failed || !strings.Contains(a.text, "timed out") {
			t.Errorf("%s: %.300s", statement, a.text)
		}
		waitUntil(t, func() bool { return running(t) == "" }, "the engine goes on with: "+statement)

		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(300*time.Millisecond, cancel) // while it is running, or before: both must end it
		if a := callWithin(ctx, t, s, "run_query", map[string]any{"sql": statement}); !a.failed {
			t.Errorf("cancelled: %s: %.300s", statement, a.text)
		}
		cancel()
		waitUntil(t, func() bool { return running(t) == "" }, "the engine goes on after its caller left with: "+statement)
		if a := run(t, s, "SELECT count(*) FROM people"); a.rows(t) != "[[3]]" {
			t.Errorf("afterwards: %s", a.text)
		}
	}
}

func waitUntil(t *testing.T, done func() bool, why string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal(why)
		}
	}
}
