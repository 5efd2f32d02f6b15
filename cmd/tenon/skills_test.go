package main

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/tenon-mcp/tenon/ext/skills"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// The skills of a builtin server, listed, shown and verified by the program.
func TestSkillsOfABuiltinServer(t *testing.T) {
	notes := "builtin:notes?vault=" + t.TempDir()
	for _, c := range []struct {
		args []string
		code int
		want []string // on standard output, or after "err:" on standard error
	}{
		{[]string{"list", notes}, exitOK, []string{"weekly-review  skill://weekly-review/SKILL.md\n  3 files, ", "Review a week of notes."}},
		{[]string{"list", notes, "-q"}, exitOK, []string{"skill://weekly-review/SKILL.md\n"}},
		{[]string{"list", notes, "--format", "json"}, exitOK, []string{`"uri": "skill://weekly-review/SKILL.md"`, `"digest": "sha256:`}},
		{[]string{"list", notes, "weekly-review"}, exitOK, []string{"skill://weekly-review/references/template.md", "sha256:", "Frontmatter"}},
		{[]string{"list", notes, "weekly"}, exitUsage, []string{`err:no skill "weekly": did you mean weekly-review?`}},
		{[]string{"list", "builtin:calc"}, exitOK, []string{"no skills"}},
		{[]string{"list"}, exitUsage, []string{"err:missing SERVER"}},
		{[]string{"show", notes, "weekly-review"}, exitOK, []string{"---\nname: weekly-review\n", "# Weekly review"}},
		{[]string{"show", notes, "skill://weekly-review/SKILL.md"}, exitOK, []string{"# Weekly review"}},
		{[]string{"show", notes, "weekly-review", "references/template.md"}, exitOK, []string{"# Template of the review note"}},
		{[]string{"show", notes, "weekly-review", "references/none.md"}, exitProtocol, []string{"err:the skill does not list this file"}},
		{[]string{"show", notes, "weekly-review", "../x"}, exitProtocol, []string{"err:names another folder"}},
		{[]string{"show", notes, "skill://none/SKILL.md"}, exitProtocol, []string{"err:no skill has the URI"}},
		{[]string{"show", notes}, exitUsage, []string{"err:missing SKILL"}},
		{[]string{"show", "builtin:calc", "x"}, exitUsage, []string{"err:calc has no skills"}},
		{[]string{"verify", notes}, exitOK, []string{"✓ skill://weekly-review/SKILL.md  3 files, "}},
		{[]string{"verify", notes, "weekly-review", "--format", "json"}, exitOK, []string{`"ok": true`, `"problems": []`}},
		{[]string{"verify", "builtin:calc"}, exitUsage, []string{"err:calc has no skills"}},
		{[]string{"fly"}, exitUsage, []string{`err:unknown command "skills fly"`}},
		{nil, exitOK, []string{"verify", "list", "show"}},
	} {
		code, out, errs := output(t, binary(t, append([]string{"skills"}, c.args...)...))
		if code != c.code {
			t.Errorf("%q: exit code %d, want %d\n%s%s", c.args, code, c.code, out, errs)
		}
		for _, want := range c.want {
			text, isErr := strings.CutPrefix(want, "err:")
			if got := map[bool]string{true: errs, false: out}[isErr]; !strings.Contains(got, text) {
				t.Errorf("%q: no %q in\n%s%s", c.args, want, out, errs)
			}
		}
	}
	if got, _ := completed(t, binary(t, "__complete", "skills", "show", notes, "w")); strings.Join(got, " ") != "weekly-review" {
		t.Errorf("completes %q", got)
	}
	if got, _ := completed(t, binary(t, "__complete", "skills", "show", notes, "weekly-review", "references/t")); strings.Join(got, " ") != "references/template.md" {
		t.Errorf("completes %q", got)
	}
}

// A skill that is not what its server says is not shown, and verify says what is
// wrong with each.
func TestSkillsVerifyFindsWhatIsWrong(t *testing.T) {
	skill := func(name, text string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte("---\nname: " + name + "\ndescription: About " + name + "\n---\n" + text)}
	}
	s := server.New(mcp.Implementation{Name: "liar", Version: "1"}, nil)
	err := skills.Add(s, fstest.MapFS{
		"good/SKILL.md": skill("good", "good"), "tampered/SKILL.md": skill("tampered", "before"), "longer/SKILL.md": skill("longer", ""),
		"renamed/SKILL.md": skill("renamed", ""), "twice/a/same/SKILL.md": skill("same", ""), "twice/b/same/SKILL.md": skill("same", ""),
		"more/SKILL.md": skill("more", ""), "more/x/hidden.md": skill("x", ""), "outside/SKILL.md": skill("outside", ""),
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	change := strings.NewReplacer(`"uri":"skill://outside/SKILL.md","digest"`, `"uri":"skill://good/../outside/SKILL.md","digest"`, `"description":"About renamed"`, `"description":"About \u001b[31mme"`)
	url := listening(t, mcp.HandlerFunc(func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
		res, err := s.Serve(ctx, c)
		text := string(res.Body)
		switch c.Method {
		case skills.MethodList, skills.MethodGet:
			text = change.Replace(text)
			if at := strings.Index(text, `,{"uri":"skill://more/x/hidden.md"`); at >= 0 {
				end := strings.Index(text[at:], "}") + at + 1
				text = text[:at] + text[end:]
			}
		case mcp.MethodResourcesRead:
			text = strings.NewReplacer("before", "beyond").Replace(text)
			if strings.Contains(text, "skill://longer/") {
				text = strings.Replace(text, "About longer", "About longer and more", 1)
			}
		}
		res.Body = json.RawMessage(text)
		return res, err
	}))
	code, out, errs := output(t, binary(t, "skills", "verify", url, "--color", "never"))
	if code != exitTool {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
	for _, want := range []string{
		"✓ skill://good/SKILL.md",
		"✗ skill://tampered/SKILL.md\n    verify \"skill://tampered/SKILL.md\": the file is not the one that the skill",
		"✗ skill://longer/SKILL.md\n    verify \"skill://longer/SKILL.md\": the file has 56 bytes, the skill lists it",
		"✗ skill://renamed/SKILL.md\n    verify \"skill://renamed/SKILL.md\": the frontmatter differs",
		"✗ skill://more/SKILL.md\n    skill://more/x lists skill://more/x/hidden.md, which the skill does not",
		"✗ skill://outside/SKILL.md\n    skill \"skill://outside/SKILL.md\": resources:",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s%s", want, out, errs)
		}
	}
	for name, want := range map[string]string{"tampered": "digest differs", "same": "2 skills are named"} {
		code, out, errs := output(t, binary(t, "skills", "show", url, name))
		if code == exitOK || out != "" || !strings.Contains(errs, want) {
			t.Errorf("show %s: exit code %d\n%s%s", name, code, out, errs)
		}
	}
	if _, out, errs := output(t, binary(t, "skills", "list", url)); strings.Contains(out, "\x1b") {
		t.Errorf("a control character is printed: %q %s", out, errs)
	}
	code, out, _ = output(t, binary(t, "skills", "verify", url, "--format", "json"))
	var report struct{ Skills []skillCheck }
	if err := json.Unmarshal([]byte(out), &report); code != exitTool || err != nil || len(report.Skills) != 8 {
		t.Errorf("exit code %d, %v, %d skills\n%s", code, err, len(report.Skills), out)
	}
}

// A model loads a skill that the command line allows, and not without.
func TestRunLoadsASkill(t *testing.T) {
	notes := "builtin:notes?vault=" + t.TempDir()
	model := said(t, `{"expect":{"has":"review","tools":["load_skill","read_skill_file"]}}`,
		`{"call":{"name":"load_skill","arguments":{"server":"notes","uri":"skill://weekly-review/SKILL.md"}}}`, `{"expect":{"role":"tool","has":"<skill from="}}`,
		`{"call":{"name":"read_skill_file","arguments":{"server":"notes","uri":"skill://weekly-review/SKILL.md","file":"references/template.md"}}}`, `{"expect":{"role":"tool","has":"# Template"}}`,
		`{"text":"done"}`)
	if code, out, errs := output(t, binary(t, "run", "-p", "review", "-s", notes, model, "--allow", "notes/skill://weekly-review/SKILL.md")); code != exitOK || !strings.Contains(out, "done") {
		t.Errorf("allowed: exit code %d\n%s%s", code, out, errs)
	}
	model = said(t, `{"expect":{"has":"review"}}`, `{"call":{"name":"load_skill","arguments":{"server":"notes","uri":"skill://weekly-review/SKILL.md"}}}`,
		`{"expect":{"role":"tool","has":"no rule allows notes/skill://weekly-review/SKILL.md"}}`, `{"text":"done"}`)
	if code, out, errs := output(t, binary(t, "run", "-p", "review", "-s", notes, model)); code != exitDenied {
		t.Errorf("not allowed: exit code %d\n%s%s", code, out, errs)
	}
}
