package notes

import (
	"testing"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/ext/skills"
	"github.com/tenon-mcp/tenon/mcp"
)

// The skill can be loaded, with all of its files, also by those who share the
// vault.
func TestSkill(t *testing.T) {
	for _, grants := range []*Grants{nil, {Home: "people/{id}"}} {
		s, err := New(Config{Vault: t.TempDir(), Grants: grants, Cache: "off"})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		c := client.New(s, nil).As(&mcp.Principal{Issuer: "x", ID: "ada"})
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
}
