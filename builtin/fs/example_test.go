package fs_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/tenon-mcp/tenon/builtin/fs"
	"github.com/tenon-mcp/tenon/client"
)

// A server for one directory, read only, used in the same program.
func ExampleNew() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "poem.txt"), []byte("Roses are red,\nviolets are blue.\n"), 0o644); err != nil {
		panic(err)
	}
	s, err := fs.New(fs.Config{Roots: []string{dir}, ReadOnly: true})
	if err != nil {
		panic(err)
	}
	defer s.Close()

	c := client.New(s, nil)
	defer c.Close()
	text, err := client.Call[string](context.Background(), c, "read_text_file", map[string]any{"path": "poem.txt", "offset": 2, "limit": 1}, nil)
	fmt.Println(text, err)
	// Output: violets are blue. <nil>
}
