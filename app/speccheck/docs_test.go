package speccheck

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// The page for users lists every rule with the words that are in the code.
func TestTheDocsListEveryRule(t *testing.T) {
	page, err := os.ReadFile("../../docs/inspect.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range Rules() {
		if row := ruleRow(r); !strings.Contains(string(page), row) {
			t.Errorf("docs/inspect.md lacks the row\n%s", row)
		}
	}
}

func ruleRow(r Rule) string {
	revs := r.Revisions()
	which := "all"
	if len(revs) < len(knownRevisions) {
		which = string(revs[0])
		if len(revs) > 1 {
			which += " – " + string(revs[len(revs)-1])
		}
	}
	return fmt.Sprintf("| `%s` | %s | %s | %s |", r.ID, r.Text, which, r.Severity)
}
