package peers

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/ext/skills"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/transport/stdio"
)

// skillFolder has skills whose frontmatter and names are read differently by
// careless programs.
func skillFolder(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("testdata", "skills"))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// skillURIs are the skills of the folder, and skillFiles their files with sizes.
var (
	skillURIs  = []string{"skill://forms/SKILL.md", "skill://team/daily-report/SKILL.md"}
	skillFiles = map[string][]string{
		"skill://forms/SKILL.md": {
			"skill://forms/SKILL.md", "skill://forms/empty.txt", "skill://forms/logo.png",
			"skill://forms/references/FIELDS.md", "skill://forms/references/deep/a%20b+%C3%BC.txt",
		},
		"skill://team/daily-report/SKILL.md": {"skill://team/daily-report/SKILL.md"},
	}
)

// Tenon loads and verifies every file of the TypeScript SDK's server.
func TestSkillsOfTypeScript(t *testing.T) {
	for _, revision := range []mcp.Revision{"2026-07-28", "2025-11-25"} {
		t.Run(string(revision), func(t *testing.T) {
			parallel(t)
			command := nodePeer(t, "ts2-skills-server.mjs", skillFolder(t))
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			c, err := client.Dial(ctx, &supervised{stdio.Command{Path: command[0], Args: command[1:], Era: era.DialOptions{Known: revision}}}, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			d, err := c.Discover(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if settings, ok := skills.Declared(d); !ok || !settings.DirectoryRead {
				t.Fatalf("capabilities: %+v", d.Capabilities)
			}
			var found []string
			for s, err := range skills.List(ctx, c) {
				if err != nil {
					t.Fatal(err)
				}
				found = append(found, s.URI)
				verifyAll(ctx, t, c, s)
			}
			if !slices.Equal(found, skillURIs) {
				t.Errorf("skills/list has %q, want %q", found, skillURIs)
			}
			_, err = skills.Get(ctx, c, "skill://none/SKILL.md")
			if e, ok := errors.AsType[*mcp.Error](err); !ok || e.Code != mcp.CodeInvalidParams {
				t.Errorf("an unknown skill: %v", err)
			}
		})
	}
}

type supervised struct{ command stdio.Command }

func (s *supervised) Dial(ctx context.Context, p *mcp.ClientProfile) (mcp.Conn, error) {
	return stdio.Supervise(ctx, &s.command, p)
}

func verifyAll(ctx context.Context, t *testing.T, c *client.Client, s *skills.Skill) {
	t.Helper()
	if now, err := skills.Get(ctx, c, s.URI); err != nil || !now.Same(s) {
		t.Errorf("skills/get %s: %v, %v", s.URI, now, err)
	}
	loaded, err := skills.Load(ctx, c, s)
	if err != nil {
		t.Error(err)
		return
	}
	n := 0
	for _, r := range s.Resources {
		if _, err := loaded.Read(ctx, r.URI); err != nil {
			t.Error(err)
		}
		n++
	}
	if n != len(skillFiles[s.URI]) {
		t.Errorf("%s has %d files, want %q", s.URI, n, skillFiles[s.URI])
	}
	for r, err := range skills.ReadDirectory(ctx, c, s.Dir()) {
		if err != nil || r.MIMEType != skills.DirectoryType && s.Find(r.URI) == nil {
			t.Errorf("%s has %v, %v", s.Dir(), r, err)
		}
	}
}

// The TypeScript SDK's client loads and verifies every file of Tenon's server.
func TestSkillsForTypeScript(t *testing.T) {
	for _, revision := range []string{"2026-07-28", "2025-11-25"} {
		t.Run(revision, func(t *testing.T) {
			parallel(t)
			command := append(nodePeer(t, "ts2-skills-client.mjs", revision), goPeer(t, "tenonserver", "-skills", skillFolder(t))...)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, command[0], command[1:]...)
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v\n%s", err, stderr.String())
			}
			var found struct {
				Revision      string `json:"revision"`
				DirectoryRead bool   `json:"directoryRead"`
				TTL           int    `json:"ttlMs"`
				Unknown       int    `json:"unknown"`
				Skills        map[string]struct {
					Frontmatter     map[string]any `json:"frontmatter"`
					Files, Children []string
				} `json:"skills"`
			}
			if err := json.Unmarshal(out, &found); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if found.Revision != revision || !found.DirectoryRead || found.Unknown != mcp.CodeInvalidParams || (found.TTL > 0) != (revision == "2026-07-28") {
				t.Errorf("found %+v", found)
			}
			for uri, want := range skillFiles {
				s := found.Skills[uri]
				var files []string
				for _, f := range s.Files {
					name, rest, _ := strings.Cut(f, " ")
					if !strings.HasSuffix(rest, " true") {
						t.Errorf("%s was not verified", f)
					}
					files = append(files, name)
				}
				if !reflect.DeepEqual(files, want) || !reflect.DeepEqual(s.Children, want) {
					t.Errorf("%s has the files %q and in its folders %q, want %q", uri, files, s.Children, want)
				}
			}
			if front := fmt.Sprint(found.Skills[skillURIs[0]].Frontmatter["values"]); !strings.Contains(front, "since:2026-11-01") || !strings.Contains(front, "octal:10 ") {
				t.Errorf("frontmatter: %s", front)
			}
		})
	}
}

// The Inspector, which has a reader of its own for frontmatter, verifies every
// skill of Tenon's server.
func TestInspectorVerifiesSkills(t *testing.T) {
	parallel(t)
	cli := inspector(t)
	server := start(t, goPeer(t, "tenonserver", "-http", "127.0.0.1:0", "-skills", skillFolder(t))...)
	for _, era := range []string{"modern", "legacy"} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, cli[0], append(cli[1:len(cli):len(cli)], server.url, "--transport", "http", "--protocol-era", era, "--method", "skills/list", "--verify")...)
		cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
		out, err := cmd.CombinedOutput()
		if err != nil || strings.Count(string(out), `"outcome":"verified"`) != len(skillURIs) {
			t.Errorf("%s: %v\n%s", era, err, out)
		}
	}
	server.interrupt(t)
}
