package sql_test

import (
	"bytes"
	"log/slog"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/builtin/sql"
	"github.com/tenon-mcp/tenon/mcp"
)

func TestFromQuery(t *testing.T) {
	for _, row := range []struct {
		query string
		want  sql.Config
		err   string
	}{
		{query: "dsn=shop.db", want: sql.Config{DSN: "shop.db"}},
		{query: "dsn=postgres%3A%2F%2Fu%3Ap%40h%2Fd%3Fsslmode%3Dpqr&writes=1&privileged=true", want: sql.Config{DSN: "postgres://u:p@h/d?sslmode=pqr", Writes: true, Privileged: true}},
		{query: "dsn=x&writes=0&maxrows=5&maxbytes=100&timeout=2m", want: sql.Config{DSN: "x", MaxRows: 5, MaxBytes: 100, Timeout: 2 * time.Minute}},
		{query: "", err: "dsn is missing"},
		{query: "dsn=x&write=1", err: `unknown setting "write"; sql has dsn, writes, privileged, queries, maxrows, maxbytes, timeout`},
		{query: "dsn=x&dsn=y", err: "dsn is set 2 times"},
		{query: "dsn=x&writes=yes", err: "must be 1 or 0"},
		{query: "dsn=x&timeout=30", err: "such as 30s"},
		{query: "dsn=x&timeout=-1s", err: "such as 30s"},
		{query: "dsn=x&maxrows=0", err: "a number above 0"},
	} {
		q, err := url.ParseQuery(row.query)
		if err != nil {
			t.Fatal(err)
		}
		got, err := sql.FromQuery(q)
		if row.err == "" && (err != nil || got != row.want) {
			t.Errorf("%s: %+v, %v", row.query, got, err)
		}
		if row.err != "" && (err == nil || !strings.Contains(err.Error(), row.err)) {
			t.Errorf("%s: %v, want %s", row.query, err, row.err)
		}
	}
}

func TestDSN(t *testing.T) {
	for dsn, want := range map[string]string{
		"":                                    "the dsn is missing",
		"oracle://u:s3cr3t@h/d":               `unknown engine "oracle"`,
		":memory:":                            "must be a file name",
		"file:shop.db?mode=rw":                "must be a file name",
		"sqlite:":                             "has no file name",
		"postgres://u:s3cr3t@h:port/d":        "not a PostgreSQL URL",
		"postgres://u:s3cr3t@h/d?sslmode=odd": "not a PostgreSQL URL",
		"postgres://u:s3cr3t%zz@h/d":          "not a PostgreSQL URL",
		"mysql://u:s3cr3t%zz@h/d":             "not a MySQL URL",
		"mysql://u:s3cr3t@h":                  "has no database name",
		"mysql://u:s3cr3t@h/d?tls=odd":        "tls must be",
		"mysql://u:s3cr3t@h/d?charset=odd":    `option "charset"`,
	} {
		_, err := sql.New(sql.Config{DSN: dsn})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("%s: %v, want %s", dsn, err, want)
		}
	}
}

// A password must not come out anywhere: not in what the server says of itself,
// not in an error, not in a log.
func TestPasswordStaysInside(t *testing.T) {
	var log bytes.Buffer
	for _, dsn := range []string{
		"postgres://u:s3cr3t@127.0.0.1:1/d", "postgres://u:s3cr3t@nowhere.invalid/d", "mysql://u:s3cr3t@127.0.0.1:1/d", "mariadb://u:s3cr3t@nowhere.invalid/d",
	} {
		log.Reset()
		s, err := sql.New(sql.Config{DSN: dsn, Writes: true, Log: slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
		if err != nil {
			t.Fatal(err)
		}
		said := ""
		for _, method := range []string{mcp.MethodDiscover, mcp.MethodToolsList, mcp.MethodResourcesList, mcp.MethodPromptsList} {
			res, err := s.Serve(t.Context(), &mcp.Call{Method: method})
			if err != nil {
				t.Errorf("%s: %v", method, err)
			}
			said += string(res.Body)
		}
		a := run(t, s, "SELECT 1")
		if !a.failed || !strings.Contains(a.text, "connect to ") {
			t.Errorf("%s: %s", dsn, a.text)
		}
		said += a.text + call(t, s, "run_statement", map[string]any{"sql": "SELECT 1", "confirm": true}).text
		res, err := s.Serve(t.Context(), &mcp.Call{Method: mcp.MethodResourcesRead, Params: []byte(`{"uri":"db://schema"}`)})
		if err == nil || !strings.Contains(err.Error(), "connect to ") {
			t.Errorf("db://schema: %s, %v", res.Body, err)
		} else {
			said += err.Error()
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if said += log.String(); strings.Contains(said, "s3cr3t") || !strings.Contains(log.String(), "listing tables failed") {
			t.Errorf("%s: %s", dsn, said)
		}
	}
}

// Every tool says what it does to the world, and what it returns.
func TestToolsAreDescribed(t *testing.T) {
	s := serve(t, sql.Config{DSN: filepath.Join(t.TempDir(), "none.db"), Writes: true})
	res, err := s.Serve(t.Context(), &mcp.Call{Method: mcp.MethodToolsList})
	if err != nil {
		t.Fatal(err)
	}
	var list mcp.ListToolsResult
	if err := mcp.Unmarshal(res.Body, &list); err != nil {
		t.Fatal(err)
	}
	if len(list.Tools) != 5 {
		t.Errorf("%d tools", len(list.Tools))
	}
	for _, tool := range list.Tools {
		if tool.OutputSchema == nil || tool.Annotations == nil || tool.Title == "" {
			t.Errorf("%s: %+v", tool.Name, tool)
		}
		if writes := tool.Name == "run_statement"; tool.Annotations.ReadOnly() == writes || tool.Annotations.Destructive() != writes {
			t.Errorf("%s: %+v", tool.Name, tool.Annotations)
		}
	}
	t.Logf("tools/list has %d bytes", len(res.Body))
}
