package notes

import (
	"fmt"
	"testing"
)

// Of several notes with one name, a link means one, and the same for everybody
// who may see the same notes.
func TestMeaningOfNames(t *testing.T) {
	_, s := vaultOf(t, map[string]string{
		"a/x.md":     "",
		"b/x.md":     "",
		"b/c/x.md":   "",
		"a/one.md":   "[[x]]",            // the one in its folder
		"d/two.md":   "[[X]]",            // the one with the shortest path, then by name
		"d/three.md": "[[b/x|bx]]",       // by folder
		"d/four.md":  "[[c/x.md#h^b]]",   // by the end of its path
		"d/five.md":  "![[b/c/x]]",       // embedded
		"d/six.md":   "[t](../b/x.md)",   // Markdown
		"d/seven.md": "[t](</b/c/x.md>)", // from the root of the vault
		"d/eight.md": "[t](x.md)",        // nothing there
		"d/nine.md":  "[[y]] [[ex]]",     // aliases
		"y.md":       "---\naliases: ex\n---\n",
		"e/ex.md":    "---\naliases: [y, Also]\n---\n",
		"d/ten.md":   "[[also]]",
	})
	for name, want := range map[string]string{
		"a/x.md":   "a/one.md, d/two.md",
		"b/x.md":   "d/six.md, d/three.md",
		"b/c/x.md": "d/five.md, d/four.md, d/seven.md",
		"y.md":     "d/nine.md", // a name comes before an alias
		"e/ex.md":  "d/nine.md, d/ten.md",
	} {
		expect(t, name, use(t, s, "", "backlinks", fmt.Sprintf(`{"path":%q}`, name)).paths(t), want)
	}
}
