package sql_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/builtin/sql"
	"github.com/tenon-mcp/tenon/builtin/sql/engine"
	_ "github.com/tenon-mcp/tenon/builtin/sql/mysql"
	_ "github.com/tenon-mcp/tenon/builtin/sql/postgres"
	_ "github.com/tenon-mcp/tenon/builtin/sql/sqlite"
	"github.com/tenon-mcp/tenon/internal/leaktest"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// A target is a database that the tests are run on.
type target struct {
	name  string
	dsn   string // what a user would configure
	admin engine.Database
	fresh func(t *testing.T) // takes everything that tests may have changed back
	// state is what must be the same after whatever was refused.
	state func(t *testing.T) string
}

// exec changes the database behind the server's back.
func (g *target) exec(t *testing.T, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := g.admin.Write(t.Context(), engine.Query{SQL: s}, ignore{}); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// query reads behind the server's back.
func (g *target) query(t *testing.T, statement string) string {
	t.Helper()
	var s saved
	if err := g.admin.Read(t.Context(), engine.Query{SQL: statement}, &s); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	return s.String()
}

type ignore struct{}

func (ignore) Columns([]engine.Column) error { return nil }
func (ignore) Row([]any) error               { return nil }

type saved struct{ strings.Builder }

func (s *saved) Columns([]engine.Column) error { return nil }
func (s *saved) Row(row []any) error {
	raw, err := json.Marshal(row)
	s.Write(append(raw, '\n'))
	return err
}

// serve makes a server that is closed with the test.
func serve(t *testing.T, c sql.Config) *server.Server {
	t.Helper()
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	s, err := sql.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// An answer is what a tool returned.
type answer struct {
	text       string
	failed     bool
	structured json.RawMessage
	size       int
}

func call(t *testing.T, h mcp.Handler, tool string, args any) answer {
	t.Helper()
	return callWithin(t.Context(), t, h, tool, args)
}

func callWithin(ctx context.Context, t *testing.T, h mcp.Handler, tool string, args any) answer {
	t.Helper()
	params, err := json.Marshal(map[string]any{"name": tool, "arguments": args})
	if err != nil {
		t.Fatal(err)
	}
	res, err := h.Serve(ctx, &mcp.Call{Method: mcp.MethodToolsCall, Params: params})
	if err != nil {
		return answer{text: err.Error(), failed: true}
	}
	var body struct {
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
		IsError    bool            `json:"isError"`
		Structured json.RawMessage `json:"structuredContent"`
	}
	if err := json.Unmarshal(res.Body, &body); err != nil {
		t.Fatalf("%s: %v", res.Body, err)
	}
	a := answer{failed: body.IsError, structured: body.Structured, size: len(res.Body)}
	for _, c := range body.Content {
		a.text += c.Text
	}
	return a
}

func run(t *testing.T, h mcp.Handler, query string, params ...any) answer {
	t.Helper()
	args := map[string]any{"sql": query}
	if params != nil {
		args["params"] = params
	}
	return call(t, h, "run_query", args)
}

// rows are the rows of a result, as JSON.
func (a answer) rows(t *testing.T) string {
	t.Helper()
	var r struct {
		Rows json.RawMessage `json:"rows"`
	}
	if a.failed {
		t.Fatalf("failed: %s", a.text)
	}
	if err := json.Unmarshal(a.structured, &r); err != nil {
		t.Fatal(err)
	}
	return string(r.Rows)
}
