package builtin

import (
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/builtin/api/packs"
	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/ext/tasks"
	"github.com/tenon-mcp/tenon/internal/leaktest"
	"github.com/tenon-mcp/tenon/mcp"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func TestEachOpensAndCloses(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "api.yaml")
	if err := os.WriteFile(file, []byte("tenon: api/1\nname: x\napi: {base: https://api.example.com}\ntools: {get: {description: d, request: GET /x, output: {schema: {type: object}}}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"GITHUB_TOKEN", "SLACK_BOT_TOKEN", "GRAPH_TOKEN", "ORDERS_API_KEY"} {
		t.Setenv(name, "test-token")
	}
	options := map[string]url.Values{"api": {"file": {file}}, "fs": {"root": {dir}}, "notes": {"vault": {dir}}, "sql": {"dsn": {filepath.Join(dir, "x.db")}, "writes": {"1"}}}
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
				if tool.Annotations == nil || tool.OutputSchema == nil && !slices.Contains(packs.Names(), k.Name) || tool.Description == "" {
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
		{"files", nil, "there are api, calc, demo, fs, github, notes, onenote, orders, slack, sql"},
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

// Only a server with tasks takes a store for them.
func TestOpenTasks(t *testing.T) {
	if _, err := OpenWith("calc", nil, Options{Tasks: &tasks.Memory{}}); err == nil || !strings.Contains(err.Error(), "no tool of this server runs as a task") || HasTasks("calc") {
		t.Errorf("calc: %v", err)
	}
	if _, err := OpenWith("demo", url.Values{"x": {"1"}}, Options{Tasks: &tasks.Memory{}}); err == nil || !strings.Contains(err.Error(), "demo has none") {
		t.Errorf("demo with a wrong option: %v", err)
	}
	store := &tasks.Memory{}
	s, err := OpenWith("demo", nil, Options{Tasks: store})
	if err != nil || !HasTasks("demo") {
		t.Fatal(err)
	}
	defer s.Close()
	caller := mcp.Caller{Capabilities: &mcp.ClientCapabilities{Extensions: map[string]json.RawMessage{tasks.ExtensionID: json.RawMessage("{}")}}}
	if _, err := s.Serve(t.Context(), &mcp.Call{Method: mcp.MethodToolsCall, Params: json.RawMessage(`{"name":"slow_report","arguments":{"topic":"tea"}}`), Caller: caller}); err != nil {
		t.Fatal(err)
	}
	if all, err := store.List(t.Context(), "", tasks.Cursor{}, 10); len(all) != 1 || err != nil {
		t.Errorf("the store has %d tasks, %v", len(all), err)
	}
}

// The settings that tenon serve shows for a server can be pasted: only words in
// capitals stand for something else.
func TestUsageHasValidSettings(t *testing.T) {
	database := filepath.Join(t.TempDir(), "shop.db")
	for _, k := range Kinds() {
		if k.wraps {
			continue // needs a file, or a credential
		}
		q := url.Values{}
		for word := range strings.FieldsSeq(k.Usage) {
			name, value, _ := strings.Cut(word, "=")
			switch value {
			case "DIR":
				value = t.TempDir()
			case "FILE-OR-URL":
				value = database
			case "FILE":
				continue
			}
			q.Set(name, value)
		}
		s, err := Open(k.Name, q)
		if err != nil {
			t.Errorf("%s with %q: %v", k.Name, k.Usage, err)
			continue
		}
		s.Close()
	}
}

// docs/cli.md lists every builtin server.
func TestDocumentListsEachServer(t *testing.T) {
	text, err := os.ReadFile("../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	_, row, _ := strings.Cut(string(text), "| a builtin server: ")
	row, _, _ = strings.Cut(row, "\n")
	for _, k := range Kinds() {
		if !strings.Contains(row, "`"+k.Name+"`") {
			t.Errorf("docs/cli.md does not list builtin:%s", k.Name)
		}
	}
}
