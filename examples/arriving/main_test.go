package main

import (
	"context"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
)

// flat removes the indentation of every line.
func flat(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = strings.TrimSpace(l)
	}
	return strings.Join(lines, "\n")
}

// Every piece of Go in these documents is a piece of main.go, so it compiles.
func TestDocumentsShowCompiledCode(t *testing.T) {
	source, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```go\n(.*?)\n```")
	for _, name := range []string{"coming-from-go-sdk.md", "coming-from-mcp-go.md", "write-a-client.md"} {
		doc, err := os.ReadFile("../../docs/" + name)
		if err != nil {
			t.Fatal(err)
		}
		found := blocks.FindAllSubmatch(doc, -1)
		if len(found) < 3 {
			t.Errorf("%s has %d pieces of code", name, len(found))
		}
		for _, b := range found {
			for _, part := range strings.Split(string(b[1]), "\n\n") {
				if !strings.Contains(flat(string(source)), flat(part)) {
					t.Errorf("%s: main.go does not have\n%s", name, part)
				}
			}
		}
	}
}

func TestTheCodeWorks(t *testing.T) {
	c := client.New(mcp.Chain(notes(), asked), &client.Options{
		Elicit: func(_ context.Context, e *client.Elicitation) (*mcp.ElicitResult, error) {
			return e.Accept(map[string]bool{"sure": true})
		},
	})
	out, err := client.Call[found](t.Context(), c, "search", search{Query: "tenon"}, nil)
	if err != nil || len(out.Titles) != 1 {
		t.Errorf("search: %v, %v", out, err)
	}
	if said, err := client.Call[string](t.Context(), c, "clear", nil, nil); err != nil || said != "All notes are deleted." {
		t.Errorf("clear: %q, %v", said, err)
	}
	if err := status(t.Context(), c); err != nil {
		t.Error(err)
	}
	if _, err := slow(t.Context(), c); err == nil {
		t.Error("there is no tool import")
	}
	if n := len([]any{use, useCmd, withKey, withTokens, changed, listen}); n != 6 {
		t.Error(n)
	}
}
