//go:build unix

package sql_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/builtin/sql"
	"github.com/tenon-mcp/tenon/builtin/sql/engine"
	"github.com/tenon-mcp/tenon/mcp"
)

// made is a database that returns what it is told to.
type made struct {
	engine.Database
	columns []engine.Column
	row     []any
	tables  []engine.Table
}

// within registers a made database and serves it.
func within(t *testing.T, m made) answerer {
	t.Helper()
	sqlite, err := engine.Open(sqliteTarget(t).dsn, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m.Database = sqlite
	scheme := "made-" + strings.ToLower(strings.NewReplacer("/", "-", "_", "-").Replace(t.Name()))
	engine.Register(func(string, engine.Options) (engine.Database, error) { return m, nil }, scheme)
	h := serve(t, sql.Config{DSN: scheme + "://x"})
	return func(tool string, args any) answer { return call(t, h, tool, args) }
}

type answerer func(tool string, args any) answer

// These hide the methods of SQLite that the tests below are not about.
func (m made) Read(_ context.Context, _ engine.Query, to engine.Sink) error {
	if err := to.Columns(m.columns); err != nil {
		return err
	}
	return to.Row(m.row)
}
func (m made) Tables(context.Context) ([]engine.Table, error) {
	var all []engine.Table
	for _, t := range m.tables {
		all = append(all, engine.Table{ID: t.ID, Name: t.Name, Kind: t.Kind, Comment: t.Comment})
	}
	return all, nil
}
func (m made) Table(_ context.Context, t engine.Table) (engine.Table, error) { return m.tables[0], nil }

// A row whose values or columns are longer than anybody reads is cut like any
// other: numbers of 100,000 digits and columns that are called by the whole
// expression were sent in full, twice.
func TestRowsAreBounded(t *testing.T) {
	digits := engine.Decimal(strings.Repeat("7", 100_000))
	ask := within(t, made{columns: []engine.Column{{Name: strings.Repeat("n", 100_000)}, {Name: "list"}}, row: []any{digits, []any{digits, digits}}})
	a := ask("run_query", map[string]any{"sql": "x"})
	if a.failed || a.size > 64<<10 {
		t.Errorf("%d bytes, failed %t: %.200s", a.size, a.failed, a.text)
	}
	if !strings.Contains(string(a.structured), `"size":100000,"cut":true`) {
		t.Errorf("it is not said how long the number is: %.300s", a.structured)
	}
}

// JSON that an engine keeps and that cannot be part of a message is sent as
// text: one such value made the whole answer fail.
func TestJSONThatCannotBeSent(t *testing.T) {
	deep := strings.Repeat("[", 600) + strings.Repeat("]", 600)
	for _, value := range []string{`{"a":1,"a":2}`, `"\ud800"`, deep, `{"a":`} {
		ask := within(t, made{columns: []engine.Column{{Name: "c"}, {Name: "d"}}, row: []any{engine.JSON(value), engine.JSON(`{"good":[1]}`)}})
		a := ask("run_query", map[string]any{"sql": "x"})
		want, _ := json.Marshal(value)
		if rows := a.rows(t); rows != "[["+string(want)+`,{"good":[1]}]]` {
			t.Errorf("%.40s: %.200s", value, rows)
		}
	}
}

// A table with very many columns and very long comments is told in parts.
func TestDescriptionsAreBounded(t *testing.T) {
	long := strings.Repeat("c", 3<<20)
	table := engine.Table{ID: "wide", Name: "wide", Kind: "table", Comment: long, Definition: long, Checks: []string{long}}
	for i := range 3000 {
		table.Columns = append(table.Columns, engine.TableColumn{Name: fmt.Sprintf("column_%04d", i), Type: "int", Comment: long[:5000]})
	}
	ask := within(t, made{tables: []engine.Table{table}})
	seen := map[string]bool{}
	offset, calls := 0, 0
	for ; calls < 500; calls++ {
		a := ask("describe_table", map[string]any{"table": "wide", "offset": offset})
		if a.failed || a.size > 128<<10 {
			t.Fatalf("%d bytes, failed %t: %.200s", a.size, a.failed, a.text)
		}
		var part struct {
			Columns    []engine.TableColumn `json:"columns"`
			NextOffset int                  `json:"nextOffset"`
		}
		if err := json.Unmarshal(a.structured, &part); err != nil {
			t.Fatal(err)
		}
		for _, c := range part.Columns {
			seen[c.Name] = true
		}
		if offset = part.NextOffset; offset == 0 {
			break
		}
	}
	if len(seen) != 3000 || calls == 0 {
		t.Errorf("%d columns were told in %d calls", len(seen), calls+1)
	}
	if a := ask("list_tables", map[string]any{}); a.failed || a.size > 8<<10 {
		t.Errorf("the list has %d bytes", a.size)
	}
	if a := ask("describe_table", map[string]any{"table": strings.Repeat("z", 100_000)}); !a.failed || a.size > 8<<10 {
		t.Errorf("the error has %d bytes", a.size)
	}
}

// Values have a limit, and a statement can have any number of values: what the
// library holds at once is bounded as well.
func TestSQLiteMemoryIsBounded(t *testing.T) {
	g := sqliteTarget(t)
	g.fresh(t)
	h := serve(t, sql.Config{DSN: g.dsn})
	columns := strings.Repeat(", zeroblob(60000000)", 200) // 12 GB
	if a := run(t, h, "SELECT 1"+columns); !a.failed || !strings.Contains(a.text, "more than 1024 MiB") {
		t.Errorf("%.200s", a.text)
	}
	if a := run(t, h, "SELECT 1"); a.failed {
		t.Errorf("afterwards: %s", a.text)
	}
}

// Who lists the resources right after the start gets the tables too.
func TestFirstListIsComplete(t *testing.T) {
	g := sqliteTarget(t)
	g.fresh(t)
	for range 5 {
		h, err := sql.New(sql.Config{DSN: g.dsn})
		if err != nil {
			t.Fatal(err)
		}
		res, err := h.Serve(t.Context(), &mcp.Call{Method: mcp.MethodResourcesList})
		if err != nil || !strings.Contains(string(res.Body), "db://schema/people") {
			t.Errorf("%s, %v", res.Body, err)
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}
	// Without a database there is a list all the same.
	h := serve(t, sql.Config{DSN: g.dsn + ".gone"})
	res, err := h.Serve(t.Context(), &mcp.Call{Method: mcp.MethodResourcesList})
	if err != nil || !strings.Contains(string(res.Body), "db://schema") {
		t.Errorf("%s, %v", res.Body, err)
	}
}

// Whoever is not let in is told to look at the dsn, and not to wait.
func wrongLogin(t *testing.T, dsns ...string) {
	t.Helper()
	for _, dsn := range dsns {
		a := run(t, serve(t, sql.Config{DSN: dsn}), "SELECT 1")
		if !a.failed || !strings.Contains(a.text, "log in to database") || strings.Contains(a.text, "wr0ng") || strings.Contains(a.text, password) {
			t.Errorf("%s", a.text)
		}
	}
}
