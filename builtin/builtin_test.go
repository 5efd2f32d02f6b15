package builtin

import (
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func TestEachOpensAndCloses(t *testing.T) {
	dir := t.TempDir()
	options := map[string]url.Values{"fs": {"root": {dir}}, "notes": {"vault": {dir}}, "sql": {"dsn": {filepath.Join(dir, "x.db")}, "writes": {"1"}}}
	for _, k := range Kinds() {
		t.Run(k.Name, func(t *testing.T) {
			s, err := Open(k.Name, options[k.Name])
			if err != nil {
				t.Fatal(err)
			}
			tools, err := client.All(client.New(s, nil).Tools(t.Context()))
			if err != nil || len(tools) == 0 {
				t.Errorf("%d tools, %v", len(tools), err)
			}
			for _, tool := range tools {
				if tool.Annotations == nil || tool.OutputSchema == nil || tool.Description == "" {
					t.Errorf("%s lacks annotations, an output schema or a description", tool.Name)
				}
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestMistakesAreExplained(t *testing.T) {
	for _, c := range []struct {
		name  string
		query url.Values
		want  string
	}{
		{"files", nil, "there are calc, demo, fs, notes, sql"},
		{"fs", url.Values{"rot": {"."}}, "fs has root"},
		{"sql", nil, "dsn is missing"},
		{"calc", url.Values{"x": {"1"}}, "calc has none"},
		{"demo", url.Values{"x": {"1"}}, "demo has none"},
	} {
		if _, err := Open(c.name, c.query); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %v: %v, which does not say %q", c.name, c.query, err, c.want)
		}
	}
}
