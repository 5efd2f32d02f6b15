package notes

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/mcptest"
)

// golden is a small vault.
var golden = map[string]string{
	"Garden.md":            "---\ntags: [plants]\naliases: [The Yard]\n---\n# My garden\n\nRoses need water. See [[Tools]].\n",
	"Tools.md":             "# Tools\n\nA spade for the garden, and a rake. #plants/tools\n",
	"Work/Plan.md":         "# Plan\n\nBudget for the [[the yard]]: 100. #work\n\n## Tasks\n- [ ] call Ann\n\n## Notes\nnothing\n",
	"Work/Meeting.md":      "# Meeting\n\nWe met. [garden](../Garden.md) was not a topic. #work #meeting\n",
	"Work/Tools.md":        "# Other tools\n\nA laptop, see [[Garden#My garden|here]] and [[Tools]].\n",
	"Archive/Old/Diary.md": "Dear diary, `[[Garden]]` is code.\n",
	".obsidian/app.md":     "garden settings",
	".trash/gone.md":       "garden gone",
	"image.png":            "\x89PNG garden",
}

func TestEveryEra(t *testing.T) {
	_, s := vaultOf(t, golden)
	rows := []struct{ tool, args, text, structured string }{
		{"search_notes", `{"query":"garden"}`, "5 notes found for \"garden\":\n\n- Garden.md “My garden”", `"path":"Garden.md","uri":"obsidian://note/Garden.md","title":"My garden","tags":["plants"]`},
		{"search_notes", `{"query":"garden","limit":1}`, "There are more. Continue with offset=1.", `"next_offset":1`},
		{"search_notes", `{"query":"\"need water\""}`, "Roses need water. See [[Tools]].", `"path":"Garden.md"`},
		{"search_notes", `{"query":"\"water need\""}`, "No notes found for", `"notes":[]`},
		{"search_notes", `{"query":"garden","tag":"#Plants","folder":"Work"}`, "No notes found", `"notes":[]`},
		{"get_recent_notes", `{"tag":"plants","limit":5}`, "2 notes with #plants changed last", `"path":"Tools.md"`},
		{"read_note", `{"path":"Work/Plan","section":"Tasks"}`, "## Tasks\n- [ ] call Ann\n\n", `"size":25`},
		{"read_note", `{"path":"meeting"}`, "# Meeting\n", `"path":"Work/Meeting.md"`},
		{"list_tags", `{}`, "#work (2)\n#meeting (1)\n#plants (1)\n#plants/tools (1)\n", `{"tag":"work","notes":2}`},
		{"list_tags", `{"prefix":"pl","limit":1}`, "#plants (1)\nThere are more", `"next_offset":1`},
		{"search_notes", `{"query":"gardne"}`, "5 notes found for \"gardne\" (corrected to \"garden\")", `"corrected":"garden"`},
		{"search_notes", `{"query":"garden -spade -#work"}`, "3 notes found", `"path":"Garden.md"`},
		{"search_notes", `{"query":"garden -\"need water\"","exclude_folders":["Work/","Archive"]}`, "1 note found", `"path":"Tools.md"`},
		{"read_note", `{"path":"Work/Plan","outline":true}`, "Work/Plan.md, 9 lines:\n    1  # Plan\n    5  ## Tasks\n    8  ## Notes\n", `{"section":"Plan#Tasks","level":2,"line":5,"size":25}`},
		{"read_note", `{"path":"Work/Plan","from_line":5,"to_line":6}`, "## Tasks\n- [ ] call Ann\n", `"size":24`},
		{"read_note", `{"path":"Work/Plan","from_line":8}`, "## Notes\nnothing\n", `"from_line":8`},
		{"read_notes", `{"paths":["Garden","nowhere","Tools.md"],"limit":20}`, "=== nowhere: no note", `"next_offset":20`},
		{"list_folder", `{}`, "Archive/\nWork/\nGarden.md “My garden” (note, ", `{"path":"image.png","kind":"attachment"`},
		{"list_folder", `{"folder":"Work/","limit":1}`, "There are more. Continue with offset=1.", `"path":"Work/Meeting.md","kind":"note","title":"Meeting"`},
		{"backlinks", `{"path":"Garden"}`, "3 notes with a link to Garden.md:\n\n- Work/Meeting.md", `"path":"Work/Plan.md"`},
	}
	mcptest.EveryEra(t, s, func(t *testing.T, h mcp.Handler) {
		c := client.New(h, nil)
		if _, err := client.All(c.Tools(t.Context())); err != nil { // so that outputs are held against their schemas
			t.Fatal(err)
		}
		for _, row := range rows {
			res, err := c.CallTool(t.Context(), row.tool, json.RawMessage(row.args), nil)
			if err != nil || res.IsError {
				t.Fatalf("%s %s: %v, %+v", row.tool, row.args, err, res)
			}
			contains(t, row.tool+row.args, res.Content[0].(*mcp.TextContent).Text, row.text)
			if res.StructuredContent != nil {
				contains(t, row.tool+row.args, string(res.StructuredContent), row.structured)
			}
		}
		resources, err := client.All(c.Resources(t.Context()))
		if err != nil || len(resources) != 7 { // six notes and a skill
			t.Fatalf("%d resources, %v", len(resources), err)
		}
		for _, r := range resources {
			if strings.HasPrefix(r.URI, skillScheme) {
				continue
			}
			got, err := c.ReadResource(t.Context(), r.URI)
			if err != nil || got.Contents[0].Text != golden[r.Name] || got.Contents[0].MIMEType != "text/markdown" {
				t.Errorf("%s: %+v, %v", r.URI, got, err)
			}
		}
		prompt, err := c.GetPrompt(t.Context(), "meeting_summary", map[string]string{"path": "Work/Meeting.md", "focus": "dates"})
		if err != nil || len(prompt.Messages) != 2 {
			t.Fatalf("%+v, %v", prompt, err)
		}
		contains(t, "prompt", prompt.Messages[0].Content.(*mcp.TextContent).Text, "What matters most: dates")
		contains(t, "prompt", prompt.Messages[1].Content.(*mcp.EmbeddedResource).Resource.Text, "We met.")
		if _, err := c.GetPrompt(t.Context(), "meeting_summary", map[string]string{"path": "Nothing"}); err == nil || !strings.Contains(err.Error(), "no note") {
			t.Errorf("a prompt for nothing: %v", err)
		}
	})
}

func TestComplete(t *testing.T) {
	_, s := vaultOf(t, golden)
	c := client.New(s, nil)
	for _, ref := range []mcp.CompletionRef{{Type: mcp.RefResource, URI: template}, {Type: mcp.RefPrompt, Name: "meeting_summary"}} {
		for value, want := range map[string]string{
			"":                         "Archive/Old/Diary.md Garden.md Tools.md Work/Meeting.md Work/Plan.md Work/Tools.md",
			"work/":                    "Work/Meeting.md Work/Plan.md Work/Tools.md",
			"too":                      "Tools.md Work/Tools.md",
			".ob":                      "",
			strings.Repeat("x", 1<<20): "",
		} {
			p := mcp.CompleteParams{Ref: ref}
			p.Argument.Name, p.Argument.Value = "path", value
			got, err := c.Complete(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			expect(t, fmt.Sprintf("%.20q", value), strings.Join(got.Values, " "), want)
		}
	}
}

// Links by name, by path, by alias and in Markdown; code is not a link.
func TestBacklinks(t *testing.T) {
	_, s := vaultOf(t, golden)
	rows := [][2]string{
		{"Tools.md", "Garden.md, Work/Tools.md"}, // a whole path comes before the same folder
		{"Work/Tools.md", ""},
		{"Garden.md", "Work/Meeting.md, Work/Plan.md, Work/Tools.md"},
		{"Archive/Old/Diary", ""},
	}
	for _, row := range rows {
		r := use(t, s, "", "backlinks", fmt.Sprintf(`{"path":%q}`, row[0]))
		expect(t, row[0], r.paths(t), row[1])
	}
	r := use(t, s, "", "backlinks", `{"path":"Garden.md"}`)
	contains(t, "the line", r.Text, "A laptop, see [[Garden#My garden|here]] and [[Tools]].")
	r = use(t, s, "", "backlinks", `{"path":"Garden.md","limit":1,"offset":1}`)
	expect(t, "a page", r.paths(t), "Work/Plan.md")
	contains(t, "a page", r.Structured, `"next_offset":2`)
}

func TestFind(t *testing.T) {
	_, s := vaultOf(t, golden)
	rows := [][2]string{
		{"Garden.md", "Garden.md"}, {"garden", "Garden.md"}, {"plan", "Work/Plan.md"}, {"work/plan.MD", "Work/Plan.md"}, {"old/diary", "Archive/Old/Diary.md"},
		{"Tools", "Tools.md"}, {"work/tools", "Work/Tools.md"},
		{"lan", `no note "lan.md"; find its path with search_notes`},
		{"Work", `no note "Work.md"`},
	}
	for _, row := range rows {
		r := use(t, s, "", "read_note", fmt.Sprintf(`{"path":%q}`, row[0]))
		if r.Failed {
			contains(t, row[0], r.Text, row[1])
		} else {
			expect(t, row[0], r.field(t, "path"), row[1])
		}
	}
	_, s = vaultOf(t, map[string]string{"a/x.md": "", "b/x.md": ""})
	contains(t, "two", use(t, s, "", "read_note", `{"path":"x"}`).Text, `"x" is ambiguous: 2 notes, such as a/x.md, b/x.md; give the full path`)
}

// A long note comes in parts that are the whole when put together.
func TestReadInParts(t *testing.T) {
	var b strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&b, "Line %d is ünïcödé 🙂 %s\n", i, strings.Repeat("x", i%300))
		if i%500 == 0 {
			fmt.Fprintf(&b, "## Part %d\n", i)
		}
	}
	text := b.String()
	_, s := vaultOf(t, map[string]string{"long.md": text})
	for _, limit := range []int{1, 2, 1000, 32768, 262144} {
		var got strings.Builder
		offset, rounds := 0, 0
		for {
			r := use(t, s, "", "read_note", fmt.Sprintf(`{"path":"long.md","offset":%d,"limit":%d}`, offset, limit))
			if r.Failed {
				t.Fatal(r.Text)
			}
			var p page
			if err := json.Unmarshal([]byte(r.Structured), &p); err != nil {
				t.Fatal(err)
			}
			part := r.Text
			if p.NextOffset != nil {
				part = part[:strings.LastIndex(part, "\n[long.md bytes")]
			}
			if len(part) > max(limit, 4) {
				t.Fatalf("%d bytes where %d are allowed", len(part), limit)
			}
			got.WriteString(part)
			if rounds++; p.NextOffset == nil || rounds == 300 {
				break
			}
			offset = *p.NextOffset
		}
		if want := text[:got.Len()]; got.String() != want || rounds < 300 && got.Len() != len(text) {
			t.Errorf("limit %d: the parts are not the whole", limit)
		}
	}
	r := use(t, s, "", "read_note", `{"path":"long.md"}`)
	contains(t, "outline", r.Structured, `{"section":"Part 500","level":2,`)
	contains(t, "beyond", use(t, s, "", "read_note", `{"path":"long.md","offset":99999999}`).Text, "after the end")
}

func TestSearchInFolder(t *testing.T) {
	all := map[string]string{}
	for i := range 30 {
		all[fmt.Sprintf("f%d/note%d.md", i%3, i)] = fmt.Sprintf("---\ntags: [t%d]\n---\nsame words everywhere %s\n", i%2, strings.Repeat("filler ", i))
	}
	_, s := vaultOf(t, all)
	seen := map[string]bool{}
	for offset := 0; offset < 10; offset += 4 {
		r := use(t, s, "", "search_notes", fmt.Sprintf(`{"query":"same words","folder":"f1/","limit":4,"offset":%d}`, offset))
		for _, p := range strings.Split(r.paths(t), ", ") {
			if seen[p] || !strings.HasPrefix(p, "f1/") {
				t.Errorf("%s comes twice, or from elsewhere", p)
			}
			seen[p] = true
		}
		if more := strings.Contains(r.Structured, "next_offset"); more != (offset < 8) {
			t.Errorf("offset %d: more: %v", offset, more)
		}
	}
	if len(seen) != 10 {
		t.Errorf("%d found", len(seen))
	}
	if r := use(t, s, "", "search_notes", `{"query":"same","tag":"t1","folder":"f1","limit":50}`); len(strings.Split(r.paths(t), ", ")) != 5 {
		t.Errorf("with tag and folder: %s", r.paths(t))
	}
}

func TestRecent(t *testing.T) {
	dir := t.TempDir()
	files(t, dir, golden)
	for i, name := range []string{"Tools.md", "Work/Plan.md", "Garden.md"} {
		at := time.Date(2031, 1, 1+i, 0, 0, 0, 0, time.UTC)
		if err := os.Chtimes(filepath.Join(dir, name), at, at); err != nil {
			t.Fatal(err)
		}
	}
	s := serve(t, Config{Vault: dir})
	expect(t, "recent", use(t, s, "", "get_recent_notes", `{"limit":3}`).paths(t), "Garden.md, Work/Plan.md, Tools.md")
	expect(t, "behind", use(t, s, "", "get_recent_notes", `{"limit":1,"offset":2}`).paths(t), "Tools.md")
	expect(t, "with a tag", use(t, s, "", "get_recent_notes", `{"tag":"work","limit":1}`).paths(t), "Work/Plan.md")
}

func TestReadOnly(t *testing.T) {
	dir := t.TempDir()
	files(t, dir, golden)
	s := serve(t, Config{Vault: dir, ReadOnly: true})
	tools, err := client.All(client.New(s, nil).Tools(t.Context()))
	if err != nil || len(tools) != 8 {
		t.Fatalf("%d tools, %v", len(tools), err)
	}
	for _, tool := range tools {
		if !tool.Annotations.ReadOnly() || tool.OutputSchema == nil || tool.Annotations.OpenWorld() {
			t.Errorf("%s: %+v", tool.Name, tool.Annotations)
		}
	}
	for name := range writeTools {
		contains(t, name, use(t, s, "", name, `{"path":"x","text":"y","confirm":true}`).Text, "unknown tool")
	}
}

func TestConfig(t *testing.T) {
	rows := [][2]string{
		{"vault=/x", "{/x false 0s}"}, {"vault=/x&readonly=1", "{/x true 0s}"}, {"vault=/x&readonly=0&poll=2s", "{/x false 2s}"}, {"vault=/x&readonly", "{/x true 0s}"},
		{"", "vault is missing"}, {"vault=", "vault is missing"}, {"root=/x", `unknown setting "root"; notes has vault, readonly, poll, cache, grants`},
		{"vault=/x&vault=/y", "set 2 times"}, {"vault=/x&readonly=maybe", "invalid readonly=maybe"}, {"vault=/x&poll=often", "invalid poll=often"},
	}
	for _, row := range rows {
		q, err := url.ParseQuery(row[0])
		if err != nil {
			t.Fatal(err)
		}
		c, err := FromQuery(q)
		got := fmt.Sprintf("{%s %v %v}", c.Vault, c.ReadOnly, c.Poll)
		if err != nil {
			got = err.Error()
		}
		contains(t, row[0], got, row[1])
	}
	dir := t.TempDir()
	for text, want := range map[string]string{
		`{"home":"people/{id}","everyone":[{"folder":"shared"}],"principals":{"ann":[{"folder":"","write":true}]}}`: "&{Issuer: Home:people/{id} Everyone:[{Folder:shared Write:false}] Principals:map[ann:[{Folder: Write:true}]]}",
		`{"homes":"x/{id}"}`: "homes", `{"home":"x"}`: "must contain {id}", `{"home":"a","home":"b"}`: "not JSON", `[]`: "is invalid", `{"everyone":[{"write":true}]}`: "folder",
	} {
		files(t, dir, map[string]string{"g.json": text})
		c, err := FromQuery(url.Values{"vault": {"x"}, "grants": {filepath.Join(dir, "g.json")}})
		got := fmt.Sprintf("%+v", c.Grants)
		if err != nil {
			got = err.Error()
		}
		contains(t, text, got, want)
	}
	if _, err := FromQuery(url.Values{"vault": {"x"}, "grants": {filepath.Join(dir, "none.json")}}); err == nil {
		t.Error("grants that are not there were taken")
	}
	for _, c := range []Config{{}, {Vault: "/does/not/exist"}, {Vault: "notes_test.go"}, {Vault: ".", Grants: &Grants{Home: "people"}}, {Vault: ".", Grants: &Grants{Home: "../{id}"}}, {Vault: ".", Grants: &Grants{Everyone: []Grant{{Folder: "a/../b"}}}}, {Vault: ".", Grants: &Grants{Principals: map[string][]Grant{"x": {{Folder: "/a"}}}}}} {
		if s, err := New(c); err == nil {
			s.Close()
			t.Errorf("%+v was taken", c)
		}
	}
}
