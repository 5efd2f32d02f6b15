package script_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/app/llm/script"
)

// A model that says what a file says needs neither a key nor a network.
func ExampleOpen() {
	dir, _ := os.MkdirTemp("", "script")
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "hello.jsonl")
	_ = os.WriteFile(file, []byte(`
{"expect":{"has":"weather"}}
{"text":"Let me look."}
{"call":{"name":"weather__today","arguments":{"city":"Rome"}}}
{"done":""}
`), 0o600)

	m, err := script.Open(file, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	r := &llm.Request{Messages: []llm.Message{llm.User("How is the weather in Rome?")}}
	for e, err := range m.Stream(context.Background(), r) {
		switch {
		case err != nil:
			fmt.Println(err)
		case e.Kind == llm.EventText:
			fmt.Println(e.Text)
		case e.Kind == llm.EventCall:
			fmt.Println(e.Call.Name, string(e.Call.Arguments))
		}
	}
	fmt.Println(m.Info().Label)
	// Output:
	// Let me look.
	// weather__today {"city":"Rome"}
	// a script, not a language model
}
