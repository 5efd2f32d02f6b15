package skills_test

import (
	"context"
	"fmt"
	"log"
	"testing/fstest"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/ext/skills"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// A server offers a skill, and a client loads it and reads one of its files.
func Example() {
	s := server.New(mcp.Implementation{Name: "forms", Version: "1.0"}, nil)
	err := skills.Add(s, fstest.MapFS{ // usually an embed.FS
		"fill-forms/SKILL.md":             {Data: []byte("---\nname: fill-forms\ndescription: Fill in forms\n---\nSee references/fields.md\n")},
		"fill-forms/references/fields.md": {Data: []byte("Leave signatures empty.")},
	}, nil)
	if err != nil {
		log.Fatal(err)
	}

	ctx, c := context.Background(), client.New(s, nil)
	for skill, err := range skills.List(ctx, c) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(skill.Name(), "-", skill.Description())
		loaded, err := skills.Load(ctx, c, skill)
		if err != nil {
			log.Fatal(err)
		}
		uri, err := loaded.Resolve("references/fields.md")
		if err != nil {
			log.Fatal(err)
		}
		file, err := loaded.Read(ctx, uri)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(file.Text)
	}
	// Output:
	// fill-forms - Fill in forms
	// Leave signatures empty.
}
