package script

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/app/llm"
)

// The script in the documentation works as it stands.
func TestDocumentedScript(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "models.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(raw), "```json\n")
	text, _, ok := strings.Cut(rest, "```")
	if !ok {
		t.Fatal("docs/models.md has no script")
	}
	p, err := Open(written(t, text), &Options{NoDelays: true})
	if err != nil {
		t.Fatal(err)
	}
	r := &llm.Request{Tools: []llm.Tool{{Name: "calc__add"}}, Messages: []llm.Message{llm.User("what is the sum of 2 and 3?")}}
	first, err := llm.Ask(t.Context(), p, r)
	if err != nil || first.Stop != llm.StopToolCalls {
		t.Fatalf("%+v, %v", first, err)
	}
	r.Messages = append(r.Messages, first.Message, llm.Results(llm.TextResult(first.Message.Calls()[0].ID, "5")))
	second, err := llm.Ask(t.Context(), p, r)
	if err != nil || second.Message.Text() != "The sum is 5." {
		t.Errorf("%+v, %v", second, err)
	}
	if _, err := llm.Ask(t.Context(), p, r); llm.KindOf(err) != llm.ErrOverloaded {
		t.Errorf("third: %v", err)
	}
}
