package notes

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/mcp"
)

// S6: a note that moves takes its links along: those to it, its own that are
// relative, and nothing else changes by a byte.
func TestMoveChangesLinks(t *testing.T) {
	dir, s := vaultOf(t, map[string]string{
		"Garden.md": "---\naliases: [The Yard]\n---\n# My garden\n[plan](Work/Plan.md) ![rose](img/a%20rose.png) [[Garden#My garden]] [web](https://x.org/Garden.md)\n",
		"Work/Plan.md": "Wiki [[Garden]], [[Garden#My garden|here]], ![[Garden#^block]], [[the yard]], [[Garden.md]], `[[Garden]]`\r\n" +
			"Markdown [a](../Garden.md), [b](<../Garden.md>), [c](/Garden.md#x), ![d](../Garden.md \"title\"), [e](../Gardens.md)\r\n```\n[[Garden]]\n```\n| [[Garden\\|x]] |\n",
		"Other.md":       "[[Gardens]] and nothing else",
		"img/a rose.png": "x",
	})
	r := use(t, s, "", "move_note", `{"path":"Garden.md","to":"Deep/Er/Plot (new).md"}`)
	if r.Failed {
		t.Fatal(r.Text)
	}
	expect(t, "result", r.Text, "Moved Garden.md to Deep/Er/Plot (new).md; 12 links changed in 2 notes.")
	expect(t, "the note", fileText(t, dir, "Deep/Er/Plot (new).md"),
		"---\naliases: [The Yard]\n---\n# My garden\n[plan](../../Work/Plan.md) ![rose](../../img/a%20rose.png) [[Plot (new)#My garden]] [web](https://x.org/Garden.md)\n")
	expect(t, "what links to it", fileText(t, dir, "Work/Plan.md"),
		"Wiki [[Plot (new)]], [[Plot (new)#My garden|here]], ![[Plot (new)#^block]], [[the yard]], [[Plot (new).md]], `[[Garden]]`\r\n"+
			"Markdown [a](../Deep/Er/Plot%20%28new%29.md), [b](<../Deep/Er/Plot (new).md>), [c](/Deep/Er/Plot%20%28new%29.md#x), ![d](../Deep/Er/Plot%20%28new%29.md \"title\"), [e](../Gardens.md)\r\n```\n[[Garden]]\n```\n| [[Plot (new)\\|x]] |\n")
	expect(t, "what does not", fileText(t, dir, "Other.md"), "[[Gardens]] and nothing else")
	if _, err := os.Stat(filepath.Join(dir, "Garden.md")); err == nil {
		t.Error("it is still there")
	}
	expect(t, "backlinks", use(t, s, "", "backlinks", `{"path":"Plot (new)"}`).paths(t), "Work/Plan.md")
	expect(t, "search", use(t, s, "", "search_notes", `{"query":"garden"}`).paths(t), "Deep/Er/Plot (new).md, Work/Plan.md, Other.md")
}

// S6: a link that still means the same after a move stays, and one that would
// mean another note gets the whole path.
func TestMoveKeepsNamesUnique(t *testing.T) {
	dir, s := vaultOf(t, map[string]string{"a/Plan.md": "one", "b/Plan.md": "two", "c.md": "[[a/Plan]]", "d.md": "[[Solo]]", "Solo.md": "x"})
	for _, args := range []string{`{"path":"Solo.md","to":"sub/"}`, `{"path":"a/Plan.md","to":"z/Plan"}`} {
		if r := use(t, s, "", "move_note", args); r.Failed {
			t.Fatal(r.Text)
		}
	}
	expect(t, "by name", fileText(t, dir, "d.md"), "[[Solo]]")
	expect(t, "by path", fileText(t, dir, "c.md"), "[[z/Plan]]")
	if r := use(t, s, "", "move_note", `{"path":"sub/Solo.md","to":"Plan.md"}`); r.Failed {
		t.Fatal(r.Text)
	}
	expect(t, "a name that others have", fileText(t, dir, "d.md"), "[[Plan]]")
}

// S6: attachments move, too, and their links with them.
func TestMoveAttachment(t *testing.T) {
	dir, s := vaultOf(t, map[string]string{"img/rose.png": "x", "sub/a.md": "![[rose.png]] ![[img/rose.png|200]] ![r](../img/rose.png) [[rose]]", "b.md": "![r](img/rose.png)"})
	r := use(t, s, "", "move_note", `{"path":"img/rose.png","to":"pics/tulip.png"}`)
	if r.Failed {
		t.Fatal(r.Text)
	}
	expect(t, "a", fileText(t, dir, "sub/a.md"), "![[tulip.png]] ![[pics/tulip.png|200]] ![r](../pics/tulip.png) [[rose]]")
	expect(t, "b", fileText(t, dir, "b.md"), "![r](pics/tulip.png)")
	expect(t, "not listed as a note", use(t, s, "", "search_notes", `{"query":"tulip"}`).paths(t), "sub/a.md, b.md")
	if r := use(t, s, "", "read_attachment", `{"path":"sub/a.md"}`); !r.Failed || !strings.Contains(r.Text, "read_note") {
		t.Errorf("%+v", r)
	}
}

// S6: where two attachments have one name, a link by name alone is left, and a
// new name that another one has is written with its folder.
func TestMoveAttachmentOfSeveral(t *testing.T) {
	dir, s := vaultOf(t, map[string]string{"a/x.png": "1", "b/x.png": "2", "c/y.png": "3", "n.md": "![[x.png]] ![[a/x.png]] ![[y.png]]"})
	for _, args := range []string{`{"path":"a/x.png","to":"d/z.png"}`, `{"path":"c/y.png","to":"c/x.png"}`} {
		if r := use(t, s, "", "move_note", args); r.Failed {
			t.Fatal(r.Text)
		}
	}
	expect(t, "links", fileText(t, dir, "n.md"), "![[x.png]] ![[d/z.png]] ![[c/x.png]]")
}

// S6: an image comes as one, any other file as a resource.
func TestReadAttachment(t *testing.T) {
	_, s := vaultOf(t, map[string]string{"img/rose.png": "picture", "paper.pdf": "document", "big.png": strings.Repeat("x", maxAttachment+1)})
	for args, want := range map[string]string{
		`{"path":"img/rose.png"}`: `"type":"image","data":"cGljdHVyZQ==","mimeType":"image/png"`,
		`{"path":"paper.pdf"}`:    `"uri":"obsidian://attachment/paper.pdf","mimeType":"application/pdf","blob":"ZG9jdW1lbnQ="`,
		`{"path":"big.png"}`:      `the maximum is 8 MiB`,
		`{"path":"../x.png"}`:     `must not contain ..`,
		`{"path":".obsidian/x"}`:  `begin with a dot`,
	} {
		res, err := s.Serve(t.Context(), &mcp.Call{Method: mcp.MethodToolsCall, Params: json.RawMessage(`{"name":"read_attachment","arguments":` + args + `}`)})
		if err != nil {
			t.Fatal(err)
		}
		contains(t, args, string(res.Body), want)
	}
}

// S6: nothing is overwritten, nothing leaves the vault, and who may not write
// does not move.
func TestMoveRefuses(t *testing.T) {
	dir := t.TempDir()
	files(t, dir, map[string]string{"a.md": "a", "b.md": "b", "mine/c.md": "[[d]]", "mine/d.md": "d", "theirs/e.md": "[[d]]", "x.png": "x"})
	s := serve(t, Config{Vault: dir})
	for args, want := range map[string]string{
		`{"path":"a.md","to":"b.md"}`: "already", `{"path":"a.md","to":"../b.md"}`: "must not contain ..", `{"path":"a.md","to":".trash/a.md"}`: "begin with a dot",
		`{"path":"nope.md","to":"x.md"}`: "no note", `{"path":"a.md","to":"a"}`: "already", `{"path":"a.md","to":"a.txt"}`: "a note cannot become",
		`{"path":"x.png","to":"y.md"}`: "a note cannot become", `{"path":"no.png","to":"y.png"}`: "no file", `{"path":"mine","to":"other"}`: "no note", `{"path":"a.md","to":"con.md"}`: "does not work on every system",
	} {
		if r := use(t, s, "", "move_note", args); !r.Failed || !strings.Contains(r.Text, want) {
			t.Errorf("%s: %s, want %s", args, r.Text, want)
		}
	}
	team := serve(t, Config{Vault: dir, Grants: &Grants{Principals: map[string][]Grant{"ann": {{Folder: "mine", Write: true}, {Folder: "theirs"}}}}})
	for args, want := range map[string]string{`{"path":"a.md","to":"mine/a.md"}`: "no note", `{"path":"theirs/e.md","to":"mine/e.md"}`: "may not move", `{"path":"mine/c.md","to":"c.md"}`: "may not move"} {
		if r := use(t, team, "ann", "move_note", args); !r.Failed || !strings.Contains(r.Text, want) {
			t.Errorf("%s: %s, want %s", args, r.Text, want)
		}
	}
	r := use(t, team, "ann", "move_note", `{"path":"mine/d.md","to":"mine/f.md"}`)
	contains(t, "what cannot be changed is told", r.Text, "1 link changed in 1 note.\nNot updated: theirs/e.md: you may not change this note")
	expect(t, "mine", fileText(t, dir, "mine/c.md"), "[[f]]")
	for folder, want := range map[string]string{"": "mine/\ntheirs/\n", "mine": "mine/c.md (note", "mine/../theirs": "must not"} {
		contains(t, folder, use(t, team, "ann", "list_folder", fmt.Sprintf(`{"folder":%q}`, folder)).Text, want)
	}
	for _, tool := range []string{"read_attachment", "list_folder"} {
		arg := map[string]string{"read_attachment": `{"path":"x.png"}`, "list_folder": `{"folder":"other"}`}[tool]
		if r := use(t, team, "ann", tool, arg); !r.Failed {
			t.Errorf("%s %s: %s", tool, arg, r.Text)
		}
	}
}

// S6: tags are added to the frontmatter, and removed there and in the text.
func TestTags(t *testing.T) {
	dir, s := vaultOf(t, map[string]string{"a.md": "---\ntitle: A # why\ntags: [one, Two]\n---\ntext #three and `#three` #three/x, #one.\n```\n#three\n```\n", "b.md": "no front #x\n", "c.md": "---\ntag: one two\n---\nc\n"})
	change := func(path, mode, tags string) string {
		t.Helper()
		r := use(t, s, "", "update_note", fmt.Sprintf(`{"path":%q,"mode":%q,"tags":%s}`, path, mode, tags))
		if r.Failed {
			return r.Text
		}
		return fileText(t, dir, path)
	}
	expect(t, "add", change("a.md", "add_tags", `["#four","three","two"]`), "---\ntitle: A # why\ntags:\n  - one\n  - Two\n  - four\n---\ntext #three and `#three` #three/x, #one.\n```\n#three\n```\n")
	expect(t, "remove", change("a.md", "remove_tags", `["three","one"]`), "---\ntitle: A # why\ntags:\n  - Two\n  - four\n---\ntext and `#three` #three/x,.\n```\n#three\n```\n")
	expect(t, "the last", change("a.md", "remove_tags", `["two","four"]`), "---\ntitle: A # why\n---\ntext and `#three` #three/x,.\n```\n#three\n```\n")
	expect(t, "no frontmatter", change("b.md", "add_tags", `["new/tag","x"]`), "---\ntags:\n  - new/tag\n---\nno front #x\n")
	expect(t, "the other key", change("c.md", "add_tags", `["three"]`), "---\ntag:\n  - one\n  - two\n  - three\n---\nc\n")
	contains(t, "no tag", change("c.md", "add_tags", `["a b"]`), "is not a valid tag")
	contains(t, "none", change("c.md", "add_tags", `[]`), "tags must be set for the modes")
	expect(t, "found", use(t, s, "", "get_recent_notes", `{"tag":"new"}`).paths(t), "b.md")
}
