package notes

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// team is a vault that Ann and Bob share: each has a home, Ann may write in
// shared, Bob may read it, and nobody may see board.
func team(t *testing.T) (dir string, s *server.Server) {
	t.Helper()
	dir = t.TempDir()
	files(t, dir, map[string]string{
		"people/ann/Diary.md":  "# Diary\nunicorn of ann #secretann [[Plan]] [[Board]]\n",
		"people/bob/Diary.md":  "# Diary\nunicorn of bob #secretbob [[Plan]]\n",
		"people/annie/Note.md": "unicorn of annie",
		"shared/Plan.md":       "# Plan\nunicorn for all #common\n",
		"board/Board.md":       "unicorn of the board #secretboard [[Plan]]\n",
		"Root.md":              "unicorn at the root",
	})
	return dir, serve(t, Config{Vault: dir, Grants: &Grants{
		Home:       "people/{id}",
		Everyone:   []Grant{{Folder: "shared"}},
		Principals: map[string][]Grant{"ann": {{Folder: "shared", Write: true}}, "boss": {{Write: true}}},
	}})
}

func TestTeamSees(t *testing.T) {
	_, s := team(t)
	all := map[string]string{
		"ann":  "people/ann/Diary.md shared/Plan.md",
		"bob":  "people/bob/Diary.md shared/Plan.md",
		"new":  "shared/Plan.md",
		"boss": "Root.md board/Board.md people/ann/Diary.md people/annie/Note.md people/bob/Diary.md shared/Plan.md",
	}
	for who, want := range all {
		c := client.New(s, nil).As(&mcp.Principal{ID: who})
		var listed []string
		for r, err := range c.Resources(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(r.URI, skillScheme) {
				listed = append(listed, r.Name)
			}
		}
		expect(t, who+" lists", strings.Join(listed, " "), want)
		found := strings.Split(use(t, s, who, "search_notes", `{"query":"unicorn","limit":50}`).paths(t), ", ")
		expect(t, who+" finds", strings.Join(sorted(found), " "), want)
		recent := strings.Split(use(t, s, who, "get_recent_notes", `{"limit":50}`).paths(t), ", ")
		expect(t, who+" has lately", strings.Join(sorted(recent), " "), want)
		p := mcp.CompleteParams{Ref: mcp.CompletionRef{Type: mcp.RefResource, URI: template}}
		p.Argument.Name = "path"
		completed, err := c.Complete(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		expect(t, who+" completes", strings.Join(completed.Values, " "), want)
		for _, name := range strings.Fields(all["boss"]) {
			may := strings.Contains(want+" ", name+" ")
			_, err := c.ReadResource(t.Context(), uriOf(name))
			if (err == nil) != may {
				t.Errorf("%s reads %s: %v", who, name, err)
			}
			// Spelled otherwise it is not in the list, and still not granted.
			if _, err := c.ReadResource(t.Context(), uriPrefix+strings.ReplaceAll(name, "/", "%2F")); (err == nil) != may {
				t.Errorf("%s reads %s, spelled otherwise: %v", who, name, err)
			}
			r := use(t, s, who, "read_note", fmt.Sprintf(`{"path":%q}`, name))
			if r.Failed == may {
				t.Errorf("%s reads %s: %+v", who, name, r)
			}
			if !may {
				contains(t, "as if it were not there", r.Text, "no note")
				_, err := c.GetPrompt(t.Context(), "meeting_summary", map[string]string{"path": name})
				contains(t, "prompt", fmt.Sprint(err), "no note")
				contains(t, "links", use(t, s, who, "backlinks", fmt.Sprintf(`{"path":%q}`, name)).Text, "no note")
			}
		}
	}
	expect(t, "tags of bob", use(t, s, "bob", "list_tags", `{}`).Text, "#common (1)\n#secretbob (1)\n")
	expect(t, "links for bob", use(t, s, "bob", "backlinks", `{"path":"Plan"}`).paths(t), "people/bob/Diary.md")
	expect(t, "links for boss", use(t, s, "boss", "backlinks", `{"path":"Plan"}`).paths(t), "board/Board.md, people/ann/Diary.md, people/bob/Diary.md")
}

func TestTeamWrites(t *testing.T) {
	dir, s := team(t)
	write := func(who, name string) reply {
		return use(t, s, who, "create_note", fmt.Sprintf(`{"path":%q,"text":"by %s"}`, name, who))
	}
	for _, row := range []struct{ who, name, want string }{
		{"ann", "people/ann/new.md", ""},
		{"ann", "shared/new.md", ""},
		{"bob", "people/bob/deep/new.md", ""},
		{"carol", "people/carol/first.md", ""}, // a home is made when it is needed
		{"Ann", "people/%41nn/mine.md", ""},    // another person than ann
		{"bob", "shared/bob.md", "you may not write \"shared/bob.md\"; you may write in people/bob/"},
		{"bob", "people/ann/x.md", "you may not write"},
		{"bob", "people/bob/../ann/x.md", "must not contain .."},
		{"bob", "people/bobby/x.md", "you may not write"},
		{"bob", "people/bob.md", "you may not write"},
		{"bob", "x.md", "you may not write"},
		{"Ann", "people/ann/x.md", "you may not write"},
	} {
		r := write(row.who, row.name)
		if r.Failed != (row.want != "") {
			t.Errorf("%+v: %+v", row, r)
		}
		contains(t, row.name, r.Text, row.want)
		_, err := os.Stat(filepath.Join(dir, filepath.FromSlash(filepath.Clean(row.name))))
		if (err == nil) != (row.want == "") {
			t.Errorf("%+v: %v", row, err)
		}
	}
	contains(t, "update", use(t, s, "bob", "update_note", `{"path":"shared/Plan.md","mode":"append","text":"x"}`).Text, "you may read \"shared/Plan.md\" but not change it")
	contains(t, "update", use(t, s, "bob", "update_note", `{"path":"people/ann/Diary.md","mode":"append","text":"x"}`).Text, "no note")
	contains(t, "delete", use(t, s, "bob", "delete_note", `{"path":"shared/Plan.md","confirm":true}`).Text, "but not delete it")
	contains(t, "delete", use(t, s, "bob", "delete_note", `{"path":"people/ann/Diary.md","confirm":true}`).Text, "no note")
	fileText(t, dir, "people/ann/Diary.md")
}

// A link in the folder of one leads into the folder of another, within the
// vault: it is not followed.
func TestTeamLinks(t *testing.T) {
	dir, s := team(t)
	if err := os.Symlink("../ann", filepath.Join(dir, "people/bob/ann")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../ann/Diary.md", filepath.Join(dir, "people/bob/note.md")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"people/bob/ann/Diary.md", "people/bob/note.md"} {
		for _, r := range []reply{
			use(t, s, "bob", "read_note", fmt.Sprintf(`{"path":%q}`, name)),
			use(t, s, "bob", "update_note", fmt.Sprintf(`{"path":%q,"mode":"append","text":"bob was here"}`, name)),
			use(t, s, "bob", "delete_note", fmt.Sprintf(`{"path":%q,"confirm":true}`, name)),
			use(t, s, "bob", "create_note", `{"path":"people/bob/ann/evil.md","text":"x"}`),
		} {
			if !r.Failed || strings.Contains(r.Text, "unicorn of ann") {
				t.Errorf("%s: %+v", name, r)
			}
		}
		c := &mcp.Call{Method: mcp.MethodResourcesRead, Params: json.RawMessage(fmt.Sprintf(`{"uri":%q}`, uriOf(name)))}
		c.Caller.Principal = &mcp.Principal{ID: "bob"}
		if res, err := s.Serve(t.Context(), c); err == nil {
			t.Errorf("%s: %s", name, res.Body)
		}
	}
	expect(t, "the diary", fileText(t, dir, "people/ann/Diary.md"), "# Diary\nunicorn of ann #secretann [[Plan]] [[Board]]\n")
}

func TestTeamStrangers(t *testing.T) {
	dir := t.TempDir()
	s := serve(t, Config{Vault: dir, Grants: &Grants{Home: "people/{id}"}})
	for _, method := range []string{mcp.MethodToolsList, mcp.MethodResourcesList, mcp.MethodPromptsList, mcp.MethodToolsCall, mcp.MethodResourcesRead, mcp.MethodComplete, mcp.MethodSubscriptionsListen} {
		for _, p := range []*mcp.Principal{nil, {}} {
			c := &mcp.Call{Method: method, Params: json.RawMessage(`{}`)}
			c.Caller.Principal = p
			if _, err := s.Serve(t.Context(), c); err == nil || !strings.Contains(err.Error(), "needs a login") {
				t.Errorf("%s: %v", method, err)
			}
		}
	}
	if _, err := s.Serve(t.Context(), &mcp.Call{Method: mcp.MethodDiscover}); err != nil {
		t.Error(err)
	}
	dir = t.TempDir()
	files(t, dir, map[string]string{"a.md": "x"})
	one, err := New(Config{Vault: dir, Grants: &Grants{Issuer: "https://us", Everyone: []Grant{{}}}})
	if err != nil {
		t.Fatal(err)
	}
	defer one.Close()
	for issuer, ok := range map[string]bool{"https://us": true, "https://them": false, "": false} {
		c := &mcp.Call{Method: mcp.MethodToolsCall, Params: json.RawMessage(`{"name":"read_note","arguments":{"path":"a.md"}}`)}
		c.Caller.Principal = &mcp.Principal{ID: "x", Issuer: issuer}
		if _, err := one.Serve(t.Context(), c); (err == nil) != ok {
			t.Errorf("%q: %v", issuer, err)
		}
	}
}

// Who may write nothing does not see the tools for it.
func TestTeamTools(t *testing.T) {
	dir := t.TempDir()
	s := serve(t, Config{Vault: dir, Grants: &Grants{Everyone: []Grant{{Folder: "a"}}, Principals: map[string][]Grant{"w": {{Folder: "a", Write: true}}}}})
	for who, n := range map[string]int{"r": 8, "w": 12} {
		tools, err := client.All(client.New(s, nil).As(&mcp.Principal{ID: who}).Tools(t.Context()))
		if err != nil || len(tools) != n {
			t.Errorf("%s: %d tools, %v", who, len(tools), err)
		}
	}
}

// Two people at once, many calls: no answer has anything of the other.
func TestTeamAtOnce(t *testing.T) {
	_, s := team(t)
	var wg sync.WaitGroup
	for _, who := range []string{"ann", "bob"} {
		other := map[string]string{"ann": "bob", "bob": "ann"}[who]
		for range 2 {
			wg.Go(func() {
				for i := range 40 {
					for _, r := range []reply{
						use(t, s, who, "search_notes", `{"query":"unicorn","limit":50}`),
						use(t, s, who, "list_tags", `{}`),
						use(t, s, who, "get_recent_notes", `{}`),
						use(t, s, who, "backlinks", `{"path":"Plan"}`),
						use(t, s, who, "read_note", `{"path":"Diary"}`),
					} {
						if r.Failed || strings.Contains(r.Text+r.Structured, other) || strings.Contains(r.Text+r.Structured, "oard") && !strings.Contains(r.Text, "[[Board]]") {
							t.Errorf("%s got %+v", who, r)
						}
					}
					if i%10 == 0 {
						use(t, s, who, "update_note", `{"path":"Diary","mode":"append","text":"more"}`)
					}
				}
			})
		}
	}
	wg.Wait()
}

// What a word counts in a search depends on how many notes have it. Whoever
// could see that of notes that were not granted could find out, word by word,
// what is in them.
func TestTeamScores(t *testing.T) {
	mine := map[string]string{"people/bob/a.md": "merger of the gardens", "people/bob/b.md": "walnuts and more walnuts"}
	grants := &Grants{Home: "people/{id}"}
	dir := t.TempDir()
	files(t, dir, mine)
	alone := serve(t, Config{Vault: dir, Grants: grants})
	dir = t.TempDir()
	files(t, dir, mine)
	for i := range 40 { // words of others, of which some begin like those of Bob
		files(t, dir, map[string]string{fmt.Sprintf("board/%d.md", i): fmt.Sprintf("merger walnut walnutty%d mergerless%d of it all", i, i)})
	}
	among := serve(t, Config{Vault: dir, Grants: grants})
	for _, query := range []string{"merger", "walnuts", "walnut", "merger walnuts", "mer", "wal of", "board"} {
		args := fmt.Sprintf(`{"query":%q}`, query)
		got, want := use(t, among, "bob", "search_notes", args), use(t, alone, "bob", "search_notes", args)
		scores := func(r reply) string {
			var out struct {
				Notes []struct {
					Path  string  `json:"path"`
					Score float64 `json:"score"`
				} `json:"notes"`
			}
			if err := json.Unmarshal([]byte(r.Structured), &out); err != nil {
				t.Fatalf("%+v: %v", r, err)
			}
			return fmt.Sprint(out.Notes)
		}
		expect(t, query, scores(got), scores(want))
	}
}
