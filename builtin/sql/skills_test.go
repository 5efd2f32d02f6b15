package sql_test

import (
	"testing"

	"github.com/tenon-mcp/tenon/builtin/sql"
	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/ext/skills"
)

// The skill can be loaded, with all of its files.
func TestSkill(t *testing.T) {
	s, err := sql.New(sql.Config{DSN: t.TempDir() + "/x.db", Writes: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c := client.New(s, nil)
	all, err := client.All(skills.List(t.Context(), c))
	if err != nil || len(all) != 1 {
		t.Fatalf("%v, %v", all, err)
	}
	loaded, err := skills.Load(t.Context(), c, all[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range all[0].Resources {
		if _, err := loaded.Read(t.Context(), r.URI); err != nil {
			t.Error(err)
		}
	}
}
