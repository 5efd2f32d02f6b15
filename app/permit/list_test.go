package permit

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/mcp"
)

// texts returns the entries as "scope effect server/tool".
func texts(all []Entry) string {
	var out []string
	for _, e := range all {
		text := e.Scope + " " + string(e.Effect) + " " + e.Name()
		if e.Off != "" {
			text += " off"
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}

// List has every rule and answer that decides, by scope, with where it is from; each
// one that is not fixed can be removed, and then no longer decides.
func TestListAndRemove(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "tenon.json")
	before := `{
  // mine
  "permissions": [
    {"effect": "deny", "server": "db", "tool": "drop"}, // never
    {"effect": "allow", "server": "db", "args": {"table": "a*"}},
    {"effect": "allow", "server": "web", "folder": "/elsewhere"}
  ],
  "trust": ["calc"]
}
`
	if err := os.WriteFile(file, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(&config.Options{UserDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	s := c.Settings()
	s.Rules = append(s.Rules, config.Rule{Effect: config.Allow, Server: "cli", Tool: "*", CommandLine: true})
	b, err := Open(filepath.Join(dir, "tools.json"), s)
	if err != nil {
		t.Fatal(err)
	}
	b.SetFolder("/work/site")
	tool := func(name string) *mcp.Tool { return &mcp.Tool{Name: name, InputSchema: json.RawMessage(`{}`)} }
	for _, err := range []error{
		b.Answer("fs", tool("read"), "s1", Always), b.Answer("fs", tool("delete"), "s1", Never), b.Answer("fs", tool("list"), "s1", Session),
		b.Allow("fs", tool("write"), "s1", Project, nil), b.Allow("fs", tool("write"), "s1", Session, &Proposal{ID: "x", Label: "in /a", Args: map[string]string{"path": "/a/*"}}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	want := "command line allow cli/*, session allow fs/list, session allow fs/write, project allow fs/write, project allow web/* off, user allow calc/*, user allow db/*, user deny db/drop, user deny fs/delete, user allow fs/read, default ask */*"
	if got := texts(b.List("s1")); got != want {
		t.Errorf("the list is\n%s\nnot\n%s", got, want)
	}
	if got := texts(b.List("s2")); strings.Contains(got, "session") {
		t.Errorf("another session has %s", got)
	}
	find := func(scope, name string) Entry {
		t.Helper()
		for _, e := range b.List("s1") {
			if e.Scope == scope && e.Name() == name {
				return e
			}
		}
		t.Fatalf("no entry %s %s", scope, name)
		return Entry{}
	}
	if from := find(ScopeUser, "db/drop").From; from != file+":4" {
		t.Errorf("the rule is from %s", from)
	}
	judged := func(server, name, args string, want config.Effect) {
		t.Helper()
		if v := b.Judge(server, tool(name), json.RawMessage(args), "s1"); v.Effect != want {
			t.Errorf("%s/%s %s: %s (%s)", server, name, args, v.Effect, v.Why)
		}
	}
	judged("db", "drop", `{}`, config.Deny)
	if _, err := b.Change(find(ScopeUser, "db/drop").ID, "s1", config.Ask); err != nil {
		t.Error(err)
	}
	judged("db", "drop", `{}`, config.Ask)
	if _, err := b.Remove(find(ScopeUser, "db/*").ID, "s1"); err != nil {
		t.Error(err)
	}
	judged("db", "q", `{"table":"a1"}`, config.Ask)
	if got, _ := os.ReadFile(file); string(got) != strings.Replace(strings.Replace(before, `"deny"`, `"ask"`, 1), `    {"effect": "allow", "server": "db", "args": {"table": "a*"}},`+"\n", "", 1) {
		t.Errorf("the file is\n%s", got)
	}
	judged("fs", "read", `{}`, config.Allow)
	judged("fs", "delete", `{}`, config.Deny)
	if _, err := b.Change(find(ScopeUser, "fs/delete").ID, "s1", config.Allow); err == nil {
		t.Error("a tool whose definition was never seen is allowed")
	}
	if _, err := b.Change(find(ScopeUser, "fs/read").ID, "s1", config.Deny); err != nil {
		t.Error(err)
	}
	judged("fs", "read", `{}`, config.Deny)
	for _, e := range b.List("s1") {
		_, err := b.Remove(e.ID, "s1")
		if (err != nil) != (e.Fixed != "") {
			t.Errorf("remove %s %s (%s): %v", e.Scope, e.Name(), e.Fixed, err)
		}
	}
	if got := texts(b.List("s1")); got != "command line allow cli/*, user allow calc/*, default ask */*" {
		t.Errorf("left: %s", got)
	}
	judged("fs", "list", `{}`, config.Ask)
	judged("fs", "write", `{"path":"/a/b"}`, config.Ask)
	judged("fs", "delete", `{}`, config.Ask)
	if _, err := b.Remove("nope", "s1"); err == nil {
		t.Error("an unknown id is removed")
	}
	again, err := Open(filepath.Join(dir, "tools.json"), config.Settings{})
	if err != nil || texts(again.List("")) != "default ask */*" {
		t.Errorf("the file still has %s, %v", texts(again.List("")), err)
	}
}
