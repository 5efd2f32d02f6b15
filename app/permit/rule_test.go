package permit

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/mcp"
)

func writer() *mcp.Tool {
	return &mcp.Tool{Name: "write", Description: "Write a file", InputSchema: json.RawMessage(`{"type":"object"}`)}
}

// A pattern counts in its scope only, also in another process, for the definition
// and the server that the user saw.
func TestPatternsCountInTheirScope(t *testing.T) {
	in, beside := json.RawMessage(`{"path":"/work/site/docs/b"}`), json.RawMessage(`{"path":"/work/site/src/b"}`)
	for _, c := range []struct {
		scope                            string
		sameSession, below, elsewhere, o config.Effect // o: in another process, in the same folder
	}{
		{Session, config.Allow, config.Allow, config.Allow, config.Ask},
		{Project, config.Allow, config.Allow, config.Ask, config.Allow},
		{Always, config.Allow, config.Allow, config.Allow, config.Allow},
	} {
		t.Run(c.scope, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "tools.json")
			open := func(folder string) *Book {
				b, err := Open(file, config.Settings{})
				if err != nil {
					t.Fatal(err)
				}
				b.Identify("fs", Identity{"command": "fs"})
				b.SetFolder(folder)
				return b
			}
			b := open("/work/site")
			var dir *Proposal
			for _, p := range Propose(json.RawMessage(`{"path":"/work/site/docs/a"}`), Places{Folder: "/work/site"}) {
				if p.ID == "dir" {
					dir = &p
				}
			}
			if err := b.Allow("fs", writer(), "s1", c.scope, dir); err != nil {
				t.Fatal(err)
			}
			judge := func(what string, b *Book, server string, tool *mcp.Tool, args json.RawMessage, session string, want config.Effect) {
				t.Helper()
				if v := b.Judge(server, tool, args, session); v.Effect != want {
					t.Errorf("%s: %s (%s)", what, v.Effect, v.Why)
				}
			}
			judge("the same folder", b, "fs", writer(), in, "s1", c.sameSession)
			judge("a sibling", b, "fs", writer(), beside, "s1", config.Ask)
			judge("another server", b, "fs2", writer(), in, "s1", config.Ask)
			judge("another process", open("/work/site"), "fs", writer(), in, "s2", c.o)
			b.SetFolder("/work/site/sub")
			judge("below the project", b, "fs", writer(), in, "s1", c.below)
			b.SetFolder("/work/site2")
			judge("in another project", b, "fs", writer(), in, "s1", c.elsewhere)
			b.SetFolder("/work/site")
			b.Identify("fs", Identity{"command": "other"})
			judge("another program", b, "fs", writer(), in, "s1", config.Ask)
			b.Identify("fs", Identity{"command": "fs"})
			changed := writer()
			changed.Description = "Write any file"
			judge("another definition", b, "fs", changed, in, "s1", config.Ask)
			if err := b.Answer("fs", changed, "s1", Once); err != nil {
				t.Fatal(err)
			}
			judge("approved once after a change", b, "fs", changed, in, "s1", config.Ask)
			if err := b.Allow("fs", changed, "s1", c.scope, dir); err != nil {
				t.Fatal(err)
			}
			judge("again", b, "fs", changed, in, "s1", config.Allow)
			if err := b.Forget("fs", "write"); err != nil {
				t.Fatal(err)
			}
			judge("forgotten", b, "fs", changed, in, "s1", config.Ask)
		})
	}
}

// A rule that denies or asks takes precedence over a pattern.
func TestRulesTakePrecedenceOverPatterns(t *testing.T) {
	for _, effect := range []config.Effect{config.Deny, config.Ask} {
		b, err := Open("", config.Settings{Rules: []config.Rule{{Effect: effect, Server: "fs", Tool: "*", Args: map[string]string{"path": "*secret*"}}}})
		if err != nil {
			t.Fatal(err)
		}
		b.SetFolder("/work")
		if err := b.Allow("fs", writer(), "s", Project, nil); err != nil {
			t.Fatal(err)
		}
		if v := b.Judge("fs", writer(), json.RawMessage(`{"path":"/x"}`), "s"); v.Effect != config.Allow || v.Why != "Allowed all calls for the project /work" {
			t.Errorf("%s (%s)", v.Effect, v.Why)
		}
		if v := b.Judge("fs", writer(), json.RawMessage(`{"path":"/secret"}`), "s"); v.Effect != effect {
			t.Errorf("%s (%s)", v.Effect, v.Why)
		}
	}
}

// A rule of the configuration for a folder counts in it and below it. In an unknown
// folder it denies and does not allow.
func TestRulesForAFolder(t *testing.T) {
	for _, c := range []struct {
		folder          string
		allowed, denied config.Effect
	}{
		{"/work/site", config.Allow, config.Deny}, {"/work/site/docs", config.Allow, config.Deny}, {"/work/site2", config.Ask, config.Ask}, {"/work", config.Ask, config.Ask}, {"", config.Ask, config.Deny},
	} {
		b, err := Open("", config.Settings{Rules: []config.Rule{
			{Effect: config.Allow, Server: "fs", Tool: "write", Folder: "/work/site"},
			{Effect: config.Deny, Server: "fs", Tool: "remove", Folder: "/work/site"},
		}})
		if err != nil {
			t.Fatal(err)
		}
		if c.folder != "" {
			b.SetFolder(c.folder)
		}
		remove := writer()
		remove.Name = "remove"
		if v := b.Judge("fs", writer(), nil, ""); v.Effect != c.allowed {
			t.Errorf("%q: write: %s", c.folder, v.Effect)
		}
		if v := b.Judge("fs", remove, nil, ""); v.Effect != c.denied {
			t.Errorf("%q: remove: %s", c.folder, v.Effect)
		}
		if b.Hidden("fs", remove) != (c.denied == config.Deny) {
			t.Errorf("%q: remove is hidden: %v", c.folder, c.denied != config.Deny)
		}
	}
}
