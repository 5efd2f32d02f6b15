package notes

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/internal/safefile"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/mcptest"
	"github.com/tenon-mcp/tenon/server"
)

func TestCreate(t *testing.T) {
	dir, s := vaultOf(t, golden)
	r := use(t, s, "", "create_note", `{"path":"New/Deep/Idea","text":"# Idea\n\nzebra\n","frontmatter":{"tags":["fresh"],"date":"2026-11-15"}}`)
	if r.Failed {
		t.Fatal(r.Text)
	}
	expect(t, "the file", fileText(t, dir, "New/Deep/Idea.md"), "---\ndate: 2026-11-15\ntags:\n  - fresh\n---\n# Idea\n\nzebra\n")
	expect(t, "version", r.field(t, "version"), versionOfNote(t, s, "", "New/Deep/Idea.md"))
	expect(t, "found at once", use(t, s, "", "search_notes", `{"query":"zebra"}`).paths(t), "New/Deep/Idea.md")
	for _, row := range [][2]string{
		{`{"path":"Garden.md","text":"x"}`, `note "Garden.md" exists already; change it with update_note`},
		{`{"path":"GARDEN","text":"x"}`, `note "Garden.md" exists already`},
		{`{"path":"a:b","text":"x"}`, "does not work on every system"},
		{`{"path":"../b","text":"x"}`, "must not contain .."},
		{`{"path":"Garden.md/x","text":"x"}`, `note "Garden.md/x.md": `},
		{`{"path":".obsidian/x","text":"x"}`, "begin with a dot"},
		{`{"path":"ok","text":"---\na: &x 1\n---\n","frontmatter":{"b":1}}`, "anchor"},
	} {
		r := use(t, s, "", "create_note", row[0])
		if !r.Failed {
			t.Errorf("%s was written", row[0])
		}
		contains(t, row[0], r.Text, row[1])
		if strings.Contains(r.Text, dir) {
			t.Errorf("the path of the vault is told: %s", r.Text)
		}
	}
	expect(t, "the old one", fileText(t, dir, "Garden.md"), golden["Garden.md"])
}

func TestUpdate(t *testing.T) {
	crlf := "---\r\ntags: [a] # mine\r\n---\r\n# H\r\none\r\n"
	dir, s := vaultOf(t, map[string]string{"n.md": crlf, "latin.md": "caf\xe9\n", "bin.md": "a\x00b"})
	step := func(args, want string) {
		t.Helper()
		args = strings.Replace(args, "{", fmt.Sprintf(`{"path":"n.md","version":%q,`, versionOfNote(t, s, "", "n.md")), 1)
		r := use(t, s, "", "update_note", args)
		if r.Failed {
			t.Fatalf("%s: %s", args, r.Text)
		}
		expect(t, args, fileText(t, dir, "n.md"), want)
		expect(t, "version", r.field(t, "version"), versionOfNote(t, s, "", "n.md"))
	}
	step(`{"mode":"append","text":"two\nthree"}`, crlf+"two\r\nthree\r\n")
	step(`{"mode":"replace_text","old_text":"two\nthree","text":"2"}`, crlf+"2\r\n")
	step(`{"mode":"replace_section","section":"H","text":"body"}`, "---\r\ntags: [a] # mine\r\n---\r\n# H\r\nbody\r\n")
	step(`{"mode":"frontmatter","frontmatter":{"tags":["b"],"done":true}}`, "---\r\ntags: # mine\r\n  - b\r\ndone: true\r\n---\r\n# H\r\nbody\r\n")
	step(`{"mode":"prepend","section":"h","text":"first"}`, "---\r\ntags: # mine\r\n  - b\r\ndone: true\r\n---\r\n# H\r\nfirst\r\nbody\r\n")
	step(`{"mode":"replace_section","confirm":true,"text":"all new"}`, "---\r\ntags: # mine\r\n  - b\r\ndone: true\r\n---\r\nall new\r\n")
	r := use(t, s, "", "update_note", fmt.Sprintf(`{"path":"n.md","mode":"replace_text","old_text":"all","text":"all","version":%q}`, versionOfNote(t, s, "", "n.md")))
	expect(t, "nothing to do", r.field(t, "changed"), "false")

	use(t, s, "", "update_note", `{"path":"latin","mode":"append","text":"é"}`)
	expect(t, "bytes of another encoding", fileText(t, dir, "latin.md"), "caf\xe9\né\n")
	contains(t, "remark", use(t, s, "", "read_note", `{"path":"latin"}`).Structured, "the note is not valid UTF-8")
	contains(t, "binary", use(t, s, "", "read_note", `{"path":"bin"}`).Text, "it is binary")

	for _, row := range [][2]string{
		{`{"path":"n","mode":"replace_text","old_text":"x","text":"y"}`, "replace_text needs the version of the note; pass the version from read_note"},
		{`{"path":"n","mode":"replace_section","text":"y"}`, "needs the version"},
		{`{"path":"n","mode":"append","text":" "}`, "text is empty"},
		{`{"path":"n","mode":"append","text":"x","section":"Nope"}`, "no section"},
		{`{"path":"n","mode":"frontmatter","version":"x"}`, "frontmatter is empty"},
		{`{"path":"n","mode":"append","text":"x","frontmatter":{"a":1}}`, "in a separate call"},
		{`{"path":"n","mode":"append","text":"x","old_text":"y"}`, "needs the mode"},
		{`{"path":"n","mode":"shred"}`, "mode"},
		{`{"path":"none","mode":"append","text":"x"}`, "no note"},
		{`{"path":"n","mode":"append","text":"x","version":"0000000000000000"}`, "nothing was written. Read it again with read_note"},
	} {
		before := fileText(t, dir, "n.md")
		r := use(t, s, "", "update_note", row[0])
		if !r.Failed || fileText(t, dir, "n.md") != before {
			t.Errorf("%s was written", row[0])
		}
		contains(t, row[0], r.Text, row[1])
	}
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if safefile.IsTemp(e.Name()) {
			t.Errorf("%s is left", e.Name())
		}
	}
}

// F38: two clients and another editor change one note; nobody's edit is lost.
func TestConflict(t *testing.T) {
	dir, s := vaultOf(t, map[string]string{"n.md": "start\n"})
	read := versionOfNote(t, s, "", "n.md")
	edit := func(text string) reply {
		return use(t, s, "", "update_note", fmt.Sprintf(`{"path":"n.md","version":%q,"mode":"replace_text","old_text":"start","text":%q}`, read, text))
	}
	if r := edit("first"); r.Failed {
		t.Fatal(r.Text)
	}
	second := edit("second")
	contains(t, "the second client", second.Text, "\"n.md\" changed since version "+read)
	expect(t, "the file", fileText(t, dir, "n.md"), "first\n")

	read = versionOfNote(t, s, "", "n.md")
	files(t, dir, map[string]string{"n.md": "start from an editor\n"})
	contains(t, "after an editor", edit("third").Text, "changed since version")
	expect(t, "the file", fileText(t, dir, "n.md"), "start from an editor\n")
	contains(t, "deleting", use(t, s, "", "delete_note", fmt.Sprintf(`{"path":"n.md","version":%q,"confirm":true}`, read)).Text, "changed since version")
}

// Many clients add lines at once, and every line is there.
func TestAppendAtOnce(t *testing.T) {
	dir, s := vaultOf(t, map[string]string{"log.md": "# Log\n"})
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 10 {
				if r := use(t, s, "", "update_note", fmt.Sprintf(`{"path":"log.md","mode":"append","text":"- %d/%d"}`, g, i)); r.Failed {
					t.Error(r.Text)
				}
			}
		})
	}
	wg.Wait()
	text := fileText(t, dir, "log.md")
	for g := range 8 {
		for i := range 10 {
			if !strings.Contains(text, fmt.Sprintf("- %d/%d\n", g, i)) {
				t.Errorf("%d/%d is lost", g, i)
			}
		}
	}
}

// An editor saves in the last moment, when the new text is already written.
func TestConflictInTheLastMoment(t *testing.T) {
	dir := t.TempDir()
	files(t, dir, map[string]string{"n.md": "start\n"})
	v, err := open(Config{Vault: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer v.root.Close()
	v.changes = server.New(mcp.Implementation{Name: "x"}, nil)
	st, err := v.load("n.md")
	if err != nil {
		t.Fatal(err)
	}
	files(t, dir, map[string]string{"n.md": "saved\n"})
	err = v.replace(st, []byte("ours\n"))
	if err == nil || fileText(t, dir, "n.md") != "saved\n" {
		t.Errorf("%v, %q", err, fileText(t, dir, "n.md"))
	}
	contains(t, "conflict", fmt.Sprint(err), "another program changed the file")
}

func TestDelete(t *testing.T) {
	dir, s := vaultOf(t, golden)
	contains(t, "without a word", use(t, s, "", "delete_note", `{"path":"Work/Plan.md"}`).Text, "call again with confirm=true")
	contains(t, "by name", use(t, s, "", "delete_note", `{"path":"plan","confirm":true}`).Text, "no note")
	for i, want := range []string{".trash/Work/Plan.md", ".trash/Work/Plan 2.md", ".trash/Work/Plan 3.md"} {
		files(t, dir, map[string]string{"Work/Plan.md": fmt.Sprint(i)})
		r := use(t, s, "", "delete_note", `{"path":"Work/Plan.md","confirm":true}`)
		if r.Failed {
			t.Fatal(r.Text)
		}
		expect(t, "trash", r.field(t, "trash"), want)
		expect(t, "in the trash", fileText(t, dir, want), fmt.Sprint(i))
		if _, err := os.Stat(filepath.Join(dir, "Work/Plan.md")); !os.IsNotExist(err) {
			t.Errorf("it is still there: %v", err)
		}
	}
	if got := use(t, s, "", "search_notes", `{"query":"plan"}`).paths(t); strings.Contains(got, "Plan") {
		t.Errorf("it is still found: %s", got)
	}
}

// The person is asked where that is possible, whatever the model says, and
// nothing happens before the answer.
func TestDeleteAsks(t *testing.T) {
	answers := map[string]string{
		`{"action":"accept","content":{"confirm":true}}`:  `"trash":".trash/Garden.md"`,
		`{"action":"accept","content":{"confirm":false}}`: `the user declined`,
		`{"action":"decline"}`:                            `declined`,
		`{"action":"cancel"}`:                             `dismissed the request`,
	}
	for answer, want := range answers {
		dir, s := vaultOf(t, golden)
		asked := ""
		h := mcp.HandleInput(s, func(_ context.Context, _ *mcp.Call, _ string, q mcp.InputRequest) (json.RawMessage, error) {
			asked = string(q.Params)
			fileText(t, dir, "Garden.md") // still there
			return json.RawMessage(answer), nil
		}, 0)
		c := &mcp.Call{Method: mcp.MethodToolsCall, Params: json.RawMessage(`{"name":"delete_note","arguments":{"path":"Garden.md","confirm":true}}`)}
		c.Caller.Capabilities = &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapability{}}
		res, err := h.Serve(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		contains(t, answer, string(res.Body), want)
		contains(t, "the question", asked, `Move to the trash: the note \"Garden.md\"?`)
		_, err = os.Stat(filepath.Join(dir, "Garden.md"))
		if gone := os.IsNotExist(err); gone != strings.Contains(answer, "true") {
			t.Errorf("%s: gone: %v", answer, gone)
		}
	}
}

func TestAsksTwice(t *testing.T) {
	dir, s := vaultOf(t, golden)
	again := mcp.HandlerFunc(func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
		if c.Method == mcp.MethodToolsCall { // others come at the same time, and must not write what is being read
			files(t, dir, map[string]string{"Garden.md": golden["Garden.md"]})
			os.RemoveAll(filepath.Join(dir, ".trash"))
		}
		return s.Serve(ctx, c)
	})
	mcptest.Twice(t, again, &mcp.Call{Method: mcp.MethodToolsCall, Params: json.RawMessage(`{"name":"delete_note","arguments":{"path":"Garden.md"}}`)},
		func(mcp.InputRequest) string { return `{"action":"accept","content":{"confirm":true}}` }, nil)
}

func TestWriteInEveryEra(t *testing.T) {
	dir, s := vaultOf(t, golden)
	n := 0
	mcptest.EveryEra(t, s, func(t *testing.T, h mcp.Handler) {
		n++
		name := fmt.Sprintf("era %d.md", n)
		c := client.New(h, &client.Options{Elicit: func(_ context.Context, e *client.Elicitation) (*mcp.ElicitResult, error) {
			return e.Accept(map[string]any{"confirm": true})
		}})
		for _, step := range []struct {
			tool string
			args map[string]any
		}{
			{"create_note", map[string]any{"path": name, "text": "one"}},
			{"update_note", map[string]any{"path": name, "mode": "append", "text": "two"}},
			{"delete_note", map[string]any{"path": name, "confirm": true}},
		} {
			if step.tool == "delete_note" {
				expect(t, "written", fileText(t, dir, name), "one\ntwo\n")
			}
			res, err := c.CallTool(t.Context(), step.tool, step.args, nil)
			if err != nil || res.IsError {
				t.Fatalf("%s: %+v, %v", step.tool, res, err)
			}
		}
		expect(t, "in the trash", fileText(t, dir, ".trash/"+name), "one\ntwo\n")
	})
}
